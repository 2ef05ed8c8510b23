// What a person can call: each asks the server, and says in a line what came of it.
import * as vscode from 'vscode';
import { DenoisingPanel, type Draft, type Outcome } from './denoising';
import { configuration, oneLine, type Server } from './server';

interface Changed {
  holes: number;
  filled: number;
  applied: boolean;
  message: string;
}

export async function fillHoles(server: Server): Promise<void> {
  await change(server, 'Midfill: filling holes', 'midfill.fillHoles', (editor) => {
    const chosen = editor.selections.filter((selection) => !selection.isEmpty);
    const { uri } = server.at(editor.document, editor.selection.active);
    return chosen.length ? { uri, ranges: chosen.map((one) => server.range(editor.document, one).range) } : { uri };
  });
}

export async function rewriteSelection(server: Server): Promise<void> {
  await change(server, 'Midfill: rewriting', 'midfill.rewriteSelection', (editor) =>
    editor.selection.isEmpty ? null : server.range(editor.document, editor.selection),
  );
}

async function change(
  server: Server, title: string, command: string, argument: (editor: vscode.TextEditor) => object | null,
): Promise<void> {
  const editor = vscode.window.activeTextEditor;
  if (!editor) {
    return;
  }
  await vscode.window.withProgress({ location: vscode.ProgressLocation.Window, title }, async () => {
    try {
      const given = argument(editor);
      if (!given) {
        void vscode.window.showInformationMessage('Midfill: select what is to be rewritten.');
        return;
      }
      const found = await server.execute<Changed>(command, given);
      vscode.window.setStatusBarMessage(`Midfill: ${found.message}`, 8000);
      if (!found.applied && !found.filled) {
        void vscode.window.showInformationMessage(`Midfill: ${found.message}.`);
      }
    } catch (error) {
      void vscode.window.showErrorMessage(`Midfill: ${oneLine(error)}`);
    }
  });
}

export async function showDenoising(server: Server): Promise<void> {
  const editor = vscode.window.activeTextEditor;
  if (!editor) {
    return;
  }
  const { document } = editor;
  const position = editor.selection.active;
  const version = document.version;
  const token = crypto.randomUUID();
  const panel = new DenoisingPanel(`${vscode.workspace.asRelativePath(document.uri)}:${position.line + 1}`);
  const listening = server.onDraft((draft: Draft) => draft.token === token && panel.show(draft));
  panel.onClose(() => listening.dispose());
  try {
    const outcome = await server.execute<Outcome>('midfill.denoise', { ...server.at(document, position), token });
    panel.finish(outcome, async () => {
      if (document.version !== version) {
        void vscode.window.showInformationMessage('Midfill: the document has changed since.');
        return;
      }
      const shown = await vscode.window.showTextDocument(document, editor.viewColumn);
      await shown.edit((edit) => edit.insert(position, outcome.text));
    });
  } catch (error) {
    panel.fail(oneLine(error));
  } finally {
    listening.dispose();
  }
}

/** The model is the person's to choose: it is written to their own settings, never to a workspace's. */
export async function switchModel(): Promise<void> {
  const current = configuration().get<string>('model', 'embedded');
  const items = [
    { label: 'embedded', description: 'the small model that comes with Midfill' },
    { label: 'A folder…', description: 'a model on this machine' },
  ];
  if (current !== 'embedded') {
    items.unshift({ label: current, description: 'in use' });
  }
  const chosen = await vscode.window.showQuickPick(items, { title: 'Midfill: model' });
  let model = chosen?.label;
  if (model === 'A folder…') {
    const folder = await vscode.window.showOpenDialog({ canSelectFolders: true, canSelectFiles: false, title: 'The folder of a model' });
    model = folder?.[0]?.fsPath;
  }
  if (model) {
    await configuration().update('model', model, vscode.ConfigurationTarget.Global);
  }
}

export async function toggleLanguage(): Promise<void> {
  const language = vscode.window.activeTextEditor?.document.languageId;
  if (language) {
    const languages = { ...configuration().get<Record<string, boolean>>('languages', {}) };
    languages[language] = !isOn(language);
    await configuration().update('languages', languages, vscode.ConfigurationTarget.Global);
  }
}

export function isOn(language: string): boolean {
  const languages = configuration().get<Record<string, boolean>>('languages', {});
  return languages[language] ?? languages['*'] ?? true;
}
