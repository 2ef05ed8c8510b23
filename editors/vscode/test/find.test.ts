import assert from 'node:assert/strict';
import { test } from 'node:test';
import { findServer, type Places } from '../src/find';

const PLACES: Places = {
  explicit: '', folders: ['/work/shop'], trusted: true, searchPath: '/usr/bin:/opt/tools', ownEnvironment: '/data/server', windows: false,
};
const having = (...files: string[]) => (file: string) => files.includes(file);

test('the path in the settings comes first, whether it is there or not', () => {
  const found = findServer({ ...PLACES, explicit: '/x/midfill' }, having('/work/shop/.venv/bin/midfill'));
  assert.deepEqual(found, { command: '/x/midfill', why: 'settings' });
});

test("a workspace's environment is used only where the workspace is trusted", () => {
  const is = having('/work/shop/.venv/bin/midfill', '/opt/tools/midfill');
  assert.equal(findServer(PLACES, is)?.command, '/work/shop/.venv/bin/midfill');
  assert.equal(findServer({ ...PLACES, trusted: false }, is)?.command, '/opt/tools/midfill');
});

test('PATH comes before the private environment, and nothing is null', () => {
  assert.equal(findServer(PLACES, having('/usr/bin/midfill', '/data/server/bin/midfill'))?.why, 'PATH');
  assert.equal(findServer(PLACES, having('/data/server/bin/midfill'))?.why, 'own environment');
  assert.equal(findServer(PLACES, having()), null);
});

test('an entry of PATH that leads into an untrusted workspace, or is relative, is passed over', () => {
  const is = having('/work/shop/bin/midfill', 'bin/midfill', './midfill', 'midfill');
  const searchPath = '/work/shop/bin:bin:.:';
  assert.equal(findServer({ ...PLACES, trusted: false, searchPath }, is), null);
  assert.equal(findServer({ ...PLACES, searchPath }, is)?.command, '/work/shop/bin/midfill');
});

test('Windows has its own names', () => {
  const places = { ...PLACES, windows: true, folders: ['C:\\shop'], searchPath: 'C:\\tools;D:\\more' };
  assert.equal(findServer(places, having('C:\\shop\\.venv\\Scripts\\midfill.exe'))?.why, 'workspace');
  assert.equal(findServer(places, having('D:\\more\\midfill.exe'))?.why, 'PATH');
});
