import type { Driver } from '../engine/driver.ts';
import type { Found, ReadIo } from '../engine/resource.ts';
import type {
  AdoptionProof,
  DesiredLoadBalancer,
  Ingress,
  LoadBalancerRef,
  LoadBalancers,
  ObservedMember,
} from './load-balancers.ts';

/** The input of `desire`: the desired load balancer of one Service, and the found resources. */
export interface DesireInput {
  readonly desired: DesiredLoadBalancer;
  /** Every resource of that kind that the readers found, of any owner. */
  found(kind: string): readonly Found[];
  get(kind: string, id: string): Found | undefined;
  /** The found resource that holds that slot, of any owner. */
  holderOf(slot: string): Found | undefined;
  /** The found resources of this Service: by their marks, by its record, or because it takes them over. */
  own(): readonly Found[];
}

/** The parts of a load balancer that the status and messages show. */
export interface ShownLoadBalancer {
  readonly name: string;
  /** Empty until an address is certain. */
  readonly ingress: readonly Ingress[];
  /** Milliseconds since 1970; undefined where the cloud does not tell. */
  readonly createdAtMs?: number | undefined;
  /** `namespace/name` as it was tagged. */
  readonly service?: string | undefined;
}

/** The Service that takes over resources of the classic controller, its proof, and what the readers found. */
export type AdoptionInput = Pick<LoadBalancerRef, 'owner' | 'service' | 'name' | 'id'> &
  Pick<DesireInput, 'found'> & { readonly proof: AdoptionProof };

type Facts = Pick<LoadBalancers, 'annotations' | 'maxMembers' | 'drains'> &
  Partial<Pick<LoadBalancers, 'annotationPrefixes' | 'classicFinalizers' | 'nodeLabels' | 'takesPods'>>;

/**
 * The load balancers of one cloud, as resources: the engine makes them what Services ask for. `desire` and the
 * functions here are called without a read before: what they need besides annotations and members, the readers have to
 * show, or read before they answer. A refusal of `desire` keeps what it is about as it is by a want with
 * `leaveUnchanged`.
 */
export interface LoadBalancerDriver extends Driver<DesireInput>, Facts {
  /** The kind of the load balancers themselves. A Service's own has the key `main`. */
  readonly main: string;
  /**
   * Before the first read of everything in a term of this leader. Another process may have led before, so that nothing
   * that is not read now is known.
   */
  startTerm?(): void;
  /** Slots that a search for one Service asks for: names in the way, addresses that it names. May be none. */
  slots(ref: LoadBalancerRef): readonly string[];
  /**
   * From the cloud alone: right after a restart nothing of the Service is known. What only an annotation says (a
   * hostname in place of addresses) has to be kept with the marks.
   *
   * @param parts of this Service, the load balancer itself included where it is its own
   * @param found as in `DesireInput`
   */
  show(main: Found, parts: readonly Found[], found: DesireInput['found']): ShownLoadBalancer;
  /** The same array for equal lists of many load balancers saves much work. */
  members(parts: readonly Found[]): readonly ObservedMember[];
  /** As `podIds` of LoadBalancers, where `takesPods` may hold. */
  podIds?(addresses: readonly string[], io: ReadIo): Promise<ReadonlyMap<string, string>>;
  /** The Service's key of a resource of the classic controller, proved by the resource's marks and addresses. Pure. */
  adopts?(found: Found, input: AdoptionInput): string | undefined;
}
