// Bundles the extension into one file; with --tests, the unit tests of what needs no editor.
import { build } from 'esbuild';
import { readdirSync } from 'node:fs';

const tests = process.argv.includes('--tests');
await build({
  entryPoints: tests ? readdirSync('test').map((name) => `test/${name}`) : ['src/extension.ts'],
  outdir: tests ? 'build' : 'dist',
  outExtension: tests ? { '.js': '.mjs' } : {},
  bundle: true,
  platform: 'node',
  format: tests ? 'esm' : 'cjs',
  target: 'node20',
  external: ['vscode'],
  minify: !tests,
  logLevel: 'warning',
});
