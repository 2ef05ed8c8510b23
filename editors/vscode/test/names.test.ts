import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { SETTINGS, inEditor, serverSettings } from '../src/names';
import { statusText } from '../src/statusText';

test('settings go to the server under its own names, and only those that the editor knows', () => {
  const values: Record<string, unknown> = { model: 'embedded', minConfidence: 0.5, languages: { lua: false }, threads: null };
  assert.deepEqual(serverSettings((name) => values[name]), { model: 'embedded', threads: null, min_confidence: 0.5, languages: { lua: false } });
});

test('every setting that is sent is one that the editor shows', () => {
  const shown = Object.keys(JSON.parse(readFileSync('package.json', 'utf8')).contributes.configuration.properties);
  const server = shown.filter((name) => name.startsWith('midfill.server.'));
  assert.deepEqual([...SETTINGS.map((name) => `midfill.${inEditor(name)}`), ...server].sort(), [...shown].sort());
});

test('the status bar tells loading with its share, and off for a language only while all is well', () => {
  const status = { state: 'loading' as const, message: 'loading embedded', model: 'embedded', percentage: 40 };
  assert.deepEqual(statusText(status, true), { text: '$(loading~spin) Midfill 40%', tooltip: 'Midfill: loading embedded' });
  assert.equal(statusText({ ...status, state: 'ready' }, true).text, '$(circle-slash) Midfill');
  assert.equal(statusText({ ...status, state: 'error' }, true).text, '$(error) Midfill');
});
