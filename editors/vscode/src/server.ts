// The server's process and the client that talks to it: found, started, started again, with what the editor's settings say.
import * as fs from 'node:fs';
import * as path from 'node:path';
import * as vscode from 'vscode';
import {
  CloseAction, DidChangeConfigurationNotification, ErrorAction, LanguageClient, RevealOutputChannelOn,
  type LanguageClientOptions, type ServerOptions,
} from 'vscode-languageclient/node';
import { Backoff } from './backoff';
import type { Draft } from './denoising';
import { findServer } from './find';
import { serverSettings } from './names';
import type { Status } from './statusText';

const SELECTOR = ['file', 'untitled', 'vscode-notebook-cell', 'vscode-vfs'].map((scheme) => ({ scheme }));

export class Server implements vscode.Disposable {
  private client: LanguageClient | undefined;
  private readonly backoff = new Backoff();
  private begun = 0;
  private starting: Promise<void> | undefined;
  private readonly statuses = new vscode.EventEmitter<Status>();
  private readonly drafts = new vscode.EventEmitter<Draft>();
  readonly onStatus = this.statuses.event;
  readonly onDraft = this.drafts.event;

  constructor(
    private readonly environment: string,
    private readonly log: vscode.LogOutputChannel,
    private readonly offerInstall: () => void,
  ) {}

  /** Starts the server, or starts it again. Never throws: what went wrong is told. */
  async start(): Promise<void> {
    while (this.starting) {
      await this.starting;
    }
    this.starting = this.startOnce().finally(() => (this.starting = undefined));
    await this.starting;
  }

  private async startOnce(): Promise<void> {
    await this.stop();
    const found = findServer(
      {
        explicit: configuration().get<string>('server.path', ''),
        folders: (vscode.workspace.workspaceFolders ?? []).filter((f) => f.uri.scheme === 'file').map((f) => f.uri.fsPath),
        trusted: vscode.workspace.isTrusted,
        searchPath: process.env.PATH ?? '',
        ownEnvironment: this.environment,
        windows: process.platform === 'win32',
      },
      (candidate) => isProgram(candidate),
    );
    if (!found) {
      this.tell('stopped', 'no server was found: install it, or set midfill.server.path');
      this.offerInstall();
      return;
    }
    this.log.info(`the server is ${found.command} (${found.why})`);
    if (path.isAbsolute(found.command) && !isProgram(found.command)) {
      this.tell('error', `${found.command} is no program that can be run`);
      void vscode.window.showErrorMessage(`Midfill: ${found.command} (midfill.server.path) is no program that can be run.`);
      return;
    }
    const run = { command: found.command, args: ['serve'], options: { shell: false } };
    const server: ServerOptions = { run, debug: run };
    const client = new LanguageClient('midfill', 'Midfill', server, this.options());
    client.onNotification('midfill/status', (status: Status) => this.statuses.fire(status));
    client.onNotification('midfill/draft', (draft: Draft) => this.drafts.fire(draft));
    this.client = client;
    this.begun = Date.now();
    this.tell('loading', 'starting the server');
    try {
      await client.start();
    } catch (error) {
      this.tell('error', `the server did not start: ${oneLine(error)}`);
      this.log.error(oneLine(error));
      void vscode.window.showErrorMessage(`Midfill: the server did not start: ${oneLine(error)}`);
    }
  }

  private options(): LanguageClientOptions {
    return {
      documentSelector: SELECTOR,
      outputChannel: this.log,
      revealOutputChannelOn: RevealOutputChannelOn.Never,
      initializationOptions: { midfill: settings() },
      errorHandler: {
        error: () => ({ action: ErrorAction.Continue, handled: true }),
        closed: () => this.closed(),
      },
    };
  }

  private async closed() {
    const wait = this.backoff.died(Date.now() - this.begun);
    if (wait === null) {
      this.tell('error', 'the server stopped again and again');
      void vscode.window
        .showErrorMessage('Midfill: the server stopped again and again, and is not started any more.', 'Restart', 'Show log')
        .then((chosen) => {
          if (chosen === 'Restart') {
            this.backoff.reset();
            void this.start();
          } else if (chosen) {
            this.log.show();
          }
        });
      return { action: CloseAction.DoNotRestart, handled: true };
    }
    if (this.backoff.isFirst) {
      void vscode.window.showWarningMessage('Midfill: the server stopped, and is started again.');
    }
    this.tell('loading', 'the server stopped, and is started again');
    await new Promise((resolve) => setTimeout(resolve, wait));
    this.begun = Date.now();
    return { action: CloseAction.Restart, handled: true };
  }

  async stop(): Promise<void> {
    const client = this.client;
    this.client = undefined;
    if (client) {
      await client.dispose(2000).catch((error) => this.log.warn(oneLine(error)));
    }
  }

  /** Runs one of the server's commands. Throws an Error of one line. */
  async execute<T>(command: string, argument: object): Promise<T> {
    if (!this.client?.isRunning()) {
      throw new Error('the server does not run');
    }
    return await this.client.sendRequest<T>('workspace/executeCommand', { command, arguments: [argument] });
  }

  /** A document's address and a position as the protocol has them. */
  at(document: vscode.TextDocument, position: vscode.Position) {
    const convert = this.client!.code2ProtocolConverter;
    return { uri: convert.asUri(document.uri), position: convert.asPosition(position) };
  }

  range(document: vscode.TextDocument, range: vscode.Range) {
    const convert = this.client!.code2ProtocolConverter;
    return { uri: convert.asUri(document.uri), range: convert.asRange(range) };
  }

  async settingsChanged(event: vscode.ConfigurationChangeEvent): Promise<void> {
    if (event.affectsConfiguration('midfill.server')) {
      this.backoff.reset();
      await this.start();
    } else if (event.affectsConfiguration('midfill') && this.client?.isRunning()) {
      await this.client.sendNotification(DidChangeConfigurationNotification.type, { settings: { midfill: settings() } });
    }
  }

  private tell(state: Status['state'], message: string): void {
    this.statuses.fire({ state, message, model: '' });
  }

  dispose(): void {
    void this.stop();
    this.statuses.dispose();
    this.drafts.dispose();
  }
}

export function configuration(): vscode.WorkspaceConfiguration {
  return vscode.workspace.getConfiguration('midfill');
}

function settings(): Record<string, unknown> {
  return serverSettings((name) => configuration().get(name));
}

function isProgram(file: string): boolean {
  try {
    fs.accessSync(file, fs.constants.X_OK);
    return fs.statSync(file).isFile();
  } catch {
    return false;
  }
}

export function oneLine(error: unknown): string {
  return (error instanceof Error ? error.message : String(error)).split('\n')[0];
}
