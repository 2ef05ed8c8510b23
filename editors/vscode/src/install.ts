// A private environment for the server: a virtual environment in the extension's own folder, installed with pip.
import { spawn } from 'node:child_process';
import * as fs from 'node:fs/promises';
import * as path from 'node:path';
import * as vscode from 'vscode';
import { programIn } from './find';

const WINDOWS = process.platform === 'win32';

/** Makes the environment anew from `source` (a wheel, a path, a git address). Throws an Error of one line. */
export async function install(environment: string, source: string, pipArguments: string[], log: vscode.LogOutputChannel) {
  await vscode.window.withProgress(
    { location: vscode.ProgressLocation.Notification, title: 'Midfill: installing the server', cancellable: true },
    async (progress, token) => {
      await fs.rm(environment, { recursive: true, force: true });
      await fs.mkdir(path.dirname(environment), { recursive: true });
      try {
        progress.report({ message: 'making an environment', increment: 5 });
        await run(await python(token), ['-m', 'venv', environment], token, log);
        progress.report({ message: 'fetching packages, torch among them: this takes minutes', increment: 15 });
        let shown = 20;
        const step = (line: string) => {
          const increment = (95 - shown) / 25; // nobody knows how many lines there will be
          shown += increment;
          progress.report({ message: line.slice(0, 80), increment });
        };
        const pip = ['-m', 'pip', 'install', '--progress-bar', 'off', ...pipArguments, source];
        await run(programIn(environment, WINDOWS, 'python'), pip, token, log, step);
        await fs.access(programIn(environment, WINDOWS)); // what was installed is Midfill
      } catch (error) {
        await fs.rm(environment, { recursive: true, force: true }); // half an environment is none
        throw error;
      }
    },
  );
}

async function python(token: vscode.CancellationToken): Promise<string> {
  for (const name of WINDOWS ? ['py', 'python'] : ['python3', 'python']) {
    try {
      await run(name, ['-c', 'import sys, venv; sys.exit(sys.version_info < (3, 11))'], token);
      return name;
    } catch {
      continue;
    }
  }
  throw new Error('no Python 3.11 or later with the venv module was found on PATH');
}

function run(
  command: string, args: string[], token: vscode.CancellationToken, log?: vscode.LogOutputChannel,
  onLine: (line: string) => void = () => undefined,
): Promise<void> {
  return new Promise((resolve, reject) => {
    log?.info(`${command} ${args.join(' ')}`);
    const child = spawn(command, args, { shell: false });
    const cancelled = token.onCancellationRequested(() => child.kill());
    let last = '';
    const take = (data: Buffer) => {
      for (const line of data.toString().split('\n').map((one) => one.trim()).filter(Boolean)) {
        log?.info(line);
        onLine(line);
        last = line;
      }
    };
    child.stdout.on('data', take);
    child.stderr.on('data', take);
    child.on('error', reject);
    child.on('close', (code) => {
      cancelled.dispose();
      if (token.isCancellationRequested) {
        reject(new Error('it was cancelled'));
      } else if (code === 0) {
        resolve();
      } else {
        reject(new Error(last || `${command} ended with ${code}`));
      }
    });
  });
}
