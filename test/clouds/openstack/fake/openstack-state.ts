import type { IncomingMessage, ServerResponse } from 'node:http';
import type { AccessRule } from './access-rules.ts';
import type { FakePort, FakeRouter, FakeSubnet } from './network-state.ts';

export interface FakeServer {
  readonly id: string;
  readonly name?: string;
  /** Left out of the answer when undefined. */
  readonly status?: string | undefined;
  readonly taskState?: string | null;
  readonly zone?: string;
  readonly flavor?: {
    readonly id: string;
    readonly name: string;
    readonly extraSpecs?: Readonly<Record<string, string>>;
  };
  readonly accessIPv4?: string;
  readonly accessIPv6?: string;
  readonly metadata?: Readonly<Record<string, string>>;
  readonly addresses?: Readonly<Record<string, readonly { addr: string; type: 'fixed' | 'floating' }[]>>;
}

export interface FakeCall {
  readonly method: string;
  /** `identity`, `compute`, `network` or `load-balancer`. */
  readonly service: string;
  readonly path: string;
  readonly query: URLSearchParams;
  readonly headers: IncomingMessage['headers'];
  readonly body: string;
}

/** Answers a call in place of the fake's own answer; undefined leaves it to the fake. */
export type Fault = (call: FakeCall, response: ServerResponse) => 'answered' | undefined;

export interface FakeOpenStack {
  /** For `auth-url`. */
  readonly authUrl: string;
  readonly calls: FakeCall[];
  readonly servers: Map<string, FakeServer>;
  readonly ports: FakePort[];
  /** Names by id. */
  readonly networks: Map<string, string>;
  readonly externalNetworks: Set<string>;
  readonly subnets: FakeSubnet[];
  readonly routers: Map<string, FakeRouter>;
  /** Neutron's, by alias. */
  readonly extensions: string[];
  /** Of one router. */
  maxRoutes: number;
  /** Of one port. */
  maxAddressPairs: number;
  readonly flavors: Map<string, string>;
  /** Zones of Cinder's volumes by id. */
  readonly volumes: Map<string, string>;
  /** Tokens that are refused though they were issued. */
  readonly revoked: Set<string>;
  catalog: unknown;
  pageSize: number;
  /** Nova's newest microversion, minor number. */
  maxMicroversion: number;
  tokenLifeMs: number;
  /** How many tokens were issued. */
  tokens: number;
  fault: Fault | undefined;
  /** Of the application credential that every token is of: those that are shipped. */
  accessRules: readonly AccessRule[];
  /** Further parts of Neutron and further services, asked before the fake's own once the token is good. */
  readonly more: Fault[];
  close(): Promise<void>;
}
