import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { emptyPicture, mergeUpdate } from './merge-update.ts';
import { type Decision, keptDecisions, type NodeRow, type ServiceRow } from './update.ts';

const nodeOf = (name: string, zone: string, state = 'initialized'): NodeRow => ({
  name,
  zone,
  state,
  reason: '',
  why: '',
  since: null,
  scope: null,
  ok: true,
  providerID: '',
  podRanges: '',
  route: '',
  leaving: '',
});
const serviceOf = (name: string): ServiceRow => ({
  name,
  state: 'ensured',
  reason: '',
  why: '',
  since: null,
  scope: null,
  ok: true,
  balancer: null,
  addresses: '',
  listeners: [],
  members: null,
});
const decisionOf = (key: string, time: string, version: number, count = 1): Decision => ({
  key,
  time,
  version,
  count,
  type: 'Normal',
  kind: 'node',
  name: 'a',
  reason: 'Synced',
  message: '',
});
const namesIn = (zones: ReadonlyMap<string, ReadonlyMap<string, unknown>>) =>
  [...zones].map(([zone, rows]) => `${zone}: ${[...rows.keys()].join(' ')}`);

describe('an update of the page', () => {
  const first = mergeUpdate(emptyPicture, {
    full: true,
    nodes: [nodeOf('b', 'z1'), nodeOf('new', ''), nodeOf('a', 'z1'), nodeOf('c', 'z0')],
    services: [serviceOf('x/b'), serviceOf('x/a')],
  });

  it('sorts Nodes into zones, and those without a zone last', () => {
    assert.deepEqual(namesIn(first.zones), ['z0: c', 'z1: a b', ': new']);
    assert.deepEqual([...first.services.keys()], ['x/a', 'x/b']);
  });

  it('leaves the zones as they are in which nothing changed', () => {
    const next = mergeUpdate(first, { nodes: [nodeOf('a', 'z1', 'missing')] });
    assert.equal(next.zones.get('z0'), first.zones.get('z0'));
    assert.notEqual(next.zones.get('z1'), first.zones.get('z1'));
    assert.equal(next.zones.get('z1')?.get('a')?.state, 'missing');
    assert.equal(next.services, first.services);
    assert.equal(mergeUpdate(next, {}).zones, next.zones);
  });

  it('moves a Node that got its zone, and drops those that are gone', () => {
    const next = mergeUpdate(first, { nodes: [nodeOf('new', 'z2')], goneNodes: ['c', 'b'], goneServices: ['x/b'] });
    assert.deepEqual(namesIn(next.zones), ['z1: a', 'z2: new']);
    assert.deepEqual([...next.services.keys()], ['x/a']);
  });

  it('drops everything before one that holds everything', () => {
    const next = mergeUpdate(first, { full: true, nodes: [nodeOf('only', 'z9')] });
    assert.deepEqual([namesIn(next.zones), next.services.size], [['z9: only'], 0]);
  });

  it('puts the newest decision first, a repeated one in place of itself, and keeps a bounded number', () => {
    const two = [decisionOf('k1', '2026-01-01T00:00:01Z', 1), decisionOf('k2', '2026-01-01T00:00:01Z', 2)];
    const before = mergeUpdate(emptyPicture, { decisions: two });
    assert.deepEqual(
      before.decisions.map(({ key }) => key),
      ['k2', 'k1'],
    );
    const after = mergeUpdate(before, { decisions: [decisionOf('k1', '2026-01-01T00:00:02Z', 3, 5)] });
    assert.deepEqual(
      after.decisions.map(({ key, count }) => `${key} ${count}`),
      ['k1 5', 'k2 1'],
    );
    const many = Array.from({ length: 300 }, (_, at) => decisionOf(`m${at}`, '2026-01-01T00:00:03Z', at));
    assert.equal(mergeUpdate(after, { decisions: many }).decisions.length, keptDecisions);
  });
});
