import assert from 'node:assert/strict';
import { it } from 'node:test';
import { exitCode } from './command.ts';

it('prints the message of a failure as one visible line', async () => {
  const said: string[] = [];
  const io = { argv: [], env: {}, stdout() {}, stderr: (text: string) => void said.push(text) };
  const failing = () => Promise.reject(new Error('refused\u001b[2J\nSTATE  ensured', { cause: new Error('a\rb') }));
  assert.equal(await exitCode(io, 'plan', failing), 1);
  assert.deepEqual(said, ['mooring-controller plan: refused\\u{1b}[2J\\u{a}STATE  ensured: a\\u{d}b\n']);
});
