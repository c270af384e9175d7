import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { describe, it } from 'node:test';
import type { DesiredLoadBalancer } from '../../../controller/clouds/load-balancers.ts';
import { WithheldError } from '../../../controller/clouds/permit.ts';
import { type Comparison, nameOf } from '../../../controller/engine/resource.ts';
import { desiredFor, type Edit, editsOf, newOwner, other, port, rich } from './desired.ts';
import { Crash, ensure, look, printStep, remove, type ServiceRecord } from './drive.ts';
import { type Compared, type Creation, driverOf, type Recording, recordDriver } from './recorded-driver.ts';
import { type Example, listed, type SuiteContext, withExample } from './suite-context.ts';

/** Facts about each kind of resource, taken from the table that the cloud's driver is. */
export function kindFacts({ world, capabilities }: SuiteContext): void {
  const { loadBalancers } = capabilities;
  if (!loadBalancers || !capabilities.enumerateFaults) return;
  describe('each kind of resource', () => {
    it('shows each kind of resource after its create as asked for, or as the driver says a create leaves it', () =>
      withExample(world(), async (example) => {
        const kinds = await creatableKinds(example);
        const created = new Set<string>();
        const name = 'lent';
        const id = loadBalancers.attach
          ? await example.world.createForeignLoadBalancer(name, `${example.world.cluster}/default`)
          : undefined;
        const attached: Edit = (desired) => ({
          ...desired,
          ports: [port(8443, 30443)],
          attach: id === undefined ? undefined : { id, allowed: false },
        });
        const compare = async (creation: Creation, shown: Recording, where: string) => {
          for (const [at, want] of creation.wants.entries()) {
            // The create of a container makes its parts to the end.
            if (loadBalancers.markedLater?.includes(want.kind)) continue;
            const isWhole = at > 0 && want.within !== undefined && creation.kind !== want.kind;
            const one = shown.compared.get(nameOf(want));
            // What is to stay as it is, is not compared.
            const isShown =
              one !== undefined || (await listed(example)).some((found) => nameOf(found) === nameOf(want));
            assert.ok(isShown, `${where}: no reader shows ${nameOf(want)}`);
            if (one !== undefined && kinds.get(want.kind))
              assert.deepEqual(
                changesOf(one.result),
                isWhole ? [] : notInside(one, shown),
                `${where}: ${nameOf(want)}`,
              );
          }
        };
        const create = async (edit: Edit, before?: Edit) => {
          for (const { wants } of await eachCreation(example, edit, compare, before))
            for (const { kind } of wants) created.add(kind);
        };
        for (const edit of [...editsOf(example.world), ...(id === undefined ? [] : [attached])]) await create(edit);
        if (id !== undefined) await example.world.deleteLoadBalancer(id);
        const missing = () => [...kinds.keys()].filter((kind) => kinds.get(kind) && !created.has(kind));
        // Some are made by a change alone.
        if (missing().length > 0) await create(other, (desired) => rich(desired, example.world));
        const { createdElsewhere = {} } = loadBalancers;
        assert.deepEqual(missing().sort(), Object.keys(createdElsewhere).sort());
        for (const file of Object.values(createdElsewhere)) assert.ok(existsSync(file), file);
      }));

    it('makes no more calls than the capabilities say, and none in a second run', (t) =>
      withExample(world(), async (example) => {
        const { calls } = loadBalancers;
        if (calls === undefined) return t.skip('the capabilities name no bounds');
        const { world: cloud } = example;
        const record: ServiceRecord = { id: undefined };
        const count = async (work: () => Promise<unknown>) => {
          const before = cloud.mutations();
          await work();
          return cloud.mutations() - before;
        };
        const desired = rich(example.desired, example.world);
        const more = await cloud.createVm();
        const further = desiredFor(newOwner(cloud.cluster), example.vms, { ports: desired.ports });
        const driving = () => example.driving({ desired: further, record });
        const counted = {
          first: await count(async () => ensure(await example.driving({ desired }))),
          further: await count(async () => ensure(await driving())),
          again: await count(async () => ensure(await driving())),
          member: await count(async () => {
            const { members } = desiredFor(further.owner, [...example.vms, more]);
            await ensure(await example.driving({ desired: { ...further, members }, record }));
          }),
          removal: await count(async () => remove(await driving())),
        };
        await cloud.deleteVm(more.providerID);
        assert.equal(counted.again, 0);
        for (const [what, most] of Object.entries(calls))
          assert.ok(counted[what as keyof typeof calls] <= most, `${what}: ${JSON.stringify(counted)}`);
      }));
  });
}

/** Kinds of the driver, and whether a create of its own makes them. */
async function creatableKinds({ world }: Example): Promise<ReadonlyMap<string, boolean>> {
  const { kinds } = await driverOf((wrap) => world.open(wrap));
  return new Map(kinds.map(({ kind, create, createMany }) => [kind, (create ?? createMany) !== undefined]));
}

/** What differs, without ids: those of what is not there yet are names. */
function changesOf(result: Comparison | undefined): readonly string[] {
  if (result === undefined || 'same' in result) return [];
  return 'replace' in result ? [`replace: ${result.replace}`] : result.changes.map(({ what }) => what).sort();
}

/** What a create leaves to be changed on the resource itself, and not on one inside that comes with it. */
function notInside({ found, left }: Compared, { compared }: Recording): readonly string[] {
  const inside = [...compared.values()].filter((one) => one.found.within === found.id);
  const shown = new Set(inside.flatMap(({ result }) => changesOf(result)));
  return changesOf(left).filter((what) => !shown.has(what));
}

/** Lets the process die after each create, and shows what a fresh process compares then. Answers all creates. */
async function eachCreation(
  example: Example,
  edit: Edit,
  look: (creation: Creation, shown: Recording, where: string) => Promise<void>,
  before?: Edit,
): Promise<readonly Creation[]> {
  for (let call = 1; ; call += 1) {
    const plain = desiredFor(newOwner(example.world.cluster), example.vms);
    const desired = edit(plain);
    const record: ServiceRecord = { id: undefined };
    if (before !== undefined) await ensure(await example.driving({ desired: before(plain), record }));
    const recording = recordDriver(call);
    const permit = () => {
      if (recording.isDead) throw new WithheldError('Fenced', 'the process has died');
    };
    const balancers = await example.fresh(recording.wrap);
    try {
      await ensure(await example.driving({ balancers, desired, record, permit }));
    } catch (error) {
      if (!(error instanceof Crash || error instanceof WithheldError)) throw error;
    }
    const isLast = !recording.isDead;
    const creation = recording.creations[call - 1];
    await example.world.pass(balancers.settleMs);
    if (creation !== undefined)
      await look(creation, await compareAll(example, desired, record), `after create ${call}, of ${creation.kind}`);
    await ensure(await example.driving({ desired, record }));
    const { calls, refusals } = await ensure(await example.driving({ desired, record }));
    assert.deepEqual([calls, refusals], [0, []]);
    if (isLast) await assertOneAuditSuffices(example, desired, record);
    await remove(await example.driving({ desired, record }));
    if (isLast) return recording.creations;
  }
}

/** After a restart with nothing changed, a process that has read everything once has nothing to do or to read. */
async function assertOneAuditSuffices(
  { world, fresh }: Example,
  desired: DesiredLoadBalancer,
  { id, notes }: ServiceRecord,
): Promise<void> {
  const balancers = await fresh();
  await world.pass(balancers.settleMs);
  await world.during(balancers.observeAll(world.cluster));
  const { steps, waitMs, waitsFor } = balancers.plan({ ...desired, record: { id, notes } });
  assert.deepEqual([steps.map(printStep), waitMs], [[], undefined], waitsFor?.join());
}

/** What a fresh process compares, when the cloud is at work no more. Nothing is sent. */
async function compareAll(example: Example, desired: DesiredLoadBalancer, record: ServiceRecord): Promise<Recording> {
  const recording = recordDriver();
  const balancers = await example.fresh(recording.wrap);
  for (let round = 0; round < 20; round += 1) {
    await look(await example.driving({ balancers, desired, record }));
    await example.world.during(balancers.observeAll(example.world.cluster));
    const { waitMs, steps } = balancers.plan(desired);
    if (waitMs === undefined || steps.length > 0) break;
    await example.world.pass(waitMs);
  }
  return recording;
}
