import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import jsonPatch, { type Operation } from 'fast-json-patch';
import { advanceDuring } from '../../common/testing/fake-clock.ts';
import type { AdmissionRequest } from '../../controller/runtime/serving/admission-review.ts';
import { admitVolume } from '../../controller/volumes/admit-volume.ts';
import { affinityTo, regionLabel, type VolumeChanges, volumeObject, zoneLabel } from './harness/volume-object.ts';
import { type VolumeStage, volumeStage } from './harness/volume-stage.ts';

function requestFor(object: unknown): AdmissionRequest {
  return { uid: 'u', operation: 'CREATE', group: '', resource: 'persistentvolumes', object };
}

describe('a PersistentVolume that is created', () => {
  const begin = volumeStage();

  function admit(stage: VolumeStage, request: AdmissionRequest, paused = false) {
    const { clock } = stage;
    return advanceDuring(clock, admitVolume({ clock, lookups: stage.openLookups(), paused: () => paused }, request));
  }

  /** The object as it is stored, with the patch. */
  async function created(stage: VolumeStage, changes: VolumeChanges, name = 'pv') {
    const object = volumeObject(name, changes);
    const decision = await admit(stage, requestFor(object));
    assert.ok(decision.allowed, JSON.stringify(decision));
    const patch = (decision.patch ?? []) as Operation[];
    const { newDocument } = jsonPatch.applyPatch(structuredClone(object), patch, true);
    return { ...newDocument, warnings: decision.warnings };
  }

  it('gets labels and node affinity of its volume', async () => {
    const stage = begin();
    stage.disk('pv', 'sim-1b');
    const { metadata, spec } = await created(stage, {});
    assert.deepEqual(metadata.labels, { [zoneLabel]: 'sim-1b', [regionLabel]: 'sim-1' });
    assert.deepEqual((spec as { nodeAffinity?: unknown }).nodeAffinity, affinityTo(['sim-1b'], 'sim-1'));
  });

  it('keeps labels of its own, and a node affinity gets the requirements in each of its terms', async () => {
    const stage = begin();
    stage.disk('pv', 'sim-1a');
    const rack = { key: 'rack', operator: 'In', values: ['1'] };
    const terms = [{ matchExpressions: [rack] }, { matchFields: [{ ...rack, key: 'metadata.name' }] }];
    const csi = { driver: 'csi.simulated.mooring.dev', volumeHandle: 'pv' };
    const nodeAffinity = { required: { nodeSelectorTerms: terms } };
    const { metadata, spec } = await created(stage, { labels: { a: 'b' }, spec: { csi, nodeAffinity } });
    assert.deepEqual(metadata.labels, { a: 'b', [zoneLabel]: 'sim-1a', [regionLabel]: 'sim-1' });
    const [{ matchExpressions: added }] = affinityTo(['sim-1a'], 'sim-1').required.nodeSelectorTerms as [
      { matchExpressions: unknown[] },
    ];
    assert.deepEqual((spec as { nodeAffinity?: unknown }).nodeAffinity, {
      required: {
        nodeSelectorTerms: [
          { matchExpressions: [rack, ...added] },
          { matchFields: [{ ...rack, key: 'metadata.name' }], matchExpressions: added },
        ],
      },
    });
  });

  it('admits a volume as it is, with a warning, where a label of its own differs from the cloud', async () => {
    const stage = begin();
    stage.disk('pv', 'sim-1a');
    const { metadata, warnings } = await created(stage, { labels: { [zoneLabel]: 'sim-1b' } });
    assert.deepEqual(metadata.labels, { [zoneLabel]: 'sim-1b' });
    assert.deepEqual(warnings, [
      `the volume gets no zone and region: label ${zoneLabel}: sim-1b, but the cloud says sim-1a`,
    ]);
  });

  it('needs nothing of the loop afterwards', async () => {
    const label = fc.option(fc.constantFrom('sim-1a', 'sim-1a__sim-1b', 'sim-1b__sim-1a'), { nil: undefined });
    const expression = fc.record({
      key: fc.constantFrom('rack', zoneLabel),
      operator: fc.constant('In'),
      values: fc.constant(['x']),
    });
    const term = fc.record({ matchExpressions: fc.array(expression, { minLength: 1, maxLength: 2 }) });
    await fc.assert(
      fc.asyncProperty(
        label,
        fc.array(term, { maxLength: 2 }),
        fc.subarray(['sim-1a', 'sim-1b']),
        async (zone, terms, zones) => {
          const stage = begin();
          stage.disk('pv', ...zones);
          const csi = { driver: 'csi.simulated.mooring.dev', volumeHandle: 'pv' };
          const nodeAffinity = { required: { nodeSelectorTerms: terms } };
          const { metadata, spec } = await created(stage, {
            ...(zone !== undefined && { labels: { [zoneLabel]: zone } }),
            spec: { csi, ...(terms.length > 0 && { nodeAffinity }) },
          });
          stage.create('pv', { labels: metadata.labels ?? {}, spec });
          const replica = stage.replica();
          await replica.start();
          assert.deepEqual(replica.kube.writes(), []);
        },
      ),
      { numRuns: 30 },
    );
  });

  it('refuses a volume that the cloud does not have', async () => {
    const decision = await admit(begin(), requestFor(volumeObject('none')));
    assert.deepEqual(decision, {
      allowed: false,
      code: 403,
      reason: 'Forbidden',
      message: 'the cloud has no volume none in the configured scope',
    });
  });

  it('refuses a volume for now where the cloud fails, or does not answer in time', async () => {
    const stage = begin();
    stage.disk('pv', 'sim-1a');
    for (const effect of [{ kind: 'error', status: 503 }, { kind: 'silence' }] as const) {
      const fault = stage.cloud.faults.add({ operation: 'volumes.lookup', effect });
      const decision = await admit(stage, requestFor(volumeObject('pv')));
      stage.cloud.faults.remove(fault);
      assert.ok(!decision.allowed);
      assert.deepEqual([decision.code, decision.reason], [503, 'ServiceUnavailable']);
      assert.match(decision.message, /^zone and region of volume pv are not known: (simulated .*HTTP 503|no answer)/);
    }
  });

  it('admits what is of no configured cloud, paused, or of another kind as it is, without a lookup', async () => {
    const stage = begin();
    const paused = { annotations: { 'mooring.dev/paused': 'true' } };
    const asked = [
      requestFor(volumeObject('a', { spec: { nfs: { server: 'a', path: '/' } } })),
      requestFor(volumeObject('a', paused)),
      { ...requestFor(volumeObject('a')), operation: 'UPDATE' },
      { ...requestFor(volumeObject('a')), resource: 'pods' },
    ];
    for (const request of asked) assert.deepEqual(await admit(stage, request), { allowed: true });
    assert.equal(stage.lookups(), 0);
  });

  it('admits a volume as it is, with a warning, while everything is paused', async () => {
    const stage = begin();
    const decision = await admit(stage, requestFor(volumeObject('a')), true);
    assert.deepEqual(decision, {
      allowed: true,
      warnings: ['Mooring is paused: the volume gets no zone and region'],
    });
  });
});
