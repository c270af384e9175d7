import type { ApplyOptions } from './permit.ts';

/** Whose a resource of a cloud is, as its tags say. A display name never proves it. */
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
  readonly appProtocol: string | undefined;
}

export interface DesiredMember {
  /** Name of the Node. */
  readonly node: string;
  readonly providerID: string;
  /**
   * Internal addresses of the Node, or its external ones where it has no others, in its order. Empty = known by its
   * providerID alone (`node` may be empty, too): what is there of it stays, and nothing is added.
   */
  readonly addresses: readonly string[];
  /** Empty when unknown. */
  readonly zone: string;
  /** Takes no new connections and is about to leave. */
  readonly draining: boolean;
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

/** What is kept with a Service about what was made for it. */
export interface CloudRecord {
  /** Of its load balancer. */
  readonly id: string | undefined;
  /** What the cloud wants to be told after a crash, in its own words; without white space. */
  readonly notes: string | undefined;
}

/** What a Service asks of its load balancer: validated, complete, and free of Kubernetes. */
export interface DesiredLoadBalancer {
  readonly owner: Owner;
  /** `namespace/name`, for descriptions that people read. */
  readonly service: string;
  /** `--cluster-name`. */
  readonly clusterName: string;
  /** Upstream's default: `a` and the Service's UID without dashes, 32 characters. A cloud with a scheme of its own derives it from `owner`, `service` and `clusterName`. */
  readonly name: string;
  readonly ports: readonly DesiredPort[];
  readonly families: readonly IpFamily[];
  /** Normalised CIDRs, sorted, without doubles; empty = everybody. */
  readonly sourceRanges: readonly string[];
  readonly sessionAffinity: { readonly timeoutSeconds: number } | undefined;
  readonly trafficPolicy: 'Cluster' | 'Local';
  /** HTTP on every member. */
  readonly healthCheck: { readonly port: number; readonly path: string };
  /** `spec.loadBalancerIP`. */
  readonly address: string | undefined;
  /** The Service's annotations, those alone that this cloud names in `annotations`. */
  readonly annotations: Readonly<Record<string, string>>;
  /** The complete set; planned for as it stands. */
  readonly members: readonly DesiredMember[];
  /**
   * Use this one, which somebody else made, instead of making one. `allowed`: the operator's allow-list has it for this
   * Service; otherwise its consent tag must name the Service or its namespace (`accessTo`).
   */
  readonly attach: { readonly id: string; readonly allowed: boolean } | undefined;
  /** `--allow-cluster-wide-attach`: a consent tag with the cluster alone is enough. */
  readonly clusterWideConsent: boolean;
  /** A person has consented to another address. */
  readonly mayChangeAddress: boolean;
  /** When the Service goes, the load balancer stays. */
  readonly retain: boolean;
  /** The operator lets an annotation of the cloud's classic controller keep the address alone. */
  readonly mayKeepAddress: boolean;
  /** As it is kept with the Service; undefined = nothing was made for it yet. */
  readonly record?: CloudRecord | undefined;
}

/** One entry of `status.loadBalancer.ingress`. */
export interface Ingress {
  readonly ip?: string;
  readonly hostname?: string;
  /** `Proxy` where the load balancer ends connections (PROXY protocol, TLS), so that traffic inside the cluster does not skip it. */
  readonly ipMode?: 'VIP' | 'Proxy';
}

export interface ObservedMember {
  readonly providerID: string;
  readonly draining: boolean;
  /** Undefined where the cloud does not tell, or not yet. */
  readonly healthy: boolean | undefined;
}

/** Everything that one Service has in the cloud. Clouds add what their own planning needs. */
export interface ObservedLoadBalancer {
  /** Undefined while only side resources (an address, a security group) are there. */
  readonly id: string | undefined;
  readonly name: string;
  /** By the tags, once any piece of it is ours; undefined for one that is not (named by a person or in the way by its name). */
  readonly owner: Owner | undefined;
  /** `provisioning` and `deleting`: the cloud is at work, and refuses changes or not. */
  readonly state: 'active' | 'provisioning' | 'failed' | 'deleting';
  /** Empty until an address is certain. */
  readonly ingress: readonly Ingress[];
  /** Ours only: targets of others would be taken for members whose Nodes vanished. The same array for equal lists of many load balancers saves much work. */
  readonly members: readonly ObservedMember[];
  /** Made by somebody else; ours are only the parts that carry our tags. */
  readonly attached: boolean;
  /** Ours by adoption: `owner` is the Service's although it does not carry our tags. They are added together with the first change that it needs anyway. */
  readonly adopted?: boolean;
  /** Kept on purpose when its Service went; no orphan. */
  readonly retained: boolean;
  /** Milliseconds since 1970; undefined where the cloud does not tell. */
  readonly createdAtMs: number | undefined;
  /** `namespace/name` as it was tagged, for people. */
  readonly service: string | undefined;
  /** What the cloud wants kept with the Service; undefined = nothing, or it is not known here. */
  readonly notes?: string;
}

/** One mutating call to the cloud. Plain data, so that `plan` prints the very steps that `run` applies. */
export interface LoadBalancerStep {
  readonly action: 'create' | 'update' | 'delete';
  /** The cloud's own word: `load balancer`, `listener`, `pool`, `address`, ... */
  readonly resource: string;
  /** Id, or the name where there is no id yet. */
  readonly target: string;
  /** One line for people: what changes from what to what. Free of credentials. */
  readonly summary: string;
}

/** Something asked for that is not done, and why. The rest of the plan goes on. */
export interface Refusal {
  /**
   * - `ForeignLoadBalancer`: it is not provably ours, and nothing gives consent
   * - `AddressWouldChange`: without consent, the address stays
   * - `Unsupported`: this cloud cannot do it; `message` names the field or annotation, the value and what is possible
   * - `Conflict`: two Services want the same port of one load balancer
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
  /** The ports that are not served for it; they show it in the Service's status. */
  readonly ports?: readonly { readonly port: number; readonly protocol: Protocol }[];
}

export interface LoadBalancerPlan<S extends LoadBalancerStep = LoadBalancerStep> {
  /** In the order of application. Only the first is certain: after it has been applied, the plan is made anew from what came of it. */
  readonly steps: readonly S[];
  readonly refusals: readonly Refusal[];
  /** Told in the condition, although everything that is asked for is done. */
  readonly remarks?: readonly string[];
  /** The cloud is at work: observe again after this many milliseconds. Steps, if any, are possible meanwhile. */
  readonly waitMs: number | undefined;
}

/** An annotation on a Service that a cloud reads. */
export interface AnnotationDefinition {
  readonly key: string;
  /** Accepted values, for people: `true or false`, `seconds, 1 to 3600`. */
  readonly values: string;
  readonly meaning: string;
}

/** How to find what one Service has in the cloud. */
export interface LoadBalancerRef {
  readonly owner: Owner;
  /** As in DesiredLoadBalancer. */
  readonly name: string;
  readonly service: string;
  /** The id that was recorded when create answered. A person may have forged it: ownership is proved by tags alone. */
  readonly id: string | undefined;
  /** As the cloud had them kept when it made something; may be forged, too. */
  readonly notes?: string | undefined;
  /** As in DesiredLoadBalancer. */
  readonly attachTo: string | undefined;
  /** `spec.loadBalancerIP`, where it is set: whether that address is there, and whose it is, is looked up too. */
  readonly address?: string | undefined;
  /**
   * Set with `--adopt` for a Service that the cloud's classic controller has served, and from then on for one whose record says that it was taken over: what that
   * controller made for it counts as ours.
   */
  readonly adopt?: AdoptionProof | undefined;
}

/**
 * What has to agree before something that carries another controller's marks is taken over: its name and tags as the cloud's classic controller gives them to this
 * Service of this cluster, and its address as the Service's status shows it. Where a status shows none, nothing is taken over. Our tags come with the first change, on
 * the load balancer itself last: then all its parts have them.
 */
export interface AdoptionProof {
  /** `--cluster-name`. */
  readonly clusterName: string;
  /** IPs and hostnames of `status.loadBalancer.ingress`. */
  readonly addresses: readonly string[];
}

/**
 * The load balancers of one configured cloud. A cloud implements it with its own observed states and steps; the controller hands each back only to the cloud that
 * made it.
 */
export interface LoadBalancers<
  O extends ObservedLoadBalancer = ObservedLoadBalancer,
  S extends LoadBalancerStep = LoadBalancerStep,
> {
  /** Other annotations never cause a reconcile. */
  readonly annotations: readonly AnnotationDefinition[];
  /** How annotations begin that are meant for this cloud: others than those in `annotations` are told. */
  readonly annotationPrefixes?: readonly string[];
  /**
   * Which Nodes alone may be members, as the Service's annotations (those named in `annotations`) or the configuration say: those for which every one of these holds;
   * empty = any Node. What cannot be read asks for nothing here, and `plan` refuses it. Undefined: there is no such choice here. Pure.
   */
  readonly nodeLabels?: (annotations: Readonly<Record<string, string>>) => readonly NodeLabel[];
  /** How many members that do not drain one load balancer takes; undefined = any number. Where draining ones count, too, name fewer. */
  readonly maxMembers: number | undefined;
  /** Whether `draining` does anything here. */
  readonly drains: boolean;
  /** For how long a search may still miss what a create has made. */
  readonly settleMs: number;
  /**
   * Everything of this cluster, one for each owner, in few calls. Complete, or throws a CloudError. Reads only.
   *
   * @param adoptable Services with an `adopt`: what the classic controller made for them is found, too, in the same few calls; what does not agree is left out
   */
  observeAll(cluster: string, signal?: AbortSignal, adoptable?: readonly LoadBalancerRef[]): Promise<readonly O[]>;
  /**
   * Everything of one Service: by the recorded id and by search, also what stands in the way by its name. Undefined when nothing is there: proved by a read of that
   * very id where there is one; a search alone proves it only after `settleMs`. With `adopt`, what has the recorded id and does not agree is answered without an owner.
   * Throws a CloudError. Reads only.
   */
  observe(ref: LoadBalancerRef, signal?: AbortSignal): Promise<O | undefined>;
  /** What makes `observed` into `desired`. Empty steps when they match. Pure. */
  plan(desired: DesiredLoadBalancer, observed: O | undefined): LoadBalancerPlan<S>;
  /**
   * What removes everything of ours; where `retain` or it is attached, what gives it up (our parts, our tags) and leaves it. Empty steps and no `waitMs` when nothing
   * of ours is left. Pure.
   */
  planRemoval(observed: O, options: { readonly retain: boolean }): LoadBalancerPlan<S>;
  /**
   * Takes note of what the Services of a cluster ask for, before the first of them is worked on and after each read of everything. `isEveryone`: all that live are among
   * them; until then nothing shrinks that Services share. Without members. Undefined: they share nothing.
   */
  declare?(desired: readonly DesiredLoadBalancer[], isEveryone: boolean): void;
  /** One `apply` carries out all steps that are possible, and tells each by `onStep`. Default: that step alone. */
  readonly appliesAll?: boolean | undefined;
  /**
   * Makes the one call of a step. Idempotent: repeated after a lost answer, it finds what it made. Answers what there is now; undefined when nothing is left. Throws a
   * CloudError (`subjects` names members that the cloud refuses) or a WithheldError; after either, observe before planning again.
   */
  apply(step: S, observed: O | undefined, options: ApplyOptions): Promise<O | undefined>;
}

/** Tags on everything that is made for a Service. */
export const ownerTags = {
  cluster: 'mooring.dev/cluster',
  service: 'mooring.dev/service-uid',
  /** `namespace/name`, for people. */
  serviceName: 'mooring.dev/service',
  /** On what stays after its Service: `namespace/name` of that. Only a Service of that namespace gets it back. */
  retained: 'mooring.dev/retained',
  /** Set by a person on what may be attached to: who may, as `consent.ts` reads it. */
  consent: 'mooring.dev/attachable-by',
} as const;
