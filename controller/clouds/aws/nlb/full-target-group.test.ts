import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { machine, member, network } from '../../../../test/clouds/aws/fake/machine.ts';
import { toCloudError } from '../errors.ts';

const quota = 4;
const members = (...numbers: readonly number[]) => network({ members: numbers.map((number) => member(number)) });

/** A target group that takes no more than `quota` targets, and the instances behind it that fail their probe. */
async function fullGroup() {
  const m = machine();
  await m.ensure(members(1, 2, 3, 4));
  const [group] = m.aws.region.targetGroups.values();
  const serving: number[] = [];
  const inService = () => [...group!.targets].filter(([, { draining }]) => !draining).length;
  m.aws.setHook(({ operation, input }) => {
    serving.push(inService());
    const joining = (input['Targets'] ?? []) as readonly unknown[];
    if (operation !== 'v2 RegisterTargets' || inService() + joining.length <= quota) return undefined;
    throw toCloudError(Object.assign(new Error('the group is full'), { name: 'TooManyTargets' }), operation);
  });
  async function fail(...numbers: readonly number[]) {
    for (const number of numbers) group!.targets.set(`i-${number}`, { draining: false, unhealthy: true });
    await m.clock.advance(300_000);
    await m.audit();
  }
  return { m, fail, fewest: () => Math.min(...serving, inService()) };
}

describe('a target group that takes no more targets', () => {
  it('loses those that have failed and are no members any more, and takes the new ones', async () => {
    const { m, fail } = await fullGroup();
    await fail(1, 2);
    await m.ensure(members(3, 4, 5, 6));
    assert.deepEqual(m.targets(), [['i-3', 'i-4', 'i-5', 'i-6']]);
  });

  it('takes new ones where all have failed, and is never empty', async () => {
    const { m, fail, fewest } = await fullGroup();
    await fail(1, 2, 3, 4);
    await m.ensure(members(5, 6, 7, 8));
    assert.deepEqual(m.targets(), [['i-5', 'i-6', 'i-7', 'i-8']]);
    assert.ok(fewest() > 0, `${fewest()}`);
  });

  it('keeps targets that serve, members or not, while AWS takes no new ones', async () => {
    const { m } = await fullGroup();
    await assert.rejects(m.ensure(members(5, 6, 7, 8)), /no end/);
    assert.deepEqual(m.targets(), [['i-1', 'i-2', 'i-3', 'i-4']]);
  });

  it('keeps those that have failed where AWS refuses new ones for another reason', async () => {
    const { m, fail } = await fullGroup();
    await fail(1, 2);
    m.aws.setHook(({ operation }) => {
      if (operation !== 'v2 RegisterTargets') return undefined;
      throw toCloudError(Object.assign(new Error('no'), { name: 'AccessDenied' }), operation);
    });
    await assert.rejects(m.ensure(members(3, 4, 5)), /no end/);
    assert.deepEqual(m.targets(), [['i-1', 'i-2', 'i-3', 'i-4']]);
  });
});
