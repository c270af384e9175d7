import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { DesiredLoadBalancer, LoadBalancerPlan, Refusal } from '../../../controller/clouds/load-balancers.ts';
import { type Found, identityOf, isOwnedBy } from '../../../controller/engine/resource.ts';
import { desiredFor, editsOf, newOwner, port } from './desired.ts';
import { Crash, type CrashPoint, ensure, look, remove, type ServiceRecord } from './drive.ts';
import { driverOf, listAll } from './recorded-driver.ts';
import { type Example, listed, type SuiteContext, sorted, withExample } from './suite-context.ts';

/** A refusal with one of these says what is not ours. */
const namingReasons: ReadonlySet<string> = new Set(['ForeignLoadBalancer', 'Conflict']);

/** Facts about marks that a person took off, and about those of the classic controller. */
export function markFacts({ world, capabilities }: SuiteContext): void {
  const { loadBalancers } = capabilities;
  if (!loadBalancers || !capabilities.enumerateFaults) return;
  describe('marks', () => {
    it('marks a resource again, and deletes it with its Service, if something proves whose it is; else names it', (t) =>
      withExample(world(), async (example) => {
        const { stripMarks, comesBack = () => true } = example.world;
        if (stripMarks === undefined) return t.skip('this world cannot take marks off');
        const tried = new Set<string>();
        for (const [number, edit] of editsOf(example.world).entries()) {
          const desired = () => edit(desiredFor(newOwner(example.world.cluster), example.vms));
          const marked = await markedOf(example, desired());
          assert.ok(marked.length > 0, 'the driver marks nothing');
          for (const one of marked) {
            const what = `${one.kind}, which ${comesBack(one, desired()) ? 'comes back' : 'stays'}`;
            if (tried.has(what)) continue;
            tried.add(what);
            await t.test(number === 0 ? what : `${what}, of example ${number}`, async (each) => {
              for (const isServed of [true, false])
                if (!(await stripped(example, desired(), one.kind, isServed)))
                  return each.skip('it has no marks of its own');
            });
          }
        }
      }));

    it('adopts a load balancer of the classic controller as it is, once, whatever call the process dies at', (t) =>
      withExample(world(), async (example) => {
        if (example.world.markAsClassic === undefined)
          return t.skip("this world cannot give a load balancer the classic controller's marks");
        const calls = await adopted(example, undefined);
        for (let call = 1; call <= calls; call += 1) {
          await adopted(example, { at: 'before', call });
          await adopted(example, { at: 'after', call });
        }
      }));
  });
}

/** What carries marks of a Service that asks for this. */
async function markedOf(example: Example, desired: DesiredLoadBalancer): Promise<readonly Found[]> {
  const record: ServiceRecord = { id: undefined };
  await ensure(await example.driving({ desired, record }));
  const marked = (await listed(example)).filter((one) => isOwnedBy(one, desired.owner));
  await remove(await example.driving({ desired, record }));
  return marked;
}

/**
 * The Service is served on, or deleted at once, by a process that knows the record alone. False where nothing of that
 * kind has marks of its own.
 */
async function stripped(
  example: Example,
  desired: DesiredLoadBalancer,
  kind: string,
  isServed: boolean,
): Promise<boolean> {
  const { world } = example;
  const record: ServiceRecord = { id: undefined };
  const driving = () => example.driving({ desired, record });
  const things = sorted(await world.inventory());
  await ensure(await driving());
  const before = await listed(example);
  const target = before.find((one) => one.kind === kind && isOwnedBy(one, desired.owner));
  if (target === undefined || !(await world.stripMarks!(target))) {
    await remove(await driving());
    return false;
  }
  const comesBack = world.comesBack?.(target, desired) ?? true;
  const isNamed = (refusals: readonly Refusal[]) =>
    refusals.some(({ reason, message }) => namingReasons.has(reason) && message.includes(target.id));
  if (isServed) {
    const { refusals } = await ensure(await driving());
    const after = await listed(example);
    const isBack = after.some((one) => identityOf(one) === identityOf(target) && isOwnedBy(one, desired.owner));
    assert.deepEqual([isBack, isNamed(refusals)], [comesBack, !comesBack], JSON.stringify(refusals));
    assert.equal((await ensure(await driving())).calls, 0, 'a second run changed something');
    const count = (all: readonly Found[]) => all.filter((one) => one.kind === kind).length;
    assert.ok(count(after) <= count(before), `another ${kind} was made`);
  }
  const told: Refusal[] = [];
  const onPlan = async ({ refusals }: LoadBalancerPlan) => void told.push(...refusals);
  const { observed } = await remove({ ...(await driving()), onPlan });
  const isLeft = (await listed(example)).some((one) => identityOf(one) === identityOf(target));
  assert.equal(isLeft, !comesBack && target.within === undefined, JSON.stringify(told));
  if (!isLeft) {
    assert.deepEqual(sorted(await world.inventory()), things);
    return true;
  }
  // Nothing says that it was deleted.
  assert.ok(observed?.id === target.id || isNamed(told), `${observed?.id}: ${JSON.stringify(told)}`);
  await world.deleteLoadBalancer(target.id);
  await world.pass((await example.fresh()).settleMs);
  await remove(await driving());
  return true;
}

/** Answers how many calls it took. */
async function adopted(example: Example, crash: CrashPoint | undefined): Promise<number> {
  const { world } = example;
  const desired = desiredFor(newOwner(world.cluster), example.vms);
  const record: ServiceRecord = { id: undefined };
  const things = sorted(await world.inventory());
  const { observed } = await ensure(await example.driving({ desired, record }));
  const driver = await driverOf((wrap) => example.fresh(wrap));
  assert.ok(observed?.id !== undefined);
  const all = await world.during(listAll(driver, world.cluster));
  const main = all.find((one) => one.kind === driver.main && one.id === observed.id);
  await world.markAsClassic!(main!, desired);
  const addresses = observed.ingress.flatMap(({ ip, hostname }) => ip ?? hostname ?? []);
  const adopt = { clusterName: desired.clusterName, addresses };
  const taken: ServiceRecord = { id: undefined };
  const driving = (fields: object = {}) => example.driving({ desired, record: taken, adopt, ...fields });
  // The mark comes with the first change that it needs anyway.
  const changed = { ...desired, ports: [port(80, 31080)] };
  let calls = 0;
  try {
    calls = (await ensure(await driving({ desired: changed, ...(crash && { crash }) }))).calls;
  } catch (error) {
    if (!(error instanceof Crash)) throw error;
    await world.pass((await example.fresh()).settleMs);
    await ensure(await driving({ desired: changed }));
  }
  const seen = await look(await driving({ desired: changed }));
  assert.deepEqual([seen?.id, seen?.ingress, seen?.owner], [observed.id, observed.ingress, desired.owner]);
  assert.equal((await ensure(await driving({ desired: changed }))).calls, 0);
  await remove(await driving());
  assert.equal(await look(await driving()), undefined);
  assert.deepEqual(sorted(await world.inventory()), things);
  return calls;
}
