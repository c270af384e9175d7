import type { Replica } from './replica.ts';
import { until } from './scenario.ts';
import { loadBalancerServices } from './services.ts';
import type { World } from './world.ts';

/** Both controllers end in order, something may happen, and both come back. Resolves with the leader. */
export async function restart(world: World, meanwhile: () => Promise<void> = async () => {}): Promise<Replica> {
  await Promise.all(world.replicas.map(({ child }) => child.stop()));
  await meanwhile();
  for (const replica of world.replicas) replica.start();
  return until('a replica leads again', 30_000, () => world.leader());
}

export function sumOf(samples: ReadonlyMap<string, number>, name: string): number {
  let sum = 0;
  for (const [sample, value] of samples) if (sample === name || sample.startsWith(`${name}{`)) sum += value;
  return sum;
}

/** Waits until the leader has read all load balancers so often, and every Service stands well. */
export async function audited(world: World, leader: Replica, audits: number): Promise<void> {
  const wanted = (await loadBalancerServices(world)).length;
  let seen = '';
  await until(
    'the leader has looked at everything',
    40_000,
    async () => {
      const samples = await leader.metrics().catch(() => new Map<string, number>());
      const done = samples.get('mooring_load_balancer_audits_total{outcome="ok"}') ?? 0;
      const well = samples.get('mooring_services{reason="Ensured"}') ?? 0;
      seen = `${done} audits, ${well} of ${wanted} Services ensured`;
      return done >= audits && well >= wanted;
    },
    () => seen,
  );
}
