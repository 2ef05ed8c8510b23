import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Backoff } from '../src/backoff';

test('waits double, and after six deaths in a row it gives up', () => {
  const backoff = new Backoff();
  const waits = Array.from({ length: 7 }, () => backoff.died(100));
  assert.deepEqual(waits, [500, 1000, 2000, 4000, 8000, 16000, null]);
});

test('only the first death in a row is told, and a long life begins a new row', () => {
  const backoff = new Backoff();
  const told = [100, 100, 120_000, 100].map((lived) => [backoff.died(lived), backoff.isFirst]);
  assert.deepEqual(told, [[500, true], [1000, false], [500, true], [1000, false]]);
});
