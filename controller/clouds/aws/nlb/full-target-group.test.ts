import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { isCloudError } from '../../../../common/cloud-error.ts';
import { type Machine, machine, member, network } from '../../../../test/clouds/aws/fake/machine.ts';
import { toCloudError } from '../errors.ts';

const quota = 4;
const members = (...numbers: readonly number[]) => network({ members: numbers.map((number) => member(number)) });

function refuse(operation: string, name: string): never {
  throw toCloudError(Object.assign(new Error('no'), { name }), operation);
}

/** Target groups that take no more than `quota` targets. */
function limited() {
  const m = machine();
  const inService: number[] = [];
  m.aws.setHook(({ operation, input }) => {
    const [group] = m.aws.region.targetGroups.values();
    const there = [...(group?.targets ?? [])].flatMap(([id, { draining }]) => (draining ? [] : [id]));
    const joining = (input['Targets'] ?? []) as readonly { readonly Id: string }[];
    if (group !== undefined) inService.push(there.length);
    const after = new Set([...there, ...joining.map(({ Id }) => Id)]);
    if (operation === 'v2 RegisterTargets' && after.size > quota) refuse(operation, 'TooManyTargets');
    return undefined;
  });
  return { m, inService };
}

/** One that is full, and the instances behind it that fail their probe. */
async function fullGroup() {
  const { m, inService } = limited();
  await m.ensure(members(1, 2, 3, 4));
  inService.length = 0;
  const [group] = m.aws.region.targetGroups.values();
  async function fail(...numbers: readonly number[]) {
    for (const number of numbers) group!.targets.set(`i-${number}`, { draining: false, unhealthy: true });
    await m.clock.advance(300_000);
    await m.audit();
  }
  return { m, fail, fewest: () => Math.min(...inService) };
}

function denyRegistration(m: Machine): void {
  m.aws.setHook(({ operation }) => {
    if (operation === 'v2 RegisterTargets') refuse(operation, 'AccessDenied');
    return undefined;
  });
}

const naming =
  (...numbers: readonly number[]) =>
  (error: unknown) => {
    assert.ok(isCloudError(error));
    assert.deepEqual(
      [error.kind, error.subjects],
      ['QuotaExceeded', numbers.map((number) => member(number).providerID)],
    );
    return true;
  };

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
    await assert.rejects(m.ensure(members(5, 6, 7, 8)), naming(5, 6, 7, 8));
    assert.deepEqual(m.targets(), [['i-1', 'i-2', 'i-3', 'i-4']]);
  });

  it('takes as many as there is room for, and names the others', async () => {
    const { m } = await fullGroup();
    await m.ensure(members(1));
    await assert.rejects(m.ensure(members(1, 2, 3, 4, 5, 6, 7, 8)), naming(5, 6, 7, 8));
    assert.deepEqual(m.targets(), [['i-1', 'i-2', 'i-3', 'i-4']]);
    assert.deepEqual((await m.ensure(members(1, 2, 3, 4))).sent, []);
  });

  it('takes as many as there is room for when it is new, and has its listener', async () => {
    const { m } = limited();
    await assert.rejects(m.ensure(members(1, 2, 3, 4, 5, 6, 7, 8)), naming(5, 6, 7, 8));
    assert.deepEqual([m.targets(), m.listeners()], [[['i-1', 'i-2', 'i-3', 'i-4']], ['TCP 80']]);
  });

  it('costs three calls for a hundred targets while it is full', async () => {
    const { m } = await fullGroup();
    const asked: number[] = [];
    m.aws.setHook(({ operation, input }) => {
      if (operation !== 'v2 RegisterTargets') return undefined;
      asked.push((input['Targets'] as readonly unknown[]).length);
      refuse(operation, 'TooManyTargets');
    });
    const more = Array.from({ length: 100 }, (_, at) => 5 + at);
    await assert.rejects(m.ensure(members(1, 2, 3, 4, ...more)), naming(...more));
    assert.deepEqual(asked, [100, 10, 1]);
  });

  it('loses no member of those that are exchanged where AWS refuses the new ones for another reason', async () => {
    const { m, fail } = await fullGroup();
    await fail(1, 2, 3, 4);
    denyRegistration(m);
    await assert.rejects(m.ensure(members(5, 6, 7, 8)), /no end/);
    assert.deepEqual(m.targets(), [['i-1', 'i-2', 'i-3', 'i-4']]);
  });

  it('loses those that are no members any more although AWS refuses the new ones', async () => {
    const { m } = await fullGroup();
    denyRegistration(m);
    await assert.rejects(m.ensure(members(3, 4, 5)), /no end/);
    assert.deepEqual(m.targets(), [['i-3', 'i-4']]);
  });
});
