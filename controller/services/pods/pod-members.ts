import { CloudError } from '../../../common/cloud-error.ts';
import { type DesiredMember, portKey } from '../../clouds/load-balancers.ts';
import type { ServiceView } from '../../model/service-view.ts';
import { annotationsFor } from '../desired.ts';
import type { RefusedMember } from '../refused-members.ts';
import type { ServingCloud } from '../serving-cloud.ts';
import { type EndpointSliceView, endpointsIn } from './endpoint-slice.ts';

/** What the cloud has answered for the pods of one Service, by address and UID. */
export type PodIds = ReadonlyMap<string, { readonly id: string | undefined; readonly untilMs: number }>;

/** The pods of one Service as its members. */
export interface PodMembers {
  /** Sorted by address. Those that the cloud does not know have no providerID. */
  readonly members: readonly DesiredMember[];
  /** Those that the cloud does not know. */
  readonly unknown: readonly RefusedMember[];
  /** When these are looked up again. */
  readonly againInMs: number | undefined;
  /** For the next question. */
  readonly ids: PodIds;
}

export interface PodQuestion {
  readonly service: ServiceView;
  readonly cloud: ServingCloud;
  readonly slices: readonly EndpointSliceView[];
  /** From the last answer for this Service. */
  readonly ids: PodIds | undefined;
  /** Monotonic milliseconds. */
  readonly nowMs: number;
}

/** How long a pod that the cloud does not know is left out, before it is looked up again. */
const unknownForMs = 30_000;
const why = 'the cloud knows no such address in its network';

/** Whether pods are the members of this Service, and no Nodes. Pure. */
export function takesPods(service: ServiceView, cloud: ServingCloud): boolean {
  return cloud.loadBalancers.takesPods(annotationsFor(service, cloud));
}

/** Looks up the pods that are new. Throws a CloudError, also where the cloud knows not one of them. */
export async function podMembersOf(
  { service, cloud, slices, ids, nowMs }: PodQuestion,
  signal: AbortSignal,
): Promise<PodMembers> {
  const pods = readyPods(service, slices);
  const keyOf = (address: string, { pod }: Pod) => `${address} ${pod}`;
  const news = [...pods].filter(([address, pod]) => {
    const known = ids?.get(keyOf(address, pod));
    return known === undefined || known.untilMs <= nowMs;
  });
  const addresses = news.map(([address]) => address);
  const found = addresses.length === 0 ? undefined : await cloud.loadBalancers.podIds(addresses, signal);
  const next = new Map(ids);
  for (const [address, pod] of news) {
    const id = found?.get(address);
    next.set(keyOf(address, pod), { id, untilMs: id === undefined ? nowMs + unknownForMs : Number.POSITIVE_INFINITY });
  }
  const members: DesiredMember[] = [];
  const unknown: RefusedMember[] = [];
  for (const [address, pod] of pods) {
    const { id = '' } = next.get(keyOf(address, pod))!;
    if (id === '') unknown.push({ node: address, why });
    members.push({
      node: address,
      providerID: id,
      addresses: [address],
      zone: '',
      draining: false,
      ports: pod.ports,
    });
  }
  if (members.length > 0 && members.length === unknown.length) throw noneKnown(cloud, unknown);
  const kept = new Set([...pods].map(([address, pod]) => keyOf(address, pod)));
  return {
    members,
    unknown,
    againInMs: unknown.length === 0 ? undefined : unknownForMs,
    ids: new Map([...next].filter(([key]) => kept.has(key))),
  };
}

interface Pod {
  readonly pod: string;
  readonly ports: Readonly<Record<string, number>>;
}

/** By address, sorted. A pod is in several slices where its ports differ from those of others. */
function readyPods({ ports }: ServiceView, slices: readonly EndpointSliceView[]): ReadonlyMap<string, Pod> {
  const pods = new Map<string, Pod>();
  for (const slice of slices.toSorted((a, b) => (a.key < b.key ? -1 : 1))) {
    const served = Object.fromEntries(
      ports.flatMap((port) => {
        const target = slice.ports.get(`${port.name} ${port.protocol}`);
        return target === undefined ? [] : [[portKey(port), target] as const];
      }),
    );
    for (const { address, pod } of endpointsIn(slice))
      pods.set(address, { pod, ports: pods.has(address) ? { ...pods.get(address)!.ports, ...served } : served });
  }
  return new Map([...pods].toSorted(([a], [b]) => (a < b ? -1 : 1)));
}

/** Total absence is not believed: the pods may have addresses of an overlay, which the cloud cannot reach. */
function noneKnown({ name }: ServingCloud, unknown: readonly RefusedMember[]): CloudError {
  const shown = unknown.slice(0, 5).map(({ node }) => node);
  const more = unknown.length > 5 ? ` and ${unknown.length - 5} more` : '';
  const message = `${shown.join(', ')}${more}: ${why}, so that no pod can be a member; the members stay as they are`;
  return new CloudError({ kind: 'NotFound', cloud: name, operation: 'look up pods', message });
}
