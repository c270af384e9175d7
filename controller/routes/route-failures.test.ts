import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { silentLog } from '../../common/process/log.ts';
import { exampleNode } from '../model/testing/example-node.ts';
import { createRouteFailures } from './route-failures.ts';

describe('the routes that could not be created', () => {
  const node = exampleNode();
  const destination = '10.244.0.0/24';
  const key = `${destination} ${node.uid}`;
  const failed = { kind: 'missing', reason: 'NoRouteCreated', message: 'no' } as const;

  function begin() {
    const told: string[] = [];
    const events = { emit: (_: unknown, { reason }: { readonly reason: string }) => void told.push(reason) };
    return { told, failures: createRouteFailures({ events, log: silentLog }) };
  }

  it('tells once that the range of a Node is refused, and again when that comes back', () => {
    const { told, failures } = begin();
    const refuse = () => {
      failures.keepOnly(new Set(), new Map([[key, failed]]));
      failures.announce(node, destination, 'CIDRNotAllowed', 'no');
    };
    refuse();
    refuse();
    assert.deepEqual(told, ['FailedToCreateRoute']);
    failures.keepOnly(new Set());
    refuse();
    assert.deepEqual(told, ['FailedToCreateRoute', 'FailedToCreateRoute']);
  });

  it('tells once that a route is not created while it is still to be', () => {
    const { told, failures } = begin();
    for (let round = 0; round < 2; round += 1) {
      failures.set(key, failed);
      failures.announce(node, destination, 'NoRouteCreated', 'no');
      failures.keepOnly(new Set([key]));
      assert.equal(failures.get(key), failed);
    }
    assert.deepEqual(told, ['FailedToCreateRoute']);
    failures.keepOnly(new Set());
    assert.equal(failures.get(key), undefined);
  });
});
