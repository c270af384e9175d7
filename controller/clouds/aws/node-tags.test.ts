import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { isCloudError } from '../../../common/cloud-error.ts';
import { answerError } from '../../../test/clouds/aws/fake/fake-ec2.ts';
import { id, lookupHarness, providerID } from '../../../test/clouds/aws/fake/lookup-harness.ts';
import { WithheldError } from '../permit.ts';

describe('tags of EC2 instances', () => {
  const harness = lookupHarness();
  const always = { permit: () => {} };
  const tagsOf = (n: number) => harness.ec2.instances.get(id(n))?.tags;
  async function open() {
    const { nodeTags } = await harness.openCloud();
    assert.ok(nodeTags);
    return nodeTags;
  }
  const failure = (work: Promise<void>) =>
    work.then(
      () => assert.fail('no failure'),
      (error: unknown) => error,
    );

  it('sets tags on many instances in one call, over other values', async () => {
    harness.add(1, 2);
    const nodeTags = await open();
    await nodeTags.set([providerID(1)], { team: 'b' }, always);
    await nodeTags.set([providerID(1), providerID(2)], { team: 'a', empty: '' }, always);
    assert.deepEqual([tagsOf(1), tagsOf(2)], Array(2).fill({ team: 'a', empty: '' }));
    assert.equal(harness.ec2.calls.length, 2);
  });

  it('removes tags that have the same value, twice without harm', async () => {
    harness.add(1, 2);
    const nodeTags = await open();
    await nodeTags.set([providerID(1)], { team: 'a', empty: '' }, always);
    await nodeTags.set([providerID(2)], { team: 'b' }, always);
    for (let round = 0; round < 2; round += 1)
      await nodeTags.remove([providerID(1), providerID(2)], { team: 'a', empty: '' }, always);
    assert.deepEqual([tagsOf(1), tagsOf(2)], [{}, { team: 'b' }]);
  });

  it('rejects with NotFound, and names the instances that do not exist as its subjects', async () => {
    harness.add(1);
    const nodeTags = await open();
    const work = nodeTags.set([providerID(1), providerID(2), providerID(3)], { team: 'a' }, always);
    const error = await failure(work);
    assert.ok(isCloudError(error));
    assert.equal(error.kind, 'NotFound');
    assert.deepEqual(error.subjects, [providerID(2), providerID(3)]);
    assert.equal(tagsOf(1), undefined);
  });

  for (const [code, kind] of [
    ['UnauthorizedOperation', 'Forbidden'],
    ['TagLimitExceeded', 'QuotaExceeded'],
    ['RequestLimitExceeded', 'Throttled'],
    ['InvalidID', 'Invalid'],
  ] as const) {
    it(`rejects with ${kind} after ${code}`, async () => {
      harness.add(1);
      harness.ec2.fault = (_, response) =>
        answerError(response, code === 'RequestLimitExceeded' ? 503 : 400, code, 'no');
      const error = await failure((await open()).set([providerID(1)], { team: 'a' }, always));
      assert.ok(isCloudError(error));
      assert.equal(error.kind, kind);
      assert.deepEqual(error.subjects, []);
    });
  }

  it('sends no change of tags without a permit', async () => {
    harness.add(1);
    const nodeTags = await open();
    const permit = () => {
      throw new WithheldError('Paused', 'not sent');
    };
    for (const action of ['set', 'remove'] as const)
      await assert.rejects(nodeTags[action]([providerID(1)], { team: 'a' }, { permit }), WithheldError);
    assert.deepEqual(harness.ec2.calls, []);
  });

  it('refuses ids that are no instances of EC2', async () => {
    const nodeTags = await open();
    for (const other of ['aws:///eu-west-1a/fargate-x', 'gce://p/z/i-1', 'aws:///eu-west-1a/i-*'])
      await assert.rejects(nodeTags.set([other], { team: 'a' }, always), { kind: 'Invalid' });
    assert.deepEqual(harness.ec2.calls, []);
  });

  for (const [key, value, expected] of [
    ['team', '', undefined],
    ['', 'x', 'a key of 1 to 128 characters'],
    ['k'.repeat(129), 'x', 'a key of 1 to 128 characters'],
    ['AWS:x', 'x', 'a key that does not begin with aws:, which AWS keeps for itself'],
    ['team', 'v'.repeat(257), 'a value of at most 256 characters'],
  ] as const) {
    it(`checks the form that EC2 takes: ${JSON.stringify(key).slice(0, 20)}=${value.slice(0, 3)}`, async () => {
      assert.equal((await open()).expected(key, value), expected);
    });
  }
});
