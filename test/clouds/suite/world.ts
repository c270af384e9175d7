import type { Cloud, CloudIdentity } from '../../../controller/clouds/cloud.ts';
import type { LoadBalancerDriver } from '../../../controller/clouds/load-balancer-driver.ts';
import type { DesiredLoadBalancer, Protocol } from '../../../controller/clouds/load-balancers.ts';
import type { Found } from '../../../controller/engine/resource.ts';

/** A VM of the cloud under test, as its Node would tell of it. */
export interface CloudVm {
  readonly name: string;
  readonly providerID: string;
  readonly addresses: readonly string[];
  /** Empty where the cloud has none. */
  readonly zone: string;
}

/**
 * A resource in the cloud: a load balancer, a listener, an address, ... Kind and name alone, so that two runs compare.
 */
export interface InventoryItem {
  readonly kind: string;
  readonly name: string;
}

/** What this cloud can do; the facts that ask for more are left out. */
export interface CloudCapabilities {
  /** What a deleted VM looks like. */
  readonly deletedVm: 'gone' | 'absent';
  readonly loadBalancers:
    | {
        readonly protocols: readonly Protocol[];
        readonly sourceRanges: boolean;
        readonly sessionAffinity: boolean;
        /** Health checks follow what a Service asks for. Default true; elsewhere annotations alone say. */
        readonly healthChecks?: boolean;
        /** Traffic goes to the node ports of a Service. Default true; elsewhere to the ports of the Service itself. */
        readonly nodePorts?: boolean;
        /** Ids are made of names: what is made again has the id of what it replaces. */
        readonly idsAreNames?: true;
        /** Two load balancers cannot have one name, so one that is not ours stands in the way. */
        readonly uniqueNames: boolean;
        readonly attach: boolean;
        /** What serves a Service can stand in two load balancers while it moves. Default true. */
        readonly moves?: boolean;
        /** A member may be made to drain; elsewhere the cloud drains what is taken out. */
        readonly drains: boolean;
        readonly retain: boolean;
        /** Kinds that nothing in this world creates: the test file that does. */
        readonly createdElsewhere?: Readonly<Record<string, string>>;
        /** Kinds that get their marks by a call after their create. */
        readonly markedLater?: readonly string[];
        /** It refuses a member that is no instance, and says which. */
        readonly refusesMembers: boolean;
        /** A step may be several calls: each member is written at its own network interface. Default: one call. */
        readonly writesMembersEach?: true;
        /** At most so many mutating calls for two ports: the first Service, one more, a member more, a removal. */
        readonly calls?: Readonly<Record<'first' | 'further' | 'member' | 'removal', number>>;
      }
    | undefined;
  readonly routes:
    | {
        /** It tells ours by tags. */
        readonly tags: boolean;
        /** It says that the instance of a route is gone. */
        readonly blackholes: boolean;
        /** It tells its quota. */
        readonly quota: boolean;
      }
    | undefined;
  /**
   * A crash and a lost answer at every single call. Creates and removes many load balancers: not where one takes
   * minutes.
   */
  readonly enumerateFaults: boolean;
  /** Each kind of fault strikes every so manyth call, each kind at others. Default 1 = every call. */
  readonly faultStride?: number;
}

/** What the suite puts around the driver of load balancers, to see and to disturb what goes through it. */
export type WrapDriver = (driver: LoadBalancerDriver) => LoadBalancerDriver;

/** The cloud under test from behind: what a person at its console, or a fault, would do. */
export interface CloudWorld {
  /** UID of the cluster that is ours. */
  readonly cluster: string;
  /**
   * A client as a fresh process has it: nothing remembered. The world closes it. Calls `wrap` with the driver where
   * there are load balancers.
   */
  open(wrap?: WrapDriver): Promise<Omit<Cloud, keyof CloudIdentity>>;
  createVm(): Promise<CloudVm>;
  /** Returns when the cloud shows it as deleted. */
  deleteVm(providerID: string): Promise<void>;
  /** Returns when the cloud shows it as stopped. Undefined: not here. */
  readonly stopVm?: (providerID: string) => Promise<void>;
  /** Of the right form and this scope, and never was there. */
  unusedProviderID(): string;
  /** Of the right cloud, and none that this scope could hold. */
  otherScopeProviderID(): string;
  /** Mutating calls that have reached the cloud so far, whatever became of them. */
  mutations(): number;
  /** The next mutating call but `after` is carried out, and its answer is lost. Undefined: not here. */
  readonly loseAnswer?: (after: number) => void;
  /** From now on the credential is refused, or is good again. Undefined: not here. */
  readonly refuseCredential?: (refused: boolean) => void;
  /** Everything but instances that there is in the cloud; foreign things too. */
  inventory(): Promise<readonly InventoryItem[]>;
  /** A foreign load balancer, with this consent tag or without one. Returns its id. */
  createForeignLoadBalancer(name: string, consent: string | undefined): Promise<string>;
  /** Everything that the cloud says about it, to see whether it has changed; undefined when it is gone. */
  describeLoadBalancer(id: string): Promise<string | undefined>;
  deleteLoadBalancer(id: string): Promise<void>;
  /** Default true; false: a Service with source ranges is refused, because it would be open to everybody. */
  readonly keepsSourceRanges?: boolean;
  /** What else Services of this cloud can ask for, so that each kind of resource is created. */
  readonly examples?: readonly Partial<DesiredLoadBalancer>[];
  /** The annotation for more tags, and keys that it must not set. Undefined: no annotation sets tags. */
  readonly tagging?: { readonly annotation: string; readonly reserved: readonly string[] };
  /** A person takes our marks off that resource; false: it has none here. Undefined: not here. */
  readonly stripMarks?: (found: Found) => Promise<boolean>;
  /**
   * Whether something else proves whose it is without its marks, so that it gets them back and goes with its Service.
   * Elsewhere it stays, and is named. Default: always.
   */
  readonly comesBack?: (found: Found, desired: DesiredLoadBalancer) => boolean;
  /**
   * Gives that load balancer of ours name and marks as the classic controller gives them. Undefined: not here.
   */
  readonly markAsClassic?: (found: Found, desired: DesiredLoadBalancer) => Promise<void>;
  /** A reserved address, with this consent tag or without one. Undefined: no load balancer can request one. */
  readonly freeAddress?: (consent: string | undefined) => Promise<string>;
  /** A foreign route. */
  createForeignRoute(destination: string, vm: CloudVm): Promise<void>;
  deleteForeignRoute(destination: string): Promise<void>;
  /** Lets room for so many routes more, undefined = as before. Undefined: not here. */
  readonly routesLeft?: (count: number | undefined) => void;
  /** Waits for what takes the cloud's time. On a fake clock time moves meanwhile. */
  during<T>(work: Promise<T>): Promise<T>;
  pass(ms: number): Promise<void>;
  /** Closes every client and removes what was made. */
  close(): Promise<void>;
}
