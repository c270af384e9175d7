import assert from 'node:assert/strict';
import type {
  DesiredLoadBalancer,
  LoadBalancerPlan,
  LoadBalancers,
  ObservedLoadBalancer,
} from '../../../controller/clouds/load-balancers.ts';
import { desiredFor, newOwner, port } from '../suite/desired.ts';
import { ensure, refOf } from '../suite/drive.ts';
import { type OctaviaHarness, octaviaHarness } from './octavia-harness.ts';

export const ports = (count: number) => Array.from({ length: count }, (_, at) => port(8000 + at, 31_000 + at));

export async function withHarness(body: (harness: OctaviaHarness) => Promise<void>): Promise<void> {
  const harness = await octaviaHarness('[LoadBalancer]\ncreate-monitor = true\n');
  try {
    // Networks and versions are read once a process.
    harness.octavia.looks = 2;
    await body(harness);
  } finally {
    await harness.close();
  }
}

/** One process does it all, as in a cluster; each Service is planned for from what a list of everything says. */
export async function services(harness: OctaviaHarness, count: number): Promise<readonly DesiredLoadBalancer[]> {
  const all = Array.from({ length: count }, () =>
    desiredFor(newOwner(harness.world.cluster), harness.vms, { ports: ports(2) }),
  );
  for (const desired of all) await ensure(await harness.driving({ desired, record: { id: undefined } }));
  return all;
}

/** Fails where more was sent since the calls were last asked for: changes, or reads. */
export function assertAtMost(
  harness: OctaviaHarness,
  limit: { readonly changes: number; readonly reads: number },
): void {
  const calls = harness.calls();
  const reads = calls.filter((call) => call.startsWith('GET ')).length;
  const changes = calls.length - reads;
  const told = `${changes} changes and ${reads} reads, expected at most ${limit.changes} and ${limit.reads}`;
  assert.ok(changes <= limit.changes && reads <= limit.reads, `${told}:\n${calls.join('\n')}`);
}

/** From what is known to the end, as the controller does it: it looks only where it is told to. */
export async function settle(
  { world }: OctaviaHarness,
  balancers: LoadBalancers,
  desired: DesiredLoadBalancer,
  known: ObservedLoadBalancer | undefined,
  planFor: (observed: ObservedLoadBalancer | undefined) => LoadBalancerPlan | undefined,
): Promise<ObservedLoadBalancer | undefined> {
  let observed = known;
  for (let round = 0; round < 50; round += 1) {
    const plan = planFor(observed);
    if (plan?.steps.length) observed = await world.during(balancers.apply(plan, { permit: () => {} }));
    else if (plan?.waitMs === undefined) return observed;
    else {
      await world.pass(plan.waitMs);
      observed = await world.during(balancers.observe(refOf(desired, { id: observed?.id ?? known?.id })));
    }
  }
  throw new Error('no end');
}

export const made = (harness: OctaviaHarness, balancers: LoadBalancers, desired: DesiredLoadBalancer) =>
  settle(harness, balancers, desired, undefined, () => balancers.plan(desired));

/** A process that has seen that there is nothing. */
export async function opened(harness: OctaviaHarness): Promise<LoadBalancers> {
  const { balancers } = await harness.driving();
  await harness.world.during(balancers.observeAll(harness.world.cluster));
  harness.calls();
  return balancers;
}
