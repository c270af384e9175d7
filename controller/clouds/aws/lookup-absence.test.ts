import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { answerError, answerXml } from '../../../test/clouds/aws/fake/fake-ec2.ts';
import {
  emptyAnswer,
  id,
  lookupHarness,
  providerID,
  ref,
  states,
  summary,
} from '../../../test/clouds/aws/fake/lookup-harness.ts';
import { maxAbsenceProofs } from '../cloud.ts';

describe('absent instances of AWS', () => {
  const harness = lookupHarness();

  it('proves absence by one request for the missing ids alone', async () => {
    harness.add(1, 2);
    const lookups = await (await harness.openCloud()).instances.lookup([ref(1), ref(7), ref(2), ref(8)]);
    assert.deepEqual(states(lookups), ['found running by list', 'absent', 'found running by list', 'absent']);
    assert.deepEqual(
      harness.describes().map((call) => [...call.ids]),
      [[], [id(7), id(8)]],
    );
  });

  it('finds by its id an instance that the filter has left out', async () => {
    harness.add(1);
    harness.ec2.fault = ({ filters }, response) =>
      filters.has('instance-id') ? answerXml(response, 200, emptyAnswer) : undefined;
    assert.deepEqual(states(await (await harness.openCloud()).instances.lookup([ref(1)])), ['found running by id']);
  });

  it('answers unknown for a malformed id, and proves the other absences', async () => {
    const lookups = await (await harness.openCloud()).instances.lookup([
      ref(7),
      { by: 'providerID', providerID: 'aws:///eu-west-1a/i-xyz' },
      ref(8),
    ]);
    assert.deepEqual(states(lookups), ['absent', 'unknown Invalid', 'absent']);
  });

  it('asks for the ids one by one when a refusal names none of them', async () => {
    harness.add(1);
    harness.ec2.fault = ({ ids }, response) => {
      if (ids.length === 0) return answerXml(response, 200, emptyAnswer);
      if (ids.length === 1) return undefined;
      return answerError(response, 400, 'InvalidInstanceID.NotFound', 'The instance IDs do not exist');
    };
    const lookups = await (await harness.openCloud()).instances.lookup([ref(1), ref(7)]);
    assert.deepEqual(states(lookups), ['found running by id', 'absent']);
  });

  it('takes no empty answer to a request by id for an absence', async () => {
    harness.ec2.fault = (_, response) => answerXml(response, 200, emptyAnswer);
    assert.deepEqual(states(await (await harness.openCloud()).instances.lookup([ref(1)])), ['unknown Unavailable']);
  });

  it(`proves at most ${maxAbsenceProofs} a pass; the rest waits`, async () => {
    const many = Array.from({ length: maxAbsenceProofs + 5 }, (_, n) => n + 1);
    const lookups = await (await harness.openCloud()).instances.lookup(many.map(ref));
    assert.equal(states(lookups).filter((state) => state === 'absent').length, maxAbsenceProofs);
    assert.equal(states(lookups).filter((state) => state === 'unknown NotFound').length, 5);
  });

  it('need canaries by the same request, read only when something is absent', async () => {
    harness.add(1, 2);
    const cloud = await harness.openCloud();
    const quiet = await cloud.instances.lookup([ref(1)], { canaries: [ref(2)] });
    assert.deepEqual([...quiet.keys()], [providerID(1)]);
    const loud = await cloud.instances.lookup([ref(1), ref(7)], { canaries: [ref(2), ref(1)] });
    assert.deepEqual(Object.fromEntries([...loud].map(([key, lookup]) => [key, summary(lookup)])), {
      [providerID(1)]: 'found running by id',
      [providerID(7)]: 'absent',
      [providerID(2)]: 'found running by id',
    });
    assert.deepEqual([...harness.describes().at(-1)!.ids], [id(2), id(1)]);
  });

  it('include the canary with credentials of another account', async () => {
    const lookups = await (await harness.openCloud()).instances.lookup([ref(1)], { canaries: [ref(2)] });
    assert.deepEqual(states(lookups), ['absent', 'absent']);
  });
});
