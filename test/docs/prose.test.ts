import assert from 'node:assert/strict';
import { it } from 'node:test';
import { proseOf } from './prose.ts';

it('prose has the words of a page for people, and neither code nor names', () => {
  const page = [
    'A [word](ports.md) of `kubectl get nodes`, see https://example.com/x.',
    '<!-- not run: why -->',
    '```sh\nkubectl aply\n```',
    'The providerID of EC2 is a NAME, 15s later.',
  ].join('\n');
  assert.equal(proseOf(page).replaceAll('\n', ' '), 'A [word] of , see The of is a later.');
});
