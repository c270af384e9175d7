import type { Http } from '../../../../common/process/http.ts';
import type { FakeAnswer, FakeCall, Json } from '../../fake-http.ts';
import type { FakeDroplet } from './fake-droplets.ts';

export interface FakeBalancer {
  readonly id: string;
  /** As the latest request left it, in the wire's fields, with what the API fills in. */
  wire: Json & { name: string; droplet_ids: number[]; forwarding_rules: Json[] };
  readonly createdAt: string;
  readonly region: string;
  /** Tags that it was made with. No answer shows them. */
  readonly tags: readonly string[];
  readonly address: { readonly ip: string; readonly ipv6: string };
  status: 'new' | 'active' | 'errored';
  readonly activeAt: number;
  /** Changes are refused until then. */
  busyUntil: number;
}

/** One account of DigitalOcean, as far as Mooring needs it. */
export interface FakeAccount {
  /** Every call so far. */
  readonly calls: FakeCall[];
  readonly droplets: Map<number, FakeDroplet>;
  readonly balancers: Map<string, FakeBalancer>;
  /** Names by id. */
  readonly certificates: Map<string, string>;
  /** UUID of its only VPC, in nyc3. */
  readonly vpc: string;
  /** UUID of the team. */
  team: string;
  /** How long a new load balancer has no address. */
  activeMs: number;
  /** For how long a changed one takes no further change. */
  busyMs: number;
  maxBalancers: number;
  /** Sizes may change, as once an hour. */
  mayResize: boolean;
  /** The token reads alone. */
  isReadOnly: boolean;
  /** Answers a call in place of the fake; undefined leaves it to the fake. */
  fault: ((call: FakeCall) => FakeAnswer | undefined) | undefined;
  readonly http: Http;
  answer(call: FakeCall): FakeAnswer;
  nextId(): number;
  /** Unix time in milliseconds. */
  now(): number;
  show(one: FakeBalancer): Json;
  addDroplet(name: string, more?: Partial<Pick<FakeDroplet, 'region' | 'isGpu' | 'status'>>): FakeDroplet;
}
