import type { Http } from '../../../common/process/http.ts';
import type { FakeAnswer, FakeCall, Json } from '../fake-http.ts';
import type { FakeActions } from './fake-api.ts';
import type { FakeNetwork } from './fake-networks.ts';
import type { FakeBalancer, FakeCertificate } from './fake-resources.ts';
import type { FakeDedicatedServer } from './fake-robot.ts';
import type { FakeServer } from './fake-servers.ts';

/**
 * One project of Hetzner Cloud at `/v1`, and an account of dedicated servers at `/robot`, as far as Mooring needs them.
 */
export interface FakeHetzner {
  /** Every call so far. */
  readonly calls: FakeCall[];
  readonly servers: Map<number, FakeServer>;
  readonly networks: Map<number, FakeNetwork>;
  readonly balancers: Map<number, FakeBalancer>;
  readonly certificates: Map<number, FakeCertificate>;
  readonly dedicated: Map<number, FakeDedicatedServer>;
  readonly actions: FakeActions;
  maxRoutes: number;
  maxBalancers: number;
  /** The token reads alone. */
  isReadOnly: boolean;
  /** A load balancer goes with an action, as it does since 2026; before, it was gone with the answer. */
  deletesByAction: boolean;
  /** Servers show the data centre, as they did before 2026. */
  showsDatacentre: boolean;
  /** Answers a call in place of the fake; undefined leaves it to the fake. */
  fault: ((call: FakeCall) => FakeAnswer | undefined) | undefined;
  readonly http: Http;
  answer(call: FakeCall): FakeAnswer;
  /** A new id, and so many more for its parts. */
  nextId(parts?: number): number;
  /** As answers have times. */
  now(): string;
  showBalancer(one: FakeBalancer): Json;
  /** Ids of servers that a label selector selects. */
  selected(selector: string): readonly number[];
  ownsIp(ip: string): boolean;
  addServer(name: string, options?: { readonly place?: string; readonly network?: number }): FakeServer;
  /** With its routes left behind, as Hetzner does it. */
  deleteServer(id: number): void;
  addNetwork(name: string, range?: string, subnet?: string): FakeNetwork;
}
