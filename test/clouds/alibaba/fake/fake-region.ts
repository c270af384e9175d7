import type { Http } from '../../../../common/process/http.ts';
import type { FakeAnswer, Json, ReceivedCall } from '../../fake-http.ts';

export interface FakeInstance {
  readonly id: string;
  readonly name: string;
  status: 'Pending' | 'Starting' | 'Running' | 'Stopping' | 'Stopped';
  readonly zone: string;
  readonly type: string;
  readonly address: string;
  publicAddress: string;
  eip: string;
  readonly ipv6: readonly string[];
  readonly interfaceId: string;
  readonly tags: Readonly<Record<string, string>>;
}

export interface FakeEntry {
  readonly id: string;
  readonly destination: string;
  readonly nextHop: string;
  readonly type: 'Instance' | 'NatGateway';
}

export interface FakeGroup {
  readonly id: string;
  name: string;
  servers: Json[];
  tags: Map<string, string>;
}

export interface FakeListener {
  readonly port: number;
  readonly protocol: string;
  isStarted: boolean;
  readonly wire: Json;
  tags: Map<string, string>;
}

export interface FakeBalancer {
  readonly id: string;
  /** As answers show it, without tags. */
  readonly wire: Json;
  tags: Map<string, string>;
  /** By `tcp:80`. */
  readonly listeners: Map<string, FakeListener>;
  readonly groups: Map<string, FakeGroup>;
  /** Changes are refused until then. */
  busyUntil: number;
}

export interface FakeNetwork {
  readonly id: string;
  /** As answers show it, without tags. */
  readonly wire: Json;
  tags: Map<string, string>;
  readonly listeners: Map<string, { readonly id: string; readonly wire: Json }>;
  readonly readyAtMs: number;
  busyUntil: number;
}

export interface FakeNetworkGroup {
  readonly id: string;
  readonly wire: Json;
  servers: Json[];
  tags: Map<string, string>;
  busyUntil: number;
}

export interface FakeList {
  readonly id: string;
  readonly name: string;
  readonly version: string;
  tags: Map<string, string>;
  entries: string[];
}

export interface FakeKey {
  readonly secret: string;
  readonly token?: string;
  /** Unix time in milliseconds. */
  readonly endsAtMs?: number;
}

/** One region of Alibaba Cloud for one account, as far as Mooring needs it. */
export interface FakeRegion {
  readonly id: string;
  account: string;
  readonly vpc: string;
  readonly vswitch: string;
  /** Actions so far, in order. */
  readonly calls: string[];
  /** The same as policies name them, `slb:TagResources`, and what the cloud asks for beside them. */
  readonly actions: string[];
  /** Whether the caller's policy allows such an action. Undefined: all. */
  isAllowed: ((action: string) => boolean) | undefined;
  /** Network Load Balancer has its role in this account: made with the first one, with the caller's rights. */
  hasNetworkRole: boolean;
  /** Algorithms of the signatures so far. */
  readonly algorithms: Set<string>;
  /** Keys that may call, by id. */
  readonly keys: Map<string, FakeKey>;
  /** How long a key of a role is good. */
  keyLifeMs: number;
  readonly instances: Map<string, FakeInstance>;
  /** The network interface of each address of a pod. */
  readonly podAddresses: Map<string, string>;
  /** Entries by the id of their table. */
  readonly routeTables: Map<string, FakeEntry[]>;
  maxEntries: number;
  readonly balancers: Map<string, FakeBalancer>;
  readonly networks: Map<string, FakeNetwork>;
  readonly networkGroups: Map<string, FakeNetworkGroup>;
  /** Ids of load balancers that lists leave out. */
  readonly hidden: Set<string>;
  /** When each job ends, in Unix time in milliseconds. */
  readonly jobs: Map<string, number>;
  maxBalancers: number;
  maxServers: number;
  readonly lists: Map<string, FakeList>;
  /** How long a changed thing takes no further change. */
  busyMs: number;
  tablesBusyUntil: number;
  /** Answers a call in place of the fake; undefined leaves it to the fake. */
  fault: ((action: string, name: string) => FakeAnswer | undefined) | undefined;
  readonly http: Http;
  answer(call: ReceivedCall): FakeAnswer;
  /** Unix time in milliseconds. */
  now(): number;
  nextId(prefix: string): string;
  addInstance(name: string, more?: Partial<FakeInstance>): FakeInstance;
  /** An address of a pod on a network interface: of this one, or of a new one. */
  addPod(interfaceId?: string): { readonly address: string; readonly interfaceId: string };
}
