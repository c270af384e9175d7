import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { commandBlocks, inlineCommands } from './blocks.ts';

const fence = '```';

describe('commandBlocks', () => {
  test('reads commands one by one, with those that go on in the next line as one', () => {
    const page = `${fence}sh\nfirst\nsecond \\\n  --flag\nthird |\n  fourth\n${fence}\n`;
    assert.deepEqual(commandBlocks(page), [
      { line: 1, commands: ['first', 'second \\\n  --flag', 'third |\n  fourth'] },
    ]);
  });

  test('takes the next block without a language as the output of the last command', () => {
    const page = `${fence}sh\nls\n${fence}\n\nprints\n\n${fence}\na\nb\n${fence}\n${fence}yaml\nx: 1\n${fence}\n`;
    assert.deepEqual(commandBlocks(page), [{ line: 1, commands: ['ls'], prints: 'a\nb' }]);
  });

  test('takes the reason from the comment right above the block alone', () => {
    const page = `<!-- not run: needs a cloud -->\n${fence}sh\none\n${fence}\n\n${fence}sh\ntwo\n${fence}\n`;
    assert.deepEqual(
      commandBlocks(page).map(({ notRun }) => notRun),
      ['needs a cloud', undefined],
    );
  });

  test('reads the blocks of lists', () => {
    const page = `1. Look:\n\n   <!-- not run: needs a cloud -->\n   ${fence}sh\n   one\n   ${fence}\n`;
    assert.deepEqual(commandBlocks(page), [{ line: 4, commands: ['   one'], notRun: 'needs a cloud' }]);
  });

  test('refuses a fence that is never closed', () => {
    assert.throws(() => commandBlocks(`text\n${fence}sh\nls\n`), /line 2: the fence is never closed/);
  });
});

describe('inlineCommands', () => {
  test('reads those of the prose that are whole, also over two lines', () => {
    const prose = '`kubectl get\n  nodes`, `kubectl apply -k` yours, `kubectl x ...`';
    const page = `${prose}\n${fence}sh\n\`kubectl a b\`\n${fence}\n`;
    assert.deepEqual(inlineCommands(page, /^kubectl\b/), ['kubectl get nodes']);
  });
});
