import type { Json } from '../fake-http.ts';
import type { FakeBalancerType, FakeLocation } from './fake-catalog.ts';

export interface FakeTarget {
  readonly type: 'server' | 'label_selector' | 'ip';
  readonly server?: { readonly id: number };
  readonly label_selector?: { readonly selector: string };
  readonly ip?: { readonly ip: string };
  readonly use_private_ip: boolean;
}

export interface FakeService {
  readonly protocol: 'tcp' | 'http' | 'https';
  readonly listen_port: number;
  readonly destination_port: number;
  readonly proxyprotocol: boolean;
  readonly http: Json | undefined;
  readonly health_check: Json;
}

export interface FakeBalancer {
  readonly id: number;
  readonly created: string;
  readonly place: FakeLocation;
  readonly ipv4: string;
  readonly ipv6: string;
  name: string;
  labels: Json;
  type: FakeBalancerType;
  algorithm: string;
  isPublic: boolean;
  isProtected: boolean;
  readonly dnsPtrs: Map<string, string>;
  privateNets: { readonly network: number; readonly ip: string }[];
  services: FakeService[];
  targets: FakeTarget[];
}

export interface FakeCertificate {
  readonly id: number;
  readonly type: 'uploaded' | 'managed';
  readonly created: string;
  readonly domain_names: readonly string[];
  readonly certificate: string | null;
  name: string;
  labels: Json;
}
