import { CloudError, isCloudError } from '../../../common/cloud-error.ts';
import type { Found } from '../../engine/resource.ts';
import type { AnswerFields } from '../answer-fields.ts';
import type { Reading } from '../list-reader.ts';
import type { Owner } from '../load-balancers.ts';
import { chunks, inParallel } from '../parallel.ts';
import type { AlibabaClient } from './client.ts';
import { cloud, codeOf } from './fault.ts';

/** The calls about one type of load balancers. Lists are complete, or throw. @param ids undefined: all of the region */
export interface BalancerCalls {
  readonly product: 'slb' | 'nlb';
  /** Action that proves that there is none of that id. */
  readonly attribute: string;
  /** The most that one call takes. */
  readonly idsAtOnce: number;
  /** Role of references from listeners to what has tags of its own. */
  readonly proof: string;
  balancers(ids: readonly string[] | undefined, reading: Reading): Promise<readonly Found[]>;
  listeners(ids: readonly string[] | undefined, reading: Reading): Promise<readonly AnswerFields[]>;
  /** @param owner of its load balancer */
  foundListener(fields: AnswerFields, owner: Owner | undefined): Found;
}

export const callsAtOnce = 4;
/** Servers are read again after this time, or when an answer of our own has not shown them. */
export const serversMaxAgeMs = 15 * 60_000;

/** Load balancers with their listeners. Complete, or throws. @param ids undefined: all of the region */
export async function readBalancers(
  client: AlibabaClient,
  calls: BalancerCalls,
  ids: readonly string[] | undefined,
  reading: Reading,
): Promise<Found[]> {
  const some = ids === undefined ? [undefined] : chunks(ids, calls.idsAtOnce);
  const found = await inParallel(callsAtOnce, some, async (asked): Promise<Found[]> => {
    const balancers = await calls.balancers(asked, reading);
    const byId = new Map(balancers.map((one) => [one.id, one]));
    for (const id of asked ?? []) if (!byId.has(id)) await proveGone(client, calls, id, reading);
    const listed = byId.size === 0 ? [] : await calls.listeners(asked && [...byId.keys()], reading);
    const listeners = listed
      .map((one) => calls.foundListener(one, byId.get(one.text('LoadBalancerId'))?.owner))
      .filter(({ within = '' }) => byId.has(within));
    // What is ours and used by it proves whose it is when its own tags are gone.
    const proofsOf = (id: string) => {
      const refs = listeners.flatMap((one) => (one.within === id ? (one.refs ?? []) : []));
      return refs.filter(({ role }) => role === calls.proof).map((ref) => ({ ...ref, loose: true as const }));
    };
    return [...balancers.map((one) => ({ ...one, refs: proofsOf(one.id) })), ...listeners];
  });
  return found.flat();
}

/**
 * Proves of a load balancer which a list left out that it does not exist: a policy may hide it from lists. Throws where
 * it exists, or where the answer says neither.
 */
async function proveGone(
  client: AlibabaClient,
  { product, attribute: action }: BalancerCalls,
  id: string,
  reading: Reading,
): Promise<void> {
  try {
    await client.call({ product, action, params: { LoadBalancerId: id }, ...reading });
  } catch (error) {
    // Not what is said of an action or a role that is not there.
    if (isCloudError(error) && error.kind === 'NotFound' && /LoadBalancer/i.test(codeOf(error))) return;
    throw error;
  }
  const message = `${id} exists, and the list for that very id does not show it`;
  throw new CloudError({ kind: 'Unavailable', cloud, operation: action, message });
}
