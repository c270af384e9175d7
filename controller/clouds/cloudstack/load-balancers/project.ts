import { CloudError } from '../../../../common/cloud-error.ts';
import type { Clock } from '../../../../common/process/clock.ts';
import { restOrAbort } from '../../../../common/process/until.ts';
import type { Answer, WriteIo } from '../../../engine/resource.ts';
import type { AnswerFields } from '../../answer-fields.ts';
import { type CallOptions, type CloudStackClient, type Params, stateOf } from '../client.ts';
import type { CloudStackConfig } from '../config.ts';
import { cloud, isNoEntity } from '../fault.ts';
import { scopeOf } from '../vms.ts';
import { createAcquisitions } from './acquisitions.ts';
import { type Network, readNetwork } from './found.ts';

type Io = Pick<WriteIo, 'permit' | 'signal'>;

/** A job, and the id of what it makes. */
export type Begun = Pick<Answer, 'id'> & { readonly operation: string };

export type Project = ReturnType<typeof createProject>;

const pollMs = 1000;
const longestJobMs = 120_000;

/** What all kinds of one account or project work with. */
export function createProject(client: CloudStackClient, config: Pick<CloudStackConfig, 'project'>, clock: Clock) {
  const scope = scopeOf(config);
  const networks = new Map<string, Network>();

  /** Complete, and none where what an id names does not exist. Reads only. */
  async function list(
    command: string,
    collection: string,
    params: Params,
    options?: CallOptions,
  ): Promise<readonly AnswerFields[]> {
    try {
      return await client.list(command, collection, { ...scope, ...params }, options);
    } catch (error) {
      if (Object.keys(params).some((name) => isNoEntity(error, name))) return [];
      throw error;
    }
  }
  /** The command, whose effect is complete when its job has ended. */
  async function change(command: string, params: Params, { permit, signal }: Io): Promise<Begun> {
    const { job, id } = await client.start(command, params, { permit, signal });
    return { ...(id !== undefined && { id }), operation: job };
  }
  /** What the job has made, at its end. Throws what it ended with, and `Timeout` after two minutes. */
  async function resultOf(command: string, job: string, { signal }: Io) {
    const startedAt = clock.monotonic();
    for (;;) {
      await restOrAbort(clock, pollMs, signal);
      const shown = await client.job(job, signal);
      const state = shown === undefined ? 'done' : stateOf(shown);
      if (state === 'done') return shown?.optionalObject('jobresult');
      if (state !== 'running') throw state;
      if (clock.monotonic() - startedAt < longestJobMs) continue;
      const message = `job ${job} runs for more than ${longestJobMs / 1000} s`;
      throw new CloudError({ kind: 'Timeout', cloud, operation: command, message });
    }
  }
  /** Reads one network, or all. */
  async function readNetworks(id: string | undefined, options: CallOptions) {
    const found = (await list('listNetworks', 'network', { id }, options)).map(readNetwork);
    if (id === undefined) networks.clear();
    for (const network of found) networks.set(network.id, network);
    return found;
  }

  return {
    project: config.project,
    list,
    change,
    /** The same, and waits for the end of the job. Throws as `resultOf` does. */
    async changed(command: string, params: Params, io: Io): Promise<void> {
      const { operation } = await change(command, params, io);
      await resultOf(command, operation, io);
    },
    resultOf,
    readNetworks,
    /**
     * UIDs of Services that name an address of others in their spec: what they have without tags is not released,
     * because they may have named another one before.
     */
    named: new Set<string>(),
    acquisitions: createAcquisitions(clock, networks),
    /** Ids of the VMs of a rule. Reads only. */
    async members(rule: string, signal: AbortSignal | undefined): Promise<readonly string[]> {
      const command = 'listLoadBalancerRuleInstances';
      const found = await client.list(command, 'loadbalancerruleinstance', { id: rule }, { signal });
      return found.map((vm) => vm.text('id').toLowerCase());
    },
    /** As the API shows what makes a rule sticky. Reads only. */
    async policies(rule: string, signal: AbortSignal | undefined): Promise<readonly AnswerFields[]> {
      // One item for the rule, which has no id of its own: no pages.
      const answer = await client.call('listLBStickinessPolicies', { lbruleid: rule }, { signal });
      return answer.optionalObjects('stickinesspolicies');
    },
    /** As the latest read has it. */
    network: (id: string | undefined): Network | undefined => (id === undefined ? undefined : networks.get(id)),
    /** The network of these VMs. Throws `Invalid` where there is not one, or it has no load balancers. Reads only. */
    async networkOf(vms: readonly string[], signal: AbortSignal | undefined): Promise<Network> {
      const wrong = (message: string) =>
        new CloudError({ kind: 'Invalid', cloud, operation: 'listVirtualMachines', message });
      const all = await list(
        'listVirtualMachines',
        'virtualmachine',
        { details: 'nics' },
        { urgency: 'change', signal },
      );
      const members = all.filter((vm) => vms.includes(vm.text('id').toLowerCase()));
      const ids = new Set(members.flatMap((vm) => vm.objects('nic')[0]?.optionalText('networkid') ?? []));
      const [id, ...others] = ids;
      if (id === undefined) throw wrong('none of the nodes is a VM with a network');
      if (others.length > 0) throw wrong(`the nodes are in networks ${[...ids].join(', ')}, expected one`);
      const known = networks.get(id);
      if (known?.services.includes('Lb')) return known;
      const [network] = await readNetworks(id, { urgency: 'change', signal });
      if (network === undefined) throw wrong(`network ${id} of the nodes is not shown`);
      if (network.services.includes('Lb')) return network;
      throw wrong(noBalancing(network));
    },
  };
}

export function noBalancing({ name, id }: Network): string {
  return `the offering of network ${name} (${id}) has no load balancing, expected one with the service Lb`;
}
