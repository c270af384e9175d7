import type { Clock } from '../../../../common/process/clock.ts';
import type { Found } from '../../../engine/resource.ts';
import type { AnswerFields } from '../../answer-fields.ts';
import type { Owner } from '../../load-balancers.ts';
import { type Acquired, acquisitionId, isInUse, kindNames, type Network, tagsIn } from './found.ts';
import { ownerOf } from './marks.ts';

/**
 * As a tag of the network tells it: an address cannot be acquired with tags, and a process may end before it has any.
 */
interface Acquisition extends Acquired {
  /** Unix time. */
  readonly atMs: number;
  /** First digits of the ids of addresses that came shortly before it. */
  readonly before: readonly string[];
}

export interface AcquisitionBody extends Acquired {
  /** An address that comes now would not be told to be of it. */
  readonly isOld: boolean;
}

/** From the announcement to the time that the address shows: the call, and the difference of the clocks. */
const aroundMs = 60_000;
export const acquisitionPrefix = 'mooring.dev/acquiring-';
/** Another address comes within some seconds of its announcement, or there is another one. */
const oldMs = aroundMs / 2;
const idDigits = 8;
/** A value has 255 characters. More addresses than these in one minute: none is taken for ours. */
const mostBefore = 20;

/** The addresses that were acquired and have no tags yet, also by processes that have ended. */
export function createAcquisitions(clock: Clock, networks: Map<string, Network>) {
  const acquired = new Map<string, Acquired>();
  const announced = () => [...networks.values()].flatMap(acquisitionsIn);

  /** It came with the announcement, for the same network. */
  function isOf({ network, atMs, before }: Acquisition, address: AnswerFields): boolean {
    if (before.includes(address.text('id').slice(0, idDigits)) || before.length >= mostBefore) return false;
    const at = address.optionalText('associatednetworkid');
    const isThere = at === undefined ? address.optionalText('vpcid') === networks.get(network)?.vpc : at === network;
    return isThere && Math.abs(allocatedAtMs(address) - atMs) <= aroundMs;
  }
  return {
    /** What was written to the network: another address is to come, or (undefined) the last one has its tags. */
    note({ owner: { service }, network }: Acquired, value: string | undefined): void {
      for (const [id, by] of acquired) if (by.owner.service === service) acquired.delete(id);
      const known = networks.get(network);
      if (known === undefined) return;
      const { [acquisitionPrefix + service]: _before, ...others } = known.tags;
      networks.set(network, {
        ...known,
        tags: { ...others, ...(value !== undefined && { [acquisitionPrefix + service]: value }) },
      });
    },
    /** What the tag says: the cluster, the time, and which of these addresses came shortly before it. */
    announcement(owner: Owner, there: readonly AnswerFields[]): string {
      const atMs = Math.round(clock.now());
      const isOwn = (tagged: Owner | undefined) => tagged === undefined || tagged.service === owner.service;
      const before = there
        .filter((one) => Math.abs(allocatedAtMs(one) - atMs) <= 2 * aroundMs && isOwn(ownerOf(tagsIn(one))))
        .map((one) => one.text('id').slice(0, idDigits));
      return `${owner.cluster} ${atMs} ${before.slice(0, mostBefore).join(',')}`;
    },
    made: (id: string, by: Acquired) => void acquired.set(id, by),
    /** Whom each of these addresses was acquired for: of those alone that have neither tags nor rules, by id. */
    match(addresses: readonly AnswerFields[], hasRules: (id: string) => boolean): ReadonlyMap<string, Acquired> {
      const isDone = (one: Acquisition) =>
        addresses.some((address) => ownerOf(tagsIn(address))?.service === one.owner.service && isOf(one, address));
      const open = announced().filter((one) => !isDone(one));
      const matched = new Map<string, Acquired>();
      for (const address of addresses) {
        const id = address.text('id');
        if (hasRules(id) || Object.keys(tagsIn(address)).length > 0 || isInUse(address)) {
          // It shows itself whose it is. Released, it comes back under the same id when others acquire it.
          acquired.delete(id);
          continue;
        }
        const served = new Set([...acquired.values()].map(({ owner }) => owner.service));
        const by = acquired.get(id) ?? open.find((one) => isOf(one, address) && !served.has(one.owner.service));
        if (by === undefined) continue;
        acquired.set(id, by);
        matched.set(id, by);
      }
      return matched;
    },
    /** As resources, which the engine removes once the address has tags. */
    found: (): readonly Found<AcquisitionBody>[] =>
      announced().map(({ owner, network, atMs }) => ({
        kind: kindNames.acquisition,
        id: acquisitionId({ owner, network }),
        owner,
        key: 'main',
        status: 'ready',
        body: {
          owner,
          network,
          get isOld() {
            return clock.now() - atMs > oldMs;
          },
        },
      })),
  };
}

function acquisitionsIn({ id: network, tags }: Network): Acquisition[] {
  return Object.entries(tags).flatMap(([key, value]) => {
    const [, cluster, at, before = ''] = /^([\w-]+) (\d+) ?([\da-f,]*)$/.exec(value) ?? [];
    if (!key.startsWith(acquisitionPrefix) || cluster === undefined) return [];
    const owner = { cluster, service: key.slice(acquisitionPrefix.length) };
    return [{ owner, network, atMs: Number(at), before: before === '' ? [] : before.split(',') }];
  });
}

function allocatedAtMs(address: AnswerFields): number {
  return Date.parse(address.optionalText('allocated') ?? '');
}
