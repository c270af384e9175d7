import { isCloudError } from '../../../../common/cloud-error.ts';
import { cloudstack } from '../../../../common/provider-id/cloudstack.ts';
import type { Found, Kind, WriteIo } from '../../../engine/resource.ts';
import { memberChanges } from '../../member-changes.ts';
import { isRefusedInJob } from '../fault.ts';
import { kindNames, type Members } from './found.ts';
import type { Project } from './project.ts';

export interface MembersSpec extends Members {
  readonly network: string;
}

/** Of VMs that cannot be members any more. */
const goneStates: ReadonlySet<string> = new Set(['Destroyed', 'Expunging', 'Error']);

/** The VMs of one rule: all that come are assigned in one call, and all that go are removed in one. */
export function membersKind({ change, changed, list }: Project): Kind<MembersSpec, Members> {
  async function assign(rule: string, { ids, network }: MembersSpec, io: WriteIo) {
    try {
      // VMs are checked by the job, whose error names none.
      await changed('assignToLoadBalancerRule', { id: rule, virtualmachineids: ids }, io);
    } catch (error) {
      throw await refused(error, ids, network, io);
    }
  }
  /** The same error about the VMs that cannot be members, where it is these that the cloud does not take. */
  async function refused(
    error: unknown,
    ids: readonly string[],
    network: string,
    { signal }: WriteIo,
  ): Promise<unknown> {
    if (!isCloudError(error) || !(['Invalid', 'NotFound'].includes(error.kind) || isRefusedInJob(error))) return error;
    const asked = { details: 'nics' };
    const all = await list('listVirtualMachines', 'virtualmachine', asked, { urgency: 'change', signal });
    const good = all.filter((vm) => {
      const isIn = vm.objects('nic').some((nic) => nic.optionalText('networkid') === network);
      return isIn && !goneStates.has(vm.text('state'));
    });
    const goodIds = new Set(good.map((vm) => vm.text('id').toLowerCase()));
    const subjects = ids.filter((id) => !goodIds.has(id)).map((id) => cloudstack.print({ instanceId: id }));
    if (subjects.length === 0) return error;
    return error.with({ kind: 'Invalid', subjects });
  }

  return {
    kind: kindNames.members,
    within: kindNames.rule,
    retryCreate: 'atOnce',
    compare({ body }, spec) {
      const [added, removed] = [minus(spec.ids, body.ids), minus(body.ids, spec.ids)];
      const change = (does: 'assign' | 'remove') => (ids: readonly string[], at: number) => {
        const body: MembersSpec = { ids, network: spec.network };
        return { what: `${does} ${at}`, summary: `${does} ${ids.length} VMs`, body };
      };
      const difference = { added, removed, count: body.ids.length };
      const changes = memberChanges(difference, change('assign'), change('remove'));
      return changes.length === 0 ? { same: true } : { changes };
    },
    async create({ key, spec }, _inside, io) {
      const { owner, within } = io;
      await assign(within!, spec, io);
      return { found: [foundMembers({ id: within!, key, owner }, spec.ids)] };
    },
    async update(found, { phase, body }, io) {
      const { id, body: before } = found;
      const spec = body as MembersSpec;
      if (phase === 'grow') {
        await assign(id, spec, io);
        return { found: [{ ...found, body: { ids: [...minus(before.ids, spec.ids), ...spec.ids] } }] };
      }
      const answer = await change('removeFromLoadBalancerRule', { id, virtualmachineids: spec.ids }, io);
      return { ...answer, found: [{ ...found, body: { ids: minus(before.ids, spec.ids) } }] };
    },
  };
}

/** All of one rule, whose id they have. */
export function foundMembers(
  { id, key, owner }: Pick<Found, 'id' | 'key' | 'owner'>,
  ids: readonly string[],
): Found<Members> {
  return {
    kind: kindNames.members,
    id,
    within: id,
    status: 'ready',
    ...(key !== undefined && { key }),
    ...(owner !== undefined && { owner }),
    body: { ids },
  };
}

function minus(some: readonly string[], others: readonly string[]): readonly string[] {
  return some.filter((one) => !others.includes(one));
}
