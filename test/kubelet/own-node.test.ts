import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { answerOf } from '../../deploy/kubelet/reregister/own-node.ts';
import { notFound } from './harness/reregister-examples.ts';

describe('an answer about the Node', () => {
  const node = { kind: 'Node', apiVersion: 'v1', metadata: { name: 'a' } };
  test('proves it gone only as the Status that names this Node', () => {
    for (const [status, body, expected] of [
      [200, node, 'there'],
      [404, notFound('a'), 'gone'],
      [404, notFound('b'), 'unknown'],
      [404, notFound('a', 'pods'), 'unknown'],
      [404, { ...notFound('a'), details: {} }, 'unknown'],
      [404, { ...notFound('a'), details: undefined }, 'unknown'],
      [404, { ...notFound('a'), reason: 'Gone' }, 'unknown'],
      [410, notFound('a'), 'unknown'],
      [200, { ...node, metadata: { name: 'b' } }, 'unknown'],
      [200, {}, 'unknown'],
      [401, { ...notFound('a'), reason: 'Unauthorized' }, 'unknown'],
      [403, { ...notFound('a'), reason: 'Forbidden' }, 'unknown'],
      [429, {}, 'unknown'],
      [500, notFound('a'), 'unknown'],
      [503, {}, 'unknown'],
    ] as const) {
      assert.equal(answerOf(status, JSON.stringify(body), 'a').kind, expected, JSON.stringify([status, body]));
    }
    for (const text of ['404 page not found', '', 'null', '[]', '"x"', '<html>']) {
      assert.equal(answerOf(404, text, 'a').kind, 'unknown', text);
      assert.equal(answerOf(200, text, 'a').kind, 'unknown', text);
    }
  });
});
