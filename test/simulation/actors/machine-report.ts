import type { Notice } from '../../../common/instance.ts';
import type { Report, ReportedInstance } from '../../../common/report.ts';
import type { SimulatedInstance } from '../../kit/cloud/instance.ts';
import type { Machine } from './machine.ts';
import type { Truth } from './truth.ts';

/** What the agent of a machine says next; undefined where its VM is not there any more. */
export function honestReport(truth: Truth, machine: Machine): Report | undefined {
  const vm = truth.vm(machine.vmId);
  if (vm === undefined) return undefined;
  const { notices, smbiosUuid } = vm;
  return {
    ...frame(truth, machine),
    instance: reported(machine, vm),
    ...(smbiosUuid === undefined ? {} : { smbiosUuid }),
    ...(notices.length > 0 ? { notices } : {}),
  };
}

/** `sender` says that it is `victim`, and about to end. */
export function lyingReport(truth: Truth, sender: Machine, victim: Machine, leaving: boolean): Report | undefined {
  const vm = truth.vm(victim.vmId);
  if (vm === undefined) return undefined;
  const notices: Notice[] = [{ kind: 'termination', deadline: new Date(truth.clock.now()).toISOString() }];
  return {
    ...frame(truth, sender),
    instance: reported(victim, vm),
    ...(vm.smbiosUuid === undefined ? {} : { smbiosUuid: vm.smbiosUuid }),
    notices,
    leaving,
  };
}

function frame({ clock }: Truth, { agent }: Machine) {
  agent.sequence += 1;
  return {
    version: 1 as const,
    agentVersion: '0.0.0',
    agentId: agent.id,
    sequence: agent.sequence,
    observedAt: new Date(clock.now()).toISOString(),
    metadata: { ok: true, ageSeconds: 0, failures: 0 },
  };
}

/** What the VM's metadata service says, to the agent on it. */
function reported(machine: Machine, vm: SimulatedInstance): ReportedInstance {
  const { otherCloud } = machine;
  return {
    cloud: otherCloud === '' ? 'simulated' : otherCloud,
    id: vm.id,
    providerID: providerIdOf(machine, vm),
    incarnation: vm.incarnation,
    name: vm.name,
    zone: vm.zone,
    region: vm.region,
    type: vm.type,
    addresses: vm.interfaces.flatMap(({ internal, external }) => [
      ...internal.map((address) => ({ type: 'InternalIP' as const, address })),
      ...external.map((address) => ({ type: 'ExternalIP' as const, address })),
    ]),
  };
}

export function providerIdOf(
  machine: Pick<Machine, 'otherCloud'>,
  vm: Pick<SimulatedInstance, 'id' | 'region' | 'zone'>,
): string {
  return machine.otherCloud === ''
    ? `simulated://${vm.region}/${vm.id}`
    : `${machine.otherCloud}:///${vm.zone}/${vm.id}`;
}
