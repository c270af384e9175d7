import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Found } from '../engine/resource.ts';
import { allAsItStands } from './standing.ts';

const main = { kind: 'load balancer', key: 'main', spec: { name: 'web' }, summary: 'load balancer web' };
const found = (kind: string, id: string, more: Partial<Found> = {}): Found => {
  return { kind, id, status: 'ready', body: undefined, ...more };
};
const placesOf = (own: readonly Found[]) =>
  allAsItStands(main, own).map(({ kind, key, within }) => [kind, key, within]);

describe('what a Service has, as it stands', () => {
  it('keeps each part in its container, which may have the same id', () => {
    const own = [
      found('load balancer', 'a', { key: 'main' }),
      found('rule', 'b', { key: '80', within: 'a' }),
      found('members', 'b', { key: '80', within: 'b' }),
    ];
    assert.deepEqual(placesOf(own), [
      ['load balancer', 'main', undefined],
      ['rule', '80', 'load balancer/main'],
      ['members', '80', 'rule/80'],
    ]);
  });

  it('keeps what is taken over and has no marks yet', () => {
    const own = [found('load balancer', 'a'), found('rule', 'b', { key: '80', within: 'a' }), found('address', 'c')];
    assert.deepEqual(placesOf(own), [
      ['load balancer', 'main', undefined],
      ['rule', '80', 'load balancer/main'],
      ['address', 'main', undefined],
    ]);
  });

  it('leaves a load balancer that is not there unmade', () => {
    assert.deepEqual(allAsItStands(main, []), [{ ...main, leaveUnchanged: true }]);
  });
});
