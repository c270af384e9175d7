import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { planTopology } from './topology.ts';
import type { VolumeView } from './volume-view.ts';

const bare: VolumeView = {
  name: 'pv',
  uid: 'u',
  resourceVersion: '1',
  deleting: false,
  paused: false,
  zone: undefined,
  region: undefined,
  provisioned: false,
  ref: { source: 's', handle: 'h', zones: [] },
  terms: [],
};
const zone = 'topology.kubernetes.io/zone';
const region = 'topology.kubernetes.io/region';
const elsewhere = [{ matchExpressions: [{ key: zone, operator: 'In', values: ['z'] }] }];
const rack = [{ matchExpressions: [{ key: 'rack', operator: 'In', values: ['1'] }] }];

describe('the plan for a PersistentVolume', () => {
  it('adds no node affinity where the cloud tells neither zone nor region', () => {
    assert.deepEqual(planTopology(bare, { zones: [], region: undefined }, 'open'), { kind: 'complete' });
  });

  it('plans nothing once labels and affinity are there, in any order of the zones', () => {
    const place = { zones: ['b', 'a'], region: 'r' };
    const planned = planTopology(bare, place, 'fixed');
    assert.ok(planned.kind === 'write' && planned.terms);
    const done = { ...bare, zone: 'b__a', region: 'r', terms: planned.terms };
    assert.deepEqual(planTopology(done, place, 'fixed'), { kind: 'complete' });
    assert.deepEqual(planTopology(done, place, 'open'), { kind: 'complete' });
  });

  it('adds only labels to a node affinity that names the zone', () => {
    const planned = planTopology({ ...bare, terms: elsewhere }, { zones: ['z'], region: 'r' }, 'open');
    assert.deepEqual(planned, { kind: 'write', labels: { [zone]: 'z', [region]: 'r' }, terms: undefined });
  });

  it('writes nothing where the node affinity excludes the zone or region of the cloud, by whichever key', () => {
    for (const key of [zone, 'topology.cinder.csi.openstack.org/zone', 'failure-domain.beta.kubernetes.io/region'])
      for (const affinity of ['open', 'fixed'] as const) {
        const terms = [{ matchExpressions: [{ key, operator: 'In', values: ['az1', 'az2'] }] }];
        const planned = planTopology({ ...bare, terms }, { zones: ['nova'], region: 'r' }, affinity);
        const told = key.endsWith('zone') ? 'nova' : 'r';
        const why = `node affinity ${key}: az1, az2, but the cloud says ${told}`;
        assert.deepEqual(planned, { kind: 'differs', why });
      }
  });

  it('keeps terms that each name one zone of a replicated volume, and writes the labels', () => {
    const inZone = (name: string) => ({ matchExpressions: [{ key: 'd/zone', operator: 'In', values: [name] }] });
    const planned = planTopology(
      { ...bare, terms: [inZone('a'), inZone('b')] },
      { zones: ['a', 'b'], region: 'r' },
      'fixed',
    );
    assert.deepEqual(planned, { kind: 'write', labels: { [zone]: 'a__b', [region]: 'r' }, terms: undefined });
  });

  it('extends another node affinity only while the object is created', () => {
    const place = { zones: ['a'], region: undefined };
    const own = { ...bare, terms: rack };
    const open = planTopology(own, place, 'open');
    assert.deepEqual(open.kind === 'write' && open.terms?.[0]?.matchExpressions?.map(({ key }) => key), ['rack', zone]);
    const fixed = planTopology(own, place, 'fixed');
    assert.ok(fixed.kind === 'write' && fixed.terms === undefined);
  });

  it('writes nothing where a value cannot be that of a label', () => {
    for (const name of ['Zone 1', '-a', 'x'.repeat(64)])
      assert.deepEqual(planTopology(bare, { zones: [name], region: 'r' }, 'fixed'), {
        kind: 'unusable',
        why: `"${name}" of the cloud cannot be the value of a label`,
      });
  });

  it('writes where one alternative of the node affinity admits the zone, and passes over keys of other meaning', () => {
    const term = (key: string, value: string) => ({ matchExpressions: [{ key, operator: 'In', values: [value] }] });
    for (const terms of [[term(zone, 'a'), term(zone, 'b')], [term('company.example/region', 'emea')]])
      assert.equal(planTopology({ ...bare, terms }, { zones: ['b'], region: 'r' }, 'fixed').kind, 'write');
  });

  it('writes nothing where a label of a person differs, not even the other one', () => {
    const planned = planTopology({ ...bare, region: 'x' }, { zones: ['a'], region: 'r' }, 'fixed');
    assert.deepEqual(planned, { kind: 'differs', why: `label ${region}: x, but the cloud says r` });
  });
});
