import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { CloudError } from '../../../common/cloud-error.ts';
import { advanceDuring, fakeClock } from '../../../common/testing/fake-clock.ts';
import { type VolumeRef, type Volumes, volumeKey } from '../../clouds/volumes.ts';
import { createCallGuard } from './call-guard.ts';
import { guardVolumes } from './guarded-volumes.ts';

const ref: VolumeRef = { source: 'csi.example.com', handle: 'vol-1', zones: [] };
const clock = fakeClock();
const good = { sources: [{ name: 'csi.example.com' }], accepts: () => true, lookup: async () => new Map() };

function guarded(parts: object): Volumes {
  return guardVolumes({ ...good, ...parts } as Volumes, createCallGuard('example', clock));
}

async function answerTo(lookup: () => unknown): Promise<string> {
  const answers = await advanceDuring(clock, guarded({ lookup }).lookup([ref]), 1000);
  const answer = answers.get(volumeKey(ref))!;
  if (answer.state === 'found') return `${answer.place.zones} in ${answer.place.region}`;
  return answer.state === 'unknown' ? `unknown ${answer.error.kind}` : answer.state;
}
const answering = (answer: unknown) => async () => new Map([[volumeKey(ref), answer]]);

describe('the guard around volumes of a module', () => {
  it('lets through what is as the contract has it', async () => {
    const found = { state: 'found', place: { zones: ['a', 'b'], region: 'r' } };
    assert.equal(await answerTo(answering(found)), 'a,b in r');
    assert.equal(await answerTo(answering({ state: 'absent' })), 'absent');
    const error = new CloudError({ kind: 'Throttled', cloud: 'example', operation: 'list', message: '' });
    assert.equal(await answerTo(answering({ state: 'unknown', error })), 'unknown Throttled');
  });

  for (const [what, expected, lookup] of [
    ['nothing', 'unknown Invalid', answering(undefined)],
    ['a place without zones', 'unknown Invalid', answering({ state: 'found', place: { region: 'r' } })],
    ['a zone that is no text', 'unknown Invalid', answering({ state: 'found', place: { zones: [1] } })],
    ['another state', 'unknown Invalid', answering({ state: 'gone' })],
    ['no map', 'unknown Invalid', async () => ({})],
    ['an error', 'unknown Unavailable', () => Promise.reject(new Error('no'))],
    ['no answer', 'unknown Timeout', () => new Promise(() => {})],
  ] as const)
    it(`answers unknown for ${what}`, async () => {
      assert.equal(await answerTo(lookup), expected);
    });

  it('refuses a module without the parts, and names what was expected', () => {
    assert.throws(() => guarded({ lookup: undefined }), /^Error: volumes\.lookup: undefined, expected a function/);
    assert.throws(() => guarded({ sources: [{}] }), /^Error: volumes\.sources: .*expected names of CSI drivers/);
  });

  it('asks the lookup where the module fails to say whether a volume may be its own', () => {
    const fails = () => {
      throw new Error('no');
    };
    assert.equal(guarded({ accepts: fails }).accepts(ref), true);
    assert.equal(guarded({ accepts: () => false }).accepts(ref), false);
  });
});
