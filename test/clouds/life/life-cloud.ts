import type { ServedCloud } from '../aws/controller-process.ts';

/** At once where the cloud is in this process, else what its API answers. */
type Asked<T> = T | Promise<T>;

/** One VM of a cloud. */
export interface ClusterMachine {
  /** Name of its Node. */
  readonly node: string;
  readonly providerID: string;
}

/** A load balancer as it stands in a cloud. */
export interface ClusterBalancer {
  /** Names of the Nodes that get its connections. */
  readonly members: readonly string[];
  readonly ports: readonly number[];
  /** What the Service has to show, in this order. */
  readonly addresses: readonly string[];
}

/** The cloud of a cluster, as steps look at it: a fake behind a socket, or a server of others. */
export interface ClusterCloud<Balancer extends ClusterBalancer = ClusterBalancer> {
  readonly served: ServedCloud & { readonly cloud: string };
  readonly machines: readonly ClusterMachine[];
  /** How many changes were sent to it. */
  changes(): number;
  /** How often all that it keeps for the cluster was read: routes, otherwise load balancers. */
  audits(): number;
  /** `range node` of each pod route; undefined: it has no routes. */
  routes(): Asked<readonly string[] | undefined>;
  /** What stands; undefined: its load balancers are not tried. */
  balancers?(): Asked<readonly Balancer[]>;
  /** What its load balancers consist of and need beside them, where they are more than one resource each: names. */
  balancerParts?(): Asked<readonly string[]>;
  /** Annotations of each Service that is tried, by name. Default: one Service without. */
  readonly services?: Readonly<Record<string, Readonly<Record<string, string>>>>;
  close(): Promise<void>;
}

/** One that a test changes from behind. */
export interface LifeMachine extends ClusterMachine {
  /** Labels that its Node has, beside others. */
  readonly labels: Readonly<Record<string, string>>;
  /** This becomes its external IPv4 address. */
  readdress(address: string): void;
  /** It is off, or was preempted. */
  stop(): void;
  /** It does not exist any more. */
  remove(): void;
}

export interface LifeBalancer extends ClusterBalancer {
  /** A person removes its ports or, where they are no parts of it, the load balancer. */
  removePorts(): void;
}

/** A cloud, as the steps of the life of a cluster drive it: a fake behind a socket. */
export interface LifeCloud extends ClusterCloud<LifeBalancer> {
  /** At least two. The first gets another address, the second is stopped, the last is removed. */
  readonly machines: readonly LifeMachine[];
  /** Parts of the names of checks that pass. */
  readonly checks: readonly string[];
  /** Whether it refuses every credential from now on. */
  refuse(refused: boolean): void;
  /** Texts that no log may have. */
  readonly secrets: readonly string[];
}

export type OpenCloud<Cloud extends ClusterCloud> = () => Promise<Cloud>;
export type OpenLifeCloud<Life extends LifeCloud = LifeCloud> = OpenCloud<Life>;
