import type { DesiredLoadBalancer } from '../../../../controller/clouds/load-balancers.ts';
import { desiredOf, type MachineOptions, machine, member, port } from './machine.ts';
import { clusterTag } from './network-facts.ts';

/** The Service whose calls are counted: two ports, twenty nodes. */
export const ports = [port(80), port(443)];
export const members = Array.from({ length: 20 }, (_, at) => member(at + 1));
export const serviceOf = (service: string, more: Parameters<typeof desiredOf>[1] = {}) =>
  desiredOf(service, { ports, members, ...more });

/** As the controller works: from its last read of everything, and with what the lookups of Nodes have shown. */
export async function countedMachine(options: MachineOptions = {}) {
  const m = machine(options);
  await m.audit();
  const calls = () => m.aws.reads.splice(0).length + m.aws.sent.splice(0).length;
  calls();
  /** How many calls the work makes. */
  async function counted(work: () => Promise<unknown>): Promise<number> {
    calls();
    await work();
    return calls();
  }
  async function applyAll(next: () => ReturnType<typeof m.balancers.plan>): Promise<void> {
    for (let plan = next(); plan.steps.length > 0; plan = next())
      await m.during(m.balancers.apply(plan, { permit: () => {} }));
  }
  return {
    ...m,
    counted,
    ensure: (desired: DesiredLoadBalancer) => applyAll(() => m.balancers.plan(desired)),
    remove: ({ owner }: DesiredLoadBalancer) => applyAll(() => m.balancers.planRemoval(owner, { retain: false })),
    /** A lookup shows the instance of `member(at)`. */
    noteNode(at: number) {
      const Tags = Object.entries(clusterTag).map(([Key, Value]) => ({ Key, Value }));
      const Placement = { AvailabilityZone: 'eu-west-1a' };
      const SecurityGroups = [{ GroupId: 'sg-nodes' }];
      m.reads.noteInstance({ InstanceId: `i-${at}`, Placement, Tags, SecurityGroups });
    },
  };
}
