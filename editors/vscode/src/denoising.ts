// The denoising panel: the canvas of one fill, step by step, each slot coloured by how sure the model is.
import * as vscode from 'vscode';

export interface Draft {
  token?: string;
  step: number;
  block: number;
  candidate: number;
  text: string;
  slots: { text: string; confidence: number; decided: boolean }[];
}

export interface Outcome {
  text: string;
  confidence: number;
  steps: number;
}

export class DenoisingPanel {
  private readonly panel: vscode.WebviewPanel;
  private insert: () => void = () => undefined;

  constructor(where: string) {
    this.panel = vscode.window.createWebviewPanel(
      'midfill.denoising', `Denoising ${where}`,
      { viewColumn: vscode.ViewColumn.Beside, preserveFocus: true },
      { enableScripts: true, localResourceRoots: [], retainContextWhenHidden: true },
    );
    this.panel.webview.html = page();
    this.panel.webview.onDidReceiveMessage((message) => message === 'insert' && this.insert());
  }

  onClose(listener: () => void): void {
    this.panel.onDidDispose(listener);
  }

  show(draft: Draft): void {
    void this.panel.webview.postMessage({ draft });
  }

  finish(outcome: Outcome, insert: () => void): void {
    this.insert = insert;
    void this.panel.webview.postMessage({ outcome });
  }

  fail(why: string): void {
    void this.panel.webview.postMessage({ why });
  }
}

function page(): string {
  const nonce = [...crypto.getRandomValues(new Uint8Array(16))].map((byte) => byte.toString(16)).join('');
  return `<!DOCTYPE html>
<html lang="en"><head><meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'nonce-${nonce}'; script-src 'nonce-${nonce}'">
<title>Denoising</title>
<style nonce="${nonce}">
  body { font-family: var(--vscode-font-family); }
  #canvas { font-family: var(--vscode-editor-font-family); white-space: pre-wrap; line-height: 1.7; padding: 12px 0; }
  .slot { border-radius: 3px; border-bottom: 3px solid transparent; }
  .open { opacity: .55; }
  .sure { border-color: var(--vscode-charts-green); }
  .likely { border-color: var(--vscode-charts-yellow); }
  .doubtful { border-color: var(--vscode-charts-red); }
  input[type=range] { width: 60%; vertical-align: middle; }
  .legend span { margin-right: 1em; }
</style></head><body>
<div><button id="play">Play</button> <input id="step" type="range" min="0" max="0" value="0" aria-label="step">
<span id="at">waiting for the first step</span></div>
<div id="canvas" role="img" aria-label="the canvas"></div>
<p id="outcome"></p><button id="insert" hidden>Insert</button>
<p class="legend"><span class="slot sure">90 % and more</span><span class="slot likely">50 % and more</span>
<span class="slot doubtful">less</span><span class="open">not decided yet</span></p>
<script nonce="${nonce}">
  const editor = acquireVsCodeApi();
  const drafts = [];
  const by = (id) => document.getElementById(id);
  let timer;
  function draw(number) {
    const draft = drafts[number];
    if (!draft) return;
    by('step').value = String(number);
    by('at').textContent = 'step ' + (number + 1) + ' of ' + drafts.length + (draft.candidate > 1 ? ', candidate ' + draft.candidate : '');
    by('canvas').replaceChildren(...draft.slots.map((slot) => {
      const shown = document.createElement('span');
      const level = slot.confidence >= 0.9 ? 'sure' : slot.confidence >= 0.5 ? 'likely' : 'doubtful';
      shown.className = 'slot ' + level + (slot.decided ? '' : ' open');
      shown.title = Math.round(slot.confidence * 100) + ' %';
      shown.textContent = slot.text;
      return shown;
    }));
  }
  function play(from) {
    clearInterval(timer);
    let number = from;
    draw(number);
    timer = setInterval(() => { number += 1; if (number >= drafts.length) clearInterval(timer); else draw(number); }, 250);
  }
  by('play').addEventListener('click', () => play(0));
  by('step').addEventListener('input', (event) => { clearInterval(timer); draw(Number(event.target.value)); });
  by('insert').addEventListener('click', () => editor.postMessage('insert'));
  addEventListener('message', ({ data }) => {
    if (data.draft) {
      drafts.push(data.draft);
      by('step').max = String(drafts.length - 1);
      draw(drafts.length - 1);
    } else if (data.outcome) {
      const { text, confidence, steps } = data.outcome;
      by('outcome').textContent = text ? 'offered after ' + steps + ' steps, ' + Math.round(confidence * 100) + ' % sure: ' + text : 'nothing was found that fits';
      by('insert').hidden = !text;
      if (!drafts.length) by('at').textContent = 'no step was needed';
    } else if (data.why) {
      by('outcome').textContent = data.why;
    }
  });
</script></body></html>`;
}
