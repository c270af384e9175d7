import type { Http } from '../../../../common/process/http.ts';
import type { FakeAnswer, Json, ReceivedCall } from '../../fake-http.ts';

export interface FakeVm {
  readonly id: string;
  /** The last part of its addresses. */
  readonly number: number;
  name: string;
  state: string;
  zone: string;
  offering: string;
  readonly networks: string[];
  /** Fields of the VM that are not those of every one. */
  more: Json;
}

export interface FakeNetwork {
  readonly id: string;
  readonly name: string;
  services: readonly string[];
  vpc: string | undefined;
  acl: { readonly id: string; readonly name: string } | undefined;
  /** Of another account, whose resources ours may use and not tag. */
  isOthers: boolean;
  tags: Record<string, string>;
}

export interface FakeAddress {
  readonly id: string;
  readonly ip: string;
  state: 'Allocating' | 'Allocated' | 'Releasing';
  network: string | undefined;
  vpc: string | undefined;
  tags: Record<string, string>;
  readonly allocatedAt: string;
  isSourceNat: boolean;
}

export interface FakeRule {
  readonly id: string;
  name: string;
  algorithm: string;
  protocol: string;
  readonly address: string;
  readonly network: string;
  readonly publicPort: number;
  privatePort: number;
  readonly cidrs: readonly string[];
  state: 'Add' | 'Active' | 'Revoke';
  vms: string[];
}

/** The one of a rule. */
export interface FakePolicy {
  readonly id: string;
  readonly rule: string;
  readonly name: string;
  readonly method: string;
  readonly params: Readonly<Record<string, string>>;
}

/** A rule of a firewall, or of an ACL. */
export interface FakeOpening {
  readonly id: string;
  readonly place: string;
  readonly protocol: string;
  readonly first: number;
  readonly last: number;
  cidrs: readonly string[];
  readonly reason: string;
  state: 'Active' | 'Revoke';
}

export interface FakeJob {
  readonly id: string;
  readonly command: string;
  readonly endsAt: number;
  /** Its effect. Throws a FakeRefusal: the job fails. */
  readonly run: () => Json;
  outcome: { readonly status: 1 | 2; readonly result: Json } | undefined;
}

/** A command and what came with it, as the fake has read it. */
export interface Command {
  readonly name: string;
  readonly params: ReadonlyMap<string, string>;
}

/** One account of CloudStack, as far as Mooring needs it. */
export interface FakeAccount {
  /** Every command so far. */
  readonly commands: Command[];
  readonly vms: Map<string, FakeVm>;
  readonly networks: Map<string, FakeNetwork>;
  readonly addresses: Map<string, FakeAddress>;
  readonly rules: Map<string, FakeRule>;
  readonly policies: Map<string, FakePolicy>;
  readonly firewall: Map<string, FakeOpening>;
  readonly acls: Map<string, FakeOpening>;
  readonly jobs: Map<string, FakeJob>;
  readonly account: string;
  /** UUID that calls have to name; undefined: none. */
  project: string | undefined;
  /** Commands that the role does not have. */
  readonly forbidden: Set<string>;
  /** How long a job runs. */
  jobMs: number;
  /** Addresses that can be acquired. */
  maxAddresses: number;
  /** Whether rules may be of UDP, which HAProxy in a virtual router does not balance. */
  takesUdp: boolean;
  /** Whether an empty value stands for any in a deletion of tags, which is not so in a management server. */
  emptyTagValueIsAny: boolean;
  /** Answers a command in place of the fake; undefined leaves it to the fake. */
  fault: ((command: Command) => FakeAnswer | undefined) | undefined;
  readonly http: Http;
  answer(call: ReceivedCall): FakeAnswer;
  addVm(name: string, network?: string): FakeVm;
  addNetwork(more?: Partial<FakeNetwork>): FakeNetwork;
  addAddress(more?: Partial<FakeAddress>): FakeAddress;
  /** That every VM is in at first. */
  readonly network: FakeNetwork;
}
