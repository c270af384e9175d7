import type { CloudRecord, LoadBalancerStep } from './load-balancer-step.ts';
import type { ApplyOptions } from './permit.ts';

/** The owner of a cloud resource, as its tags say. A display name proves nothing. */
export interface Owner {
  /** UID of the namespace kube-system. */
  readonly cluster: string;
  /** UID of the Service. */
  readonly service: string;
}

export type Protocol = 'TCP' | 'UDP' | 'SCTP';
export type IpFamily = 'IPv4' | 'IPv6';

export interface DesiredPort {
  /** Empty where the Service has a single port without a name. */
  readonly name: string;
  readonly protocol: Protocol;
  readonly port: number;
  /** 0 where the Service has none (`allocateLoadBalancerNodePorts: false`). */
  readonly nodePort: number;
  /** A number or the name of a port of the pods, as the Service says it. Undefined: `port`. */
  readonly targetPort?: string | undefined;
  readonly appProtocol: string | undefined;
}

export interface DesiredMember {
  /** Name of the Node; of a pod its address. */
  readonly node: string;
  /** Of a pod what `podIds` answers for it. Empty: nothing; it stays where it is a member already, and is not added. */
  readonly providerID: string;
  /**
   * Internal addresses of the Node, or its external ones where it has no others, in its order. Empty: only the
   * providerID is known (`node` may be empty, too). Such a member stays if it exists, but is not added.
   */
  readonly addresses: readonly string[];
  /** Empty when unknown. */
  readonly zone: string;
  /** Takes no new connections and will be removed. */
  readonly draining: boolean;
  /**
   * Of a pod: its port for each port of the Service, by `portKey`. One that is missing in all members is not known yet.
   */
  readonly ports?: Readonly<Record<string, number>>;
}

/** Tells the ports of one Service apart. */
export function portKey({ protocol, port }: Pick<DesiredPort, 'protocol' | 'port'>): string {
  return `${protocol}/${port}`;
}

/** A label that a Node has to carry. */
export interface NodeLabel {
  readonly key: string;
  /** Undefined = with any value, or one of `values`. */
  readonly value: string | undefined;
  /** Beside an undefined `value`: it carries one of these. */
  readonly values?: readonly string[] | undefined;
  /** It must not carry it so: neither that value, nor one of those, nor, where there are none, the label at all. */
  readonly not?: true;
}

/** The desired load balancer of a Service: validated, complete, and free of Kubernetes types. */
export interface DesiredLoadBalancer {
  readonly owner: Owner;
  /** `namespace/name`, for descriptions that people read. */
  readonly service: string;
  /** `--cluster-name`. */
  readonly clusterName: string;
  /**
   * Upstream's default name: `a` and the Service's UID without dashes, 32 characters. A cloud with its own naming
   * scheme derives the name from `owner`, `service` and `clusterName`.
   */
  readonly name: string;
  readonly ports: readonly DesiredPort[];
  readonly families: readonly IpFamily[];
  /** Normalised CIDRs, sorted, without duplicates; empty: unrestricted. */
  readonly sourceRanges: readonly string[];
  /** Beside empty `sourceRanges`: the Service says 0.0.0.0/0, not nothing. Default: false. */
  readonly asksForEverybody?: boolean;
  readonly sessionAffinity: { readonly timeoutSeconds: number } | undefined;
  readonly trafficPolicy: 'Cluster' | 'Local';
  /** HTTP on every member. */
  readonly healthCheck: { readonly port: number; readonly path: string };
  /** `spec.loadBalancerIP`. */
  readonly address: string | undefined;
  /** `spec.loadBalancerClass`: one of those that are ours. Undefined: none. It never changes. */
  readonly loadBalancerClass?: string | undefined;
  /** The Service's annotations, only those that this cloud lists in `annotations`. */
  readonly annotations: Readonly<Record<string, string>>;
  /** The complete desired set. */
  readonly members: readonly DesiredMember[];
  /** False in `declare`: `members` is empty and says nothing. Default: true. */
  readonly areMembersKnown?: boolean;
  /** The members are pods, by `takesPods`: those that are ready now, which may be none. */
  readonly ofPods?: boolean;
  /**
   * Use this existing load balancer instead of creating one. `allowed`: the operator's allow-list has it for this
   * Service; otherwise its consent tag must name the Service or its namespace (`accessTo`).
   */
  readonly attach: { readonly id: string; readonly allowed: boolean } | undefined;
  /** `--allow-cluster-wide-attach`: a consent tag with the cluster alone is enough. */
  readonly clusterWideConsent: boolean;
  /** A person has consented to a change of the address. */
  readonly mayChangeAddress: boolean;
  /** The load balancer stays when the Service is deleted. */
  readonly retain: boolean;
  /** The operator allows that an annotation of the cloud's classic controller retains the address alone. */
  readonly mayKeepAddress: boolean;
  /** The record on the Service; undefined = nothing was created for it yet. */
  readonly record?: CloudRecord | undefined;
}

/** One entry of `status.loadBalancer.ingress`. */
export interface Ingress {
  readonly ip?: string;
  readonly hostname?: string;
  /**
   * `Proxy` where the load balancer ends connections (PROXY protocol, TLS), so that traffic inside the cluster does not
   * skip it.
   */
  readonly ipMode?: 'VIP' | 'Proxy';
}

export interface ObservedMember {
  readonly providerID: string;
  readonly draining: boolean;
  /** Undefined where the cloud does not report it, or not yet. */
  readonly healthy: boolean | undefined;
}

/** All cloud resources of one Service. Clouds add the fields that their own planning needs. */
export interface ObservedLoadBalancer {
  /** Undefined while only side resources (an address, a security group) exist. */
  readonly id: string | undefined;
  readonly name: string;
  /**
   * By the tags, if any part of it is ours; undefined for a foreign one (referred to by a person, or with the desired
   * name).
   */
  readonly owner: Owner | undefined;
  /** `provisioning` and `deleting`: a cloud operation is in progress, during which the cloud may refuse changes. */
  readonly state: 'active' | 'provisioning' | 'failed' | 'deleting';
  /** Empty until the address is final. */
  readonly ingress: readonly Ingress[];
  /**
   * Only our members: foreign targets would count as members of deleted Nodes. Share one array between load balancers
   * with equal members, which saves much work.
   */
  readonly members: readonly ObservedMember[];
  /** Not created by us; only the parts with our tags are ours. */
  readonly attached: boolean;
  /**
   * Adopted: `owner` is the Service although our tags are missing. They are added with the first change that is needed
   * anyway.
   */
  readonly adopted?: boolean;
  /** Retained on purpose when its Service was deleted, so not an orphan. */
  readonly retained: boolean;
  /** Milliseconds since 1970; undefined where the cloud does not report it. */
  readonly createdAtMs: number | undefined;
  /** `namespace/name` as it was tagged, for people. */
  readonly service: string | undefined;
  /** Notes to store with the Service; undefined = none, or not known here. */
  readonly notes?: string;
}

/** A part of the desired state that is refused, and why. The rest of the plan is executed. */
export interface Refusal {
  /**
   * - `ForeignLoadBalancer`: it is not provably ours, and nothing gives consent
   * - `AddressWouldChange`: without consent, the address stays
   * - `Unsupported`: this cloud cannot do it; `message` names the field or annotation, the value and what is possible
   * - `Conflict`: another Service has that port, address or name; of what is to be deleted: it holds parts of others
   * - `RetentionNotAllowed`: it asks that its address outlives it, which the operator does not allow; the rest is done
   * - `NoEffect`: the cloud accepted it several times and did not do it
   * - `ClusterWideConsent`: nothing is refused; it uses something whose consent is no longer enough for a new Service
   */
  readonly reason:
    | 'ForeignLoadBalancer'
    | 'AddressWouldChange'
    | 'Unsupported'
    | 'Conflict'
    | 'NoEffect'
    | 'RetentionNotAllowed'
    | 'ClusterWideConsent';
  readonly message: string;
  /** The ports that are not served because of it; the Service's status shows it on them. */
  readonly ports?: readonly { readonly port: number; readonly protocol: Protocol }[];
}

/** The request of a Service to its cloud. */
export interface LoadBalancerRequest {
  readonly owner: Owner;
  /** Undefined: all our resources are deleted. */
  readonly desired: DesiredLoadBalancer | undefined;
  /** With nothing desired: only our parts and tags are removed. */
  readonly retain: boolean;
}

export interface LoadBalancerPlan {
  /** The planned request, which `apply` executes. */
  readonly request: LoadBalancerRequest;
  /** In an order in which they could be executed one by one. Only the first ones are certain. */
  readonly steps: readonly LoadBalancerStep[];
  readonly refusals: readonly Refusal[];
  /** Remarks for the condition, although nothing is refused. */
  readonly remarks?: readonly string[];
  /**
   * A cloud operation is in progress: observe again after this many milliseconds. The steps, if any, are possible
   * during it.
   */
  readonly waitMs: number | undefined;
  /** What is waited for, for people. Default: nothing that has a name. */
  readonly waitsFor?: readonly string[];
  /** Of a preview: kinds of resources about which the next plan decides, once these steps are done. Default: none. */
  readonly later?: readonly string[];
}

/** Stands in the key of an annotation for each port of the Service. */
export const portPlace = '{port}';

/** An annotation on a Service that a cloud reads. */
export interface AnnotationDefinition {
  /** With `portPlace` in it: one annotation for each port. */
  readonly key: string;
  /** Accepted values, for people: `true or false`, `seconds, 1 to 3600`. */
  readonly values: string;
  readonly meaning: string;
}

/** How to find the cloud resources of one Service. */
export interface LoadBalancerRef {
  readonly owner: Owner;
  /** As in DesiredLoadBalancer. */
  readonly name: string;
  readonly service: string;
  /** The recorded id from the answer to create. A person may have changed it: only tags prove ownership. */
  readonly id: string | undefined;
  /** From the record of the Service; users can forge them. */
  readonly notes?: string | undefined;
  /** As in DesiredLoadBalancer. */
  readonly attachTo: string | undefined;
  /** `spec.loadBalancerIP`, where it is set: the existence and owner of that address are looked up, too. */
  readonly address?: string | undefined;
  /**
   * Set with `--adopt` for a Service of the cloud's classic controller, and later for one whose record says that it was
   * adopted: the resources that that controller created for it count as ours.
   */
  readonly adopt?: AdoptionProof | undefined;
  /** Everything of it is to be deleted: parts that are deleted with the load balancer need no read. */
  readonly removing?: boolean;
  /** What the Service says, all its annotations, where it still exists: which searches have to be complete for it. */
  readonly says?: Pick<DesiredLoadBalancer, 'annotations' | 'loadBalancerClass'>;
}

/**
 * What has to match before a resource with another controller's tags is adopted: the name and tags that the cloud's
 * classic controller gives to this Service of this cluster, and the address in the Service's status. Without an address
 * in the status, nothing is adopted. Our tags are added with the first change, on the load balancer itself last, when
 * all its parts have them.
 */
export interface AdoptionProof {
  /** `--cluster-name`. */
  readonly clusterName: string;
  /** IPs and hostnames of `status.loadBalancer.ingress`. */
  readonly addresses: readonly string[];
  /** All of the Service. Its user writes them: they may say which one it is, and prove nothing without an address. */
  readonly annotations?: Readonly<Record<string, string>>;
}

/** What a cloud decides about the members of a Service without its configuration: by annotations, and its cap. */
export interface MemberChoice extends Partial<Pick<LoadBalancers, 'nodeLabels' | 'takesPods' | 'maxMembers'>> {
  /** What the configuration may say of it besides, for people. */
  readonly configured?: string;
}

/**
 * The load balancers of one configured cloud, as their controller sees them: the engine with the cloud's
 * LoadBalancerDriver.
 */
export interface LoadBalancers {
  /** Other annotations never cause a reconcile. */
  readonly annotations: readonly AnnotationDefinition[];
  /**
   * Prefixes of annotations for this cloud: an annotation with such a prefix that is not in `annotations` is reported.
   */
  readonly annotationPrefixes: readonly string[];
  /**
   * Finalizers that this cloud's classic controller alone puts on the Services it serves, beside or in place of that of
   * the framework (`service.kubernetes.io/load-balancer-cleanup`). A Service with one has, or may have, a load balancer
   * of that controller; with ours they are removed once nothing is left of it in the cloud. Not those of controllers
   * that may run beside this one.
   */
  readonly classicFinalizers: readonly string[];
  /**
   * Which Nodes alone may be members, by the Service's annotations (those named in `annotations`) or the configuration:
   * those for which every one of these holds; empty = any Node. Undefined: an annotation that chooses them cannot be
   * read, and `plan` refuses it. Pure.
   */
  readonly nodeLabels: (annotations: Readonly<Record<string, string>>) => readonly NodeLabel[] | undefined;
  /**
   * Whether the ready pods of a Service are its members, and no Nodes, by its annotations (those named in
   * `annotations`) or the configuration. Pure.
   */
  readonly takesPods: (annotations: Readonly<Record<string, string>>) => boolean;
  /**
   * What these IPv4 addresses of pods are in the cloud, unique to each; an address that is missing in the answer cannot
   * be a member. Complete, or throws a CloudError. Reads only.
   */
  podIds(addresses: readonly string[], signal?: AbortSignal): Promise<ReadonlyMap<string, string>>;
  /**
   * The maximal number of members that do not drain; undefined: unlimited. Where draining ones count, too, use a lower
   * number.
   */
  readonly maxMembers: number | undefined;
  /** Whether `draining` has an effect on this cloud. */
  readonly drains: boolean;
  /** How long a search may miss a newly created resource. */
  readonly settleMs: number;
  /**
   * All load balancers of this cluster, one entry per owner, in few calls. Complete, or throws a CloudError. Reads
   * only.
   *
   * @param adoptable Services with an `adopt`: the resources that the classic controller created for them are found,
   *   too, in the same calls; those that do not match are left out
   */
  observeAll(
    cluster: string,
    signal?: AbortSignal,
    adoptable?: readonly LoadBalancerRef[],
  ): Promise<readonly ObservedLoadBalancer[]>;
  /**
   * All resources of one Service, by the recorded id and by search, including foreign ones with the desired name.
   * Undefined when there are none: proved by a read of the recorded id where there is one; a search alone proves it
   * only after `settleMs`. One with the recorded id that is not provably ours is returned without an owner. Throws a
   * CloudError. Reads only.
   */
  observe(ref: LoadBalancerRef, signal?: AbortSignal): Promise<ObservedLoadBalancer | undefined>;
  /**
   * The steps to `desired`, or to `lastDone` where all of it is refused, from everything that was read; empty when
   * nothing differs. Makes no call.
   */
  plan(desired: DesiredLoadBalancer): LoadBalancerPlan;
  /**
   * The same Service as it asked last for what could be done, with the members and consents of now: while nothing of
   * what it asks for can be done, its load balancer is that. After a restart, it is what the Service asks for without
   * one of its annotations, where that is what stands. Undefined: not known; it has no load balancer of its own; it
   * chooses other members now; or they are too many for its ports. Makes no call.
   */
  lastDone(now: DesiredLoadBalancer): DesiredLoadBalancer | undefined;
  /**
   * The steps that delete everything of this Service. With `retain`, or if it is attached, they remove only our parts
   * and tags. Empty steps and no `waitMs` when nothing of ours is left. Makes no call.
   */
  planRemoval(owner: Owner, options: { readonly retain: boolean }): LoadBalancerPlan;
  /** The plan after the reads that `apply` would make first. Changes nothing. Throws a CloudError. */
  preview(plan: LoadBalancerPlan, signal?: AbortSignal): Promise<LoadBalancerPlan>;
  /**
   * Declares the desired state of a cluster's Services, before the first reconcile and after each complete read.
   * `isComplete`: all existing Services are included; until then no shared resource shrinks. Without members.
   *
   * @param lent ids of load balancers that the operator lends: no record makes them a Service's own
   */
  declare(desired: readonly DesiredLoadBalancer[], isComplete: boolean, lent: ReadonlySet<string>): void;
  /**
   * Plans again, from newer reads where these are due, and carries out everything that is possible now, independent
   * calls side by side; reports each call by `onStep`. The caller plans again until no step is left. Idempotent:
   * repeated after a lost answer, it finds what the first try created. Returns the state after it; undefined when
   * nothing is left. Throws a CloudError (`subjects` names members that the cloud refuses) or a WithheldError; after
   * either, observe before planning again.
   */
  apply(plan: LoadBalancerPlan, options: ApplyOptions): Promise<ObservedLoadBalancer | undefined>;
}

/** Tags on every resource that is created for a Service. */
export const ownerTags = {
  cluster: 'mooring.dev/cluster',
  service: 'mooring.dev/service-uid',
  /** `namespace/name`, for people. */
  serviceName: 'mooring.dev/service',
  /**
   * On retained resources: `namespace/name` of the former Service. Only a Service of that namespace can use them again.
   */
  retained: 'mooring.dev/retained',
  /** Set by a person on a resource that Services may attach to, in the form of `consent.ts`. */
  consent: 'mooring.dev/attachable-by',
} as const;
