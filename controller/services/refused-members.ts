import type { CloudError } from '../../common/cloud-error.ts';
import type { DesiredMember } from '../clouds/load-balancers.ts';

/** Members of one Service that the cloud refused, by providerID: another load balancer may accept them. */
export type RefusedMembers = ReadonlyMap<string, { readonly untilMs: number; readonly why: string }>;

export interface RefusedMember {
  /** Name of the Node. */
  readonly node: string;
  /** Message of the cloud or its driver. */
  readonly why: string;
}

/** How long a refused member is left out. */
export const refusedForMs = 300_000;
export const noneRefused: RefusedMembers = new Map();

/**
 * After an answer that refuses members; undefined where none of `subjects` is one of `members`. Pure.
 *
 * @param subjects providerIDs, names of Nodes or addresses
 * @param why for people, free of credentials
 */
export function refuseMembers(
  before: RefusedMembers,
  { subjects, members, why }: RefusedAnswer,
  nowMs: number,
): RefusedMembers | undefined {
  const named = members.filter(
    ({ providerID, node, addresses }) =>
      subjects.includes(providerID) || subjects.includes(node) || addresses.some((each) => subjects.includes(each)),
  );
  if (named.length === 0) return undefined;
  const untilMs = nowMs + refusedForMs;
  return new Map([...before, ...named.map(({ providerID }) => [providerID, { untilMs, why }] as const)]);
}

interface RefusedAnswer {
  readonly subjects: readonly string[];
  readonly members: readonly DesiredMember[];
  readonly why: string;
}

/** Whether all members that take new connections are refused. Pure. */
export function refusesAll(refused: RefusedMembers, members: readonly DesiredMember[]): boolean {
  const taking = members.filter(({ draining }) => !draining);
  return taking.length > 0 && taking.every(({ providerID }) => refused.has(providerID));
}

/** The error of an answer that would empty a load balancer: it may be wrong, so all are sent again. Pure. */
export function refusedAll(cause: CloudError): CloudError {
  const why = 'it refuses all members, so that those of the load balancer stay';
  return cause.with({ message: `${cause.bareMessage}; ${why}`, subjects: [], cause });
}

/** Those that are still left out. Pure. */
export function stillRefused(before: RefusedMembers, nowMs: number): RefusedMembers {
  return before.size === 0 ? before : new Map([...before].filter(([, { untilMs }]) => untilMs > nowMs));
}

/** Separates the members that may be sent from those that are left out for now. Pure. */
export function splitMembers(
  refused: RefusedMembers,
  members: readonly DesiredMember[],
  nowMs: number,
): {
  readonly members: readonly DesiredMember[];
  readonly refused: readonly RefusedMember[];
  /** When the first of them is tried again. */
  readonly againInMs: number | undefined;
} {
  const out = members.flatMap(({ node, providerID }) => {
    const one = refused.get(providerID);
    return one === undefined ? [] : [{ node, ...one }];
  });
  if (out.length === 0) return { members, refused: [], againInMs: undefined };
  return {
    members: members.filter(({ providerID }) => !refused.has(providerID)),
    refused: out.map(({ node, why }) => ({ node, why })),
    againInMs: Math.min(...out.map(({ untilMs }) => untilMs)) - nowMs,
  };
}
