import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { ObservedRoute } from '../clouds/routes.ts';
import { a4, b4, n1, n2, plan, route, told } from './testing/example-plan.ts';

describe('where routes carry no tags', () => {
  const untagged = (destination: string, to: string | undefined, changes: Partial<ObservedRoute> = {}) =>
    route(destination, to, { ours: undefined, ...changes });
  const recorded = (destination: string, instance: string | undefined) =>
    destination === a4 && (instance === undefined || instance === 'sim://n1');

  it('removes the route of a deleted Node only if the route was recorded', () => {
    const routes = [untagged(a4, 'n1'), untagged(b4, 'n2')];
    assert.deepEqual(told(plan({ routes, recorded })), [`foreign ${b4}`, `remove ${a4} NodeGone sim://n1`]);
  });

  it('refuses the record of another instance as proof', () => {
    assert.deepEqual(told(plan({ routes: [untagged(a4, 'n9')], recorded })), [`foreign ${a4}`]);
  });

  it('knows a recorded route by its address, whichever instance has that now', () => {
    const byAddress = (destination: string, _: string | undefined, via: string | undefined) =>
      destination === a4 && via === '10.0.0.1';
    const reused = untagged(a4, 'n2', { via: '10.0.0.1' });
    const routes = [reused, untagged(b4, 'n2', { via: '10.0.0.1' })];
    assert.deepEqual(told(plan({ nodes: [n2], routes, recorded: byAddress })), [
      `keep ${b4} n2`,
      `remove ${a4} Unwanted sim://n2`,
    ]);
    assert.deepEqual(told(plan({ nodes: [n1, n2], routes, recorded: byAddress })), [
      `create ${a4} n1 instead of ${reused.id}`,
      `keep ${b4} n2`,
    ]);
    const other = { ...reused, via: '10.0.0.7' };
    assert.deepEqual(told(plan({ routes: [other], recorded: byAddress })), [`foreign ${a4}`]);
  });

  it('treats a blackhole as ours if its range was recorded', () => {
    const routes = [untagged(a4, undefined), untagged(b4, undefined)];
    assert.deepEqual(told(plan({ routes, recorded })), [`foreign ${b4}`, `remove ${a4} Blackhole -`]);
  });

  it('removes a recorded route outside the ranges of the cluster with its Node, and no other', () => {
    const wide = '0.0.0.0/1';
    const noted = (destination: string, instance: string | undefined) =>
      destination === wide && (instance === undefined || instance === 'sim://n1');
    const routes = [untagged(wide, 'n1'), untagged('10.9.0.0/24', 'n1')];
    assert.deepEqual(told(plan({ routes, recorded: noted })), [`remove ${wide} NodeGone sim://n1`]);
    assert.deepEqual(told(plan({ routes: [untagged(wide, 'n2')], recorded: noted })), []);
  });

  it('treats an unrecorded route to the range as foreign', () => {
    assert.deepEqual(told(plan({ nodes: [n2], routes: [untagged(b4, 'n1')], recorded })), [`ForeignRoute ${b4} n2`]);
  });
});
