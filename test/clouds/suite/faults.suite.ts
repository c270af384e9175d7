import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { CloudError } from '../../../common/cloud-error.ts';
import type { DesiredLoadBalancer } from '../../../controller/clouds/load-balancers.ts';
import type { Permit } from '../../../controller/clouds/permit.ts';
import type { Found } from '../../../controller/engine/resource.ts';
import { desiredFor, type Edit, editsOf, memberOf, newOwner, other, rich } from './desired.ts';
import { Crash, type CrashPoint, type Driven, type Driving, ensure, remove } from './drive.ts';
import { driverOf, lagBehind, listAll } from './recorded-driver.ts';
import { type Example, type SuiteContext, sorted, withExample } from './suite-context.ts';
import type { CloudWorld } from './world.ts';

type WorldEdit = (desired: DesiredLoadBalancer, world: CloudWorld) => DesiredLoadBalancer;

/** One operation of a Service's life: what was there before it, and what it is. */
interface Operation {
  readonly what: string;
  readonly before: WorldEdit | undefined;
  readonly target: WorldEdit;
  readonly perform: (driving: Driving) => Promise<Driven>;
}

const plain = (desired: DesiredLoadBalancer) => desired;

const operations: readonly Operation[] = [
  { what: 'a creation', before: undefined, target: rich, perform: ensure },
  { what: 'a change of everything', before: rich, target: other, perform: ensure },
  { what: 'a change back to one port', before: other, target: plain, perform: ensure },
  { what: 'a removal', before: rich, target: rich, perform: remove },
];

/** What an example has beside a plain Service comes and goes. */
const operationsOf = (example: Edit): readonly Operation[] => [
  { what: 'a creation', before: undefined, target: example, perform: ensure },
  { what: 'an addition', before: plain, target: example, perform: ensure },
  { what: 'a withdrawal', before: example, target: plain, perform: ensure },
  { what: 'a removal', before: example, target: example, perform: remove },
];

type Fault =
  | { readonly kind: 'crash'; readonly at: CrashPoint['at'] }
  | { readonly kind: 'lost'; readonly crash: boolean }
  | { readonly kind: 'error' }
  /** A crash after the call, and lists that do not show it yet to the next process. */
  | { readonly kind: 'late lists' };

const faults: readonly (readonly [string, Fault])[] = [
  ['a crash before the call', { kind: 'crash', at: 'before' }],
  ['a crash after the call, before anything is recorded', { kind: 'crash', at: 'after' }],
  ['a lost answer', { kind: 'lost', crash: false }],
  ['a lost answer and a crash', { kind: 'lost', crash: true }],
  ['an error', { kind: 'error' }],
  ['a crash, and lists that do not show it yet', { kind: 'late lists' }],
];

/** Facts about crashes and lost answers at every single call: enumerated, unless the world asks for a stride. */
export function faultFacts({ world, capabilities }: SuiteContext): void {
  if (!capabilities.enumerateFaults) return;
  const { faultStride: stride = 1 } = capabilities;
  const where = stride === 1 ? 'at each call' : `at every ${stride}th call`;
  describe('every call of an operation', () => {
    for (const operation of operations) {
      for (const [number, [what, fault]] of faults.entries()) {
        it(`leaves nothing doubled and nothing behind with ${what}, ${where} of ${operation.what}`, (t) =>
          withExample(world(), async (example) => {
            if (fault.kind === 'lost' && !example.world.loseAnswer) return t.skip('no answer can be lost here');
            const clean = await cleanRun(example, operation);
            assert.ok(clean.calls >= 1);
            // Each kind of fault at other calls, and at one at least.
            for (let call = 1 + (number % Math.min(stride, clean.calls)); call <= clean.calls; call += stride)
              await struck(example, operation, fault, call, clean.left);
          }));
      }
    }

    it('leaves nothing doubled and nothing behind with faults at calls for what only an example has', (t) =>
      withExample(world(), async (example) => {
        const [twoPorts, ...examples] = editsOf(example.world);
        if (examples.length === 0) return t.skip('this cloud has no examples');
        const known = new Set<string>();
        for (const operation of operationsOf(twoPorts!))
          for (const kind of (await cleanRun(example, operation)).resources) known.add(kind);
        for (const [number, edit] of examples.entries()) {
          const its = new Set<string>();
          for (const operation of operationsOf(edit)) {
            const { resources, left } = await cleanRun(example, operation);
            for (const kind of new Set(resources)) {
              if (known.has(kind)) continue;
              its.add(kind);
              const call = resources.indexOf(kind) + 1;
              await t.test(`${kind}, call ${call} of ${operation.what}, example ${number + 1}`, async () => {
                for (const [what, fault] of faults)
                  if (fault.kind !== 'lost' || example.world.loseAnswer)
                    await struck(example, operation, fault, call, left).catch((error: unknown) => {
                      throw new Error(what, { cause: error });
                    });
              });
            }
          }
          for (const kind of its) known.add(kind);
        }
      }));
  });
}

/** The operation without a fault: the number of its calls, and the resources afterwards without the Service's names. */
async function cleanRun(example: Example, operation: Operation) {
  const service = await anotherService(example, operation);
  const { calls, steps } = await operation.perform(await service.driving());
  const left = await service.left();
  await service.end();
  return { calls, left, resources: steps.map(({ resource }) => resource) };
}

async function struck(
  example: Example,
  operation: Operation,
  fault: Fault,
  call: number,
  expected: readonly string[],
): Promise<void> {
  const { world } = example;
  const service = await anotherService(example, operation);
  const where = `at call ${call}`;
  const isLate = fault.kind === 'late lists';
  const shown = isLate ? await listed(example) : undefined;
  if (fault.kind === 'lost') world.loseAnswer?.(call - 1);
  const crash = crashAt(fault, call);
  try {
    await operation.perform(
      await service.driving({ ...(crash && { crash }), ...(fault.kind === 'error' && { permit: failingAt(call) }) }),
    );
  } catch (error) {
    if (!(error instanceof Crash)) throw error;
  }
  // A search may miss for a while what a create has made; until then it proves nothing.
  if (!isLate) await world.pass((await example.fresh()).settleMs);
  const balancers = shown && (await example.fresh(lagBehind(shown)));
  await operation.perform(await service.driving(balancers && { balancers }));
  if (isLate) {
    await world.pass((await example.fresh()).settleMs);
    await operation.perform(await service.driving());
  }
  assert.deepEqual(await service.left(), expected, where);
  const again = await operation.perform(await service.driving());
  assert.equal(again.calls, 0, `${where}: a second run changed something`);
  await service.end();
  assert.deepEqual(await service.left(), [], `${where}: something was left`);
}

function crashAt(fault: Fault, call: number): CrashPoint | undefined {
  switch (fault.kind) {
    case 'crash':
      return { at: fault.at, call };
    case 'lost':
      return fault.crash ? { at: 'before', call: call + 1 } : undefined;
    case 'late lists':
      return { at: 'after', call };
    default:
      return undefined;
  }
}

/** That call fails, and has no effect. */
function failingAt(call: number): Permit {
  let asked = 0;
  return () => {
    asked += 1;
    const about = { cloud: 'test', operation: 'send', message: 'HTTP 503' };
    if (asked === call) throw new CloudError({ ...about, kind: 'Unavailable' });
  };
}

/** What the lists show now; undefined where the cloud has no driver. */
async function listed({ world }: Example): Promise<readonly Found[]> {
  const driver = await driverOf((wrap) => world.open(wrap));
  return world.during(listAll(driver, world.cluster));
}

/** A Service of its own for one run, brought to where the operation begins. */
async function anotherService(example: Example, { before, target }: Operation) {
  const { world, vms } = example;
  const base = desiredFor(newOwner(world.cluster), vms, { members: vms.map((vm) => memberOf(vm)) });
  const things = sorted(await world.inventory());
  const record = { id: undefined as string | undefined };
  if (before) await ensure(await example.driving({ desired: before(base, world), record }));
  const driving = (fields: Partial<Driving> = {}) =>
    example.driving({ desired: target(base, world), record, ...fields });
  return {
    driving,
    async left(): Promise<string[]> {
      const rest = [...things];
      const more = sorted(await world.inventory()).filter((item) => {
        const at = rest.indexOf(item);
        if (at < 0) return true;
        rest.splice(at, 1);
        return false;
      });
      assert.deepEqual(rest, [], 'something that was there before has gone');
      return more.map((item) => item.replaceAll(base.name, 'NAME').replaceAll(base.owner.service, 'UID')).sort();
    },
    async end(): Promise<void> {
      await world.pass((await example.fresh()).settleMs);
      await remove(await driving());
    },
  };
}
