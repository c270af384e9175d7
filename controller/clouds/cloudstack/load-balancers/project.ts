import { CloudError, isCloudError } from '../../../../common/cloud-error.ts';
import type { Clock } from '../../../../common/process/clock.ts';
import { restOrAbort } from '../../../../common/process/until.ts';
import type { Answer, WriteIo } from '../../../engine/resource.ts';
import type { AnswerFields } from '../../answer-fields.ts';
import type { Owner } from '../../load-balancers.ts';
import type { CallOptions, CloudStackClient, Params } from '../client.ts';
import type { CloudStackConfig } from '../config.ts';
import { cloud, isNoEntity } from '../fault.ts';
import { scopeOf } from '../vms.ts';
import { type Acquired, isInUse, type Network, readNetwork, tagsIn } from './found.ts';

type Io = Pick<WriteIo, 'permit' | 'signal'>;

/** What all kinds of one account or project work with. */
export interface Project {
  readonly client: CloudStackClient;
  /** Params of each list, and of what is acquired. */
  readonly scope: Params;
  readonly project: string | undefined;
  /** Complete, and none where what an id names does not exist. Reads only. */
  list(command: string, collection: string, params: Params, options?: CallOptions): Promise<readonly AnswerFields[]>;
  /** The command, whose effect is complete when its job has ended. */
  change(command: string, params: Params, io: Io): Promise<Pick<Answer, 'id' | 'operation'>>;
  /** The same, and waits for the end of the job. Throws what it ended with, and `Timeout` after two minutes. */
  changed(command: string, params: Params, io: Io): Promise<void>;
  /** The network of these VMs. Throws `Invalid` where there is not one, or it has no load balancers. Reads only. */
  networkOf(vms: readonly string[], signal: AbortSignal | undefined): Promise<Network>;
  /** As the latest read has it. */
  network(id: string | undefined): Network | undefined;
  noteNetworks(networks: readonly AnswerFields[]): void;
  /** Ids of the VMs of a rule. Reads only. */
  members(rule: string, signal: AbortSignal | undefined): Promise<readonly string[]>;
  readonly acquisitions: Acquisitions;
  /**
   * UIDs of Services that name an address of others in their spec: what they have without tags is not released, because
   * they may have named another one before.
   */
  readonly named: Set<string>;
}

/** Addresses that this process has acquired: tags come by a call of their own. */
export interface Acquisitions {
  made(id: string, acquired: Acquired): void;
  /**
   * The answer was lost.
   *
   * @param before ids of the addresses that there were
   * @param ip that was asked for, if one was
   */
  lost(acquired: Acquired, before: ReadonlySet<string>, ip: string | undefined): void;
  hasLost(owner: Owner): boolean;
  /** Whom this address was acquired for; undefined where it has tags or rules by now. */
  of(address: AnswerFields, isIdle: boolean): Acquired | undefined;
}

/** From a lost acquisition to the time that its address shows: the call, and the difference of the clocks. */
const lostMs = 60_000;
/** An outage may hide it for so long. */
const searchedMs = 3_600_000;
const pollMs = 1000;
const longestJobMs = 120_000;

export function createProject(
  client: CloudStackClient,
  config: Pick<CloudStackConfig, 'project'>,
  clock: Clock,
): Project {
  const scope = scopeOf(config);
  const networks = new Map<string, Network>();

  async function list(command: string, collection: string, params: Params, options?: CallOptions) {
    try {
      return await client.list(command, collection, { ...scope, ...params }, options);
    } catch (error) {
      if (Object.keys(params).some((name) => isNoEntity(error, name))) return [];
      throw error;
    }
  }
  async function change(command: string, params: Params, { permit, signal }: Io) {
    const { job, id } = await client.start(command, params, { permit, signal });
    return { ...(id !== undefined && { id }), operation: job };
  }
  function noteNetworks(found: readonly AnswerFields[]): void {
    for (const network of found.map(readNetwork)) networks.set(network.id, network);
  }

  return {
    ...{
      client,
      scope,
      project: config.project,
      list,
      change,
      noteNetworks,
      acquisitions: createAcquisitions(clock, (id) => networks.get(id)?.vpc),
      named: new Set(),
    },
    async members(rule, signal) {
      const command = 'listLoadBalancerRuleInstances';
      const found = await client.list(command, 'loadbalancerruleinstance', { id: rule }, { signal });
      return found.map((vm) => vm.text('id').toLowerCase());
    },
    network: (id) => (id === undefined ? undefined : networks.get(id)),
    async changed(command, params, io) {
      const { operation } = await change(command, params, io);
      const startedAt = clock.monotonic();
      for (;;) {
        await restOrAbort(clock, pollMs, io.signal);
        const state = (await client.jobs([operation], io.signal)).get(operation) ?? 'done';
        if (state === 'done') return;
        if (state !== 'running') throw state;
        if (clock.monotonic() - startedAt < longestJobMs) continue;
        const message = `job ${operation} runs for more than ${longestJobMs / 1000} s`;
        throw new CloudError({ kind: 'Timeout', cloud, operation: command, message });
      }
    },
    async networkOf(vms, signal) {
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
      const found = await list('listNetworks', 'network', { id }, { urgency: 'change', signal });
      noteNetworks(found);
      const network = networks.get(id);
      if (network === undefined) throw wrong(`network ${id} of the nodes is not shown`);
      if (network.services.includes('Lb')) return network;
      throw wrong(noBalancing(network));
    },
  };
}

export function noBalancing({ name, id }: Network): string {
  return `the offering of network ${name} (${id}) has no load balancing, expected one with the service Lb`;
}

interface LostTry {
  readonly by: Acquired;
  readonly before: ReadonlySet<string>;
  readonly ip: string | undefined;
  /** Unix time. */
  readonly atMs: number;
}

function createAcquisitions(clock: Clock, vpcOf: (network: string) => string | undefined): Acquisitions {
  const acquired = new Map<string, Acquired>();
  let tries: readonly LostTry[] = [];

  /** It was not there before the try, came with it, and is for the same network. */
  function isOf({ by, before, ip, atMs }: LostTry, address: AnswerFields): boolean {
    if (before.has(address.text('id')) || (ip !== undefined && ip !== address.text('ipaddress'))) return false;
    const network = address.optionalText('associatednetworkid');
    const isThere =
      network === undefined ? address.optionalText('vpcid') === vpcOf(by.network) : network === by.network;
    const allocatedAtMs = Date.parse(address.optionalText('allocated') ?? '');
    return isThere && Math.abs(allocatedAtMs - atMs) <= lostMs;
  }

  return {
    made: (id, by) => void acquired.set(id, by),
    lost(by, before, ip) {
      const atMs = clock.now();
      tries = [...tries.filter((one) => atMs - one.atMs < searchedMs), { by, before, ip, atMs }];
    },
    hasLost: ({ service }) => tries.some(({ by }) => by.owner.service === service),
    of(address, isIdle) {
      const id = address.text('id');
      if (!isIdle || Object.keys(tagsIn(address)).length > 0 || isInUse(address)) {
        // It shows itself whose it is. Released, it comes back under the same id when others acquire it.
        acquired.delete(id);
        return undefined;
      }
      const known = acquired.get(id);
      const found = known === undefined ? tries.find((one) => isOf(one, address)) : undefined;
      if (found === undefined) return known;
      tries = tries.filter((one) => one !== found);
      acquired.set(id, found.by);
      return found.by;
    },
  };
}

/** Whether the outcome of a call is not known. */
export function isLostCall(error: unknown): boolean {
  return isCloudError(error) && (error.kind === 'Timeout' || error.kind === 'Unavailable');
}
