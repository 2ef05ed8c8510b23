// The status bar item, and the menu behind it.
import * as vscode from 'vscode';
import { isOn } from './commands';
import type { Server } from './server';
import { statusText, type Status } from './statusText';

export class StatusItem implements vscode.Disposable {
  private readonly item = vscode.window.createStatusBarItem('midfill.status', vscode.StatusBarAlignment.Right, 100);
  private status: Status = { state: 'stopped', message: 'not started yet', model: '' };
  private readonly listeners: vscode.Disposable[];

  constructor(server: Server) {
    this.item.name = 'Midfill';
    this.item.command = 'midfill.menu';
    this.listeners = [
      server.onStatus((status) => {
        this.status = status;
        this.draw();
      }),
      vscode.window.onDidChangeActiveTextEditor(() => this.draw()),
      vscode.workspace.onDidChangeConfiguration(() => this.draw()),
    ];
    this.draw();
    this.item.show();
  }

  private draw(): void {
    const language = vscode.window.activeTextEditor?.document.languageId;
    const { text, tooltip } = statusText(this.status, language !== undefined && !isOn(language));
    this.item.text = text;
    this.item.tooltip = tooltip;
  }

  async menu(): Promise<void> {
    const language = vscode.window.activeTextEditor?.document.languageId;
    const items: (vscode.QuickPickItem & { command: string })[] = [
      { label: '$(symbol-misc) Fill all holes', command: 'midfill.fillHolesHere' },
      { label: '$(play) Show denoising', command: 'midfill.showDenoising' },
      { label: '$(server-environment) Switch model', command: 'midfill.switchModel' },
      { label: '$(output) Show log', command: 'midfill.showLog' },
      { label: '$(gear) Open settings', command: 'midfill.openSettings' },
      { label: '$(debug-restart) Restart the server', command: 'midfill.restart' },
    ];
    if (language) {
      const label = `$(circle-slash) Turn ${isOn(language) ? 'off' : 'on'} for ${language}`;
      items.splice(3, 0, { label, command: 'midfill.toggleLanguage' });
    }
    const chosen = await vscode.window.showQuickPick(items, { title: `Midfill: ${this.status.message}` });
    if (chosen) {
      await vscode.commands.executeCommand(chosen.command);
    }
  }

  dispose(): void {
    this.item.dispose();
    this.listeners.forEach((one) => one.dispose());
  }
}
