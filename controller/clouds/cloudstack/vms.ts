import { CloudError, isCloudError } from '../../../common/cloud-error.ts';
import { typeOfOffering } from '../../../common/cloudstack-type.ts';
import type { Instance, NodeAddress, NodeAddressType, PowerState } from '../../../common/instance.ts';
import { cloudstack } from '../../../common/provider-id/cloudstack.ts';
import type { AnswerFields } from '../answer-fields.ts';
import { addressIn, pairsIn } from '../answer-values.ts';
import { distinctAddresses, type Machines, type Seen, seenById } from '../machines.ts';
import type { Urgency } from '../urgency.ts';
import type { CloudStackClient } from './client.ts';
import type { CloudStackConfig } from './config.ts';
import { cloud, isNoEntity } from './fault.ts';

/** Up to so many names are searched one by one. */
const namesAtOnce = 3;
const powers: Readonly<Record<string, PowerState>> = { Running: 'running', Stopped: 'stopped' };
/** It exists no more, although it may be shown until it is expunged. */
const ended: ReadonlySet<string> = new Set(['Destroyed', 'Expunging', 'Error']);
const details = 'nics,servoff';

/** What a list has to be asked for, so that it shows all that the account or the project has. */
export function scopeOf({ project }: Pick<CloudStackConfig, 'project'>) {
  return project === undefined ? { listall: true } : { listall: true, projectid: project };
}

type VmConfig = Pick<CloudStackConfig, 'project' | 'region'>;

/** VMs of one account or project, for one pass: the list is read at most once. */
export function createVms(client: CloudStackClient, config: VmConfig): Machines {
  let list: Promise<ReadonlyMap<string, Seen>> | undefined;

  async function search(params: object, urgency: Urgency, signal: AbortSignal | undefined) {
    const asked = { ...scopeOf(config), ...params, details };
    const vms = await client.list('listVirtualMachines', 'virtualmachine', asked, { urgency, signal });
    return seenById(
      vms.filter(exists),
      (vm) => vm.text('id').toLowerCase(),
      (vm) => readVm(vm, 'list', config),
    );
  }
  const exists = (vm: AnswerFields) => !ended.has(vm.text('state'));
  function all(signal: AbortSignal | undefined): Promise<ReadonlyMap<string, Seen>> {
    list ??= search({}, 'refresh', signal);
    return list;
  }

  return {
    holds: () => true,
    all: (_ids, signal) => all(signal),
    async named(names, signal) {
      if (names.length > namesAtOnce) return [...(await all(signal)).values()];
      // A name also finds those whose name has it in it.
      const found = await Promise.all(names.map((name) => search({ name }, 'need', signal)));
      return [...new Map(found.flatMap((some) => [...some])).values()];
    },
    async get(id, signal) {
      const operation = 'listVirtualMachines';
      const asked = { ...scopeOf(config), id, details };
      const vms = await client.list(operation, 'virtualmachine', asked, { signal }).catch((error: unknown) => {
        if (isNoEntity(error, 'id')) return [];
        // A project that does not exist says nothing of its VMs.
        if (!isCloudError(error) || error.kind !== 'NotFound') throw error;
        throw new CloudError({ kind: 'Invalid', cloud, operation, message: error.message });
      });
      const [vm] = vms;
      if (vm !== undefined && exists(vm)) return readVm(vm, 'id', config);
      throw new CloudError({ kind: 'NotFound', cloud, operation, message: `there is no VM ${id}` });
    },
  };
}

function readVm(vm: AnswerFields, request: 'list' | 'id', { region }: VmConfig): Seen {
  const id = vm.text('id').toLowerCase();
  const zone = vm.text('zonename');
  const type = typeOfOffering(vm.optionalText('serviceofferingname') ?? '');
  const instance: Instance = {
    cloud,
    id,
    name: vm.text('name'),
    incarnation: id,
    providerID: cloudstack.print({ instanceId: id }),
    zone,
    region: region ?? zone,
    ...(type !== undefined && { type }),
    // KVM shows the guest the id of its VM; other hypervisors make up an SMBIOS UUID.
    ...(vm.optionalText('hypervisor') === 'KVM' && { smbiosUuid: id }),
    addresses: addressesOf(vm),
    tags: pairsIn(vm, 'tags', ['key', 'value']),
  };
  return { state: 'found', power: powers[vm.text('state')] ?? 'changing', request, instance };
}

/** Addresses of all networks, the default one first, and the public one of static NAT. Secondary ones may move. */
function addressesOf(vm: AnswerFields): readonly NodeAddress[] {
  const nics = vm
    .objects('nic')
    .sort((a, b) => Number(b.optionalFlag('isdefault') ?? false) - Number(a.optionalFlag('isdefault') ?? false));
  const of = (fields: AnswerFields, name: string, type: NodeAddressType) =>
    fields.optionalText(name) === undefined ? [] : [{ type, address: addressIn(fields, name) }];
  return distinctAddresses([
    { type: 'Hostname', address: vm.text('name') },
    ...nics.flatMap((nic) => ['ipaddress', 'ip6address'].flatMap((name) => of(nic, name, 'InternalIP'))),
    ...of(vm, 'publicip', 'ExternalIP'),
  ]);
}
