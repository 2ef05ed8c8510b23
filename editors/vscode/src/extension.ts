// Puts the parts together. The server decides what to offer; this shows it.
import * as vscode from 'vscode';
import * as commands from './commands';
import { install } from './install';
import { Server, configuration, oneLine } from './server';
import { StatusItem } from './statusItem';

export async function activate(context: vscode.ExtensionContext): Promise<void> {
  const log = vscode.window.createOutputChannel('Midfill', { log: true });
  const environment = vscode.Uri.joinPath(context.globalStorageUri, 'server').fsPath;
  let offered = false;
  const server = new Server(environment, log, () => {
    if (!offered) {
      offered = true; // once a window: a person who says no is not asked with every change of a setting
      void offerInstall();
    }
  });
  const status = new StatusItem(server);

  async function offerInstall(): Promise<void> {
    const chosen = await vscode.window.showInformationMessage(
      'Midfill: no server was found. It can be installed into a private environment (torch among its parts: 200 MB to gigabytes).',
      'Install', 'Set its path',
    );
    if (chosen === 'Install') {
      await installServer();
    } else if (chosen) {
      await vscode.commands.executeCommand('workbench.action.openSettings', 'midfill.server.path');
    }
  }

  async function installServer(): Promise<void> {
    const source = configuration().get<string>('server.source', '') || await vscode.window.showInputBox({
      title: 'Midfill: what to install the server from',
      prompt: 'A wheel, the path of a clone, or a git address (git+https://…). To be asked no more, set midfill.server.source.',
      ignoreFocusOut: true,
    });
    if (!source) {
      return;
    }
    try {
      await server.stop();
      await install(environment, source, configuration().get<string[]>('server.pipArguments', []), log);
      await server.start();
    } catch (error) {
      log.error(oneLine(error));
      const chosen = await vscode.window.showErrorMessage(`Midfill: the server could not be installed: ${oneLine(error)}`, 'Show log');
      if (chosen) {
        log.show();
      }
    }
  }

  const register = (name: string, run: () => unknown) => vscode.commands.registerCommand(name, run);
  context.subscriptions.push(
    log,
    server,
    status,
    register('midfill.menu', () => status.menu()),
    register('midfill.fillHolesHere', () => commands.fillHoles(server)),
    register('midfill.rewriteSelectionHere', () => commands.rewriteSelection(server)),
    register('midfill.showDenoising', () => commands.showDenoising(server)),
    register('midfill.switchModel', () => commands.switchModel()),
    register('midfill.toggleLanguage', () => commands.toggleLanguage()),
    register('midfill.showLog', () => log.show()),
    register('midfill.openSettings', () => vscode.commands.executeCommand('workbench.action.openSettings', '@ext:midfill.midfill')),
    register('midfill.restart', () => server.start()),
    register('midfill.install', () => installServer()),
    vscode.workspace.onDidChangeConfiguration((event) => server.settingsChanged(event)),
    vscode.workspace.onDidGrantWorkspaceTrust(() => server.start()),
  );
  await server.start();
}
