import type { KubeCall } from '../../../controller/kube/api.ts';
import type { WireReply } from '../../kit/cloud/wire.ts';
import type { JsonObject } from '../../kit/kube-api/json.ts';

/** One process of the controller; a restart makes another one. */
export interface ProcessRef {
  /** As it stands in the Lease when it leads. */
  readonly identity: string;
}

/** A request of a process to the API server, when it took effect there. Times are the world's, milliseconds. */
export interface KubeEffect {
  readonly at: number;
  readonly sentAt: number;
  readonly process: ProcessRef;
  readonly call: KubeCall;
  /** `nodes`, `nodes/status`, `leases`, ... */
  readonly resource: string;
  readonly namespace: string;
  readonly name: string;
  readonly mutating: boolean;
  readonly status: number;
  /** The object before and after, of requests about one object. */
  readonly before: JsonObject | undefined;
  readonly after: JsonObject | undefined;
  /** The holder of the Lease then; empty without one. */
  readonly holder: string;
  /** The same when the request was sent. */
  readonly holderWhenSent: string;
}

/** A request of a process to the cloud's API, when it took effect there. */
export interface CloudEffect {
  readonly at: number;
  readonly sentAt: number;
  readonly process: ProcessRef;
  readonly operation: string;
  readonly mutating: boolean;
  readonly method: string;
  readonly path: string;
  readonly body: string;
  readonly status: number;
  readonly answer: string;
  readonly holder: string;
}

/** An answer of the cloud as the process got it. */
export interface CloudAnswer {
  readonly at: number;
  readonly sentAt: number;
  readonly process: ProcessRef;
  readonly operation: string;
  readonly method: string;
  readonly path: string;
  readonly reply: WireReply;
}

/** What a process was told about a token, by its own monotonic clock. */
export interface TokenReviewed {
  readonly process: ProcessRef;
  readonly localMs: number;
  readonly token: string;
  readonly answer: JsonObject;
}

/** A report that a process kept, and whose it took it for. */
export interface ReportTaken {
  readonly at: number;
  readonly process: ProcessRef;
  /** By the monotonic and the wall clock of the process. */
  readonly localMs: number;
  readonly wallMs: number;
  readonly token: string;
  readonly nodeName: string;
  readonly nodeUid: string;
  readonly incarnation: string | undefined;
  readonly addresses: readonly string[] | undefined;
  readonly announcesEnd: boolean;
}

/** What a process was told of one object, by a list or a watch. `object` undefined = it is gone. */
export interface Told {
  readonly at: number;
  readonly process: ProcessRef;
  readonly resource: string;
  readonly key: string;
  readonly object: JsonObject | undefined;
  /** By a list rather than a watch. */
  readonly list: boolean;
}

/** One who follows what happens and says when a promise is broken. */
export interface Observer {
  /** A mutating request leaves its process. */
  kubeSent?(process: ProcessRef, call: KubeCall, resource: string, name: string): void;
  kubeEffect?(effect: KubeEffect): void;
  cloudSent?(process: ProcessRef, operation: string, mutating: boolean): void;
  cloudEffect?(effect: CloudEffect): void;
  cloudAnswer?(answer: CloudAnswer): void;
  reviewed?(review: TokenReviewed): void;
  report?(report: ReportTaken): void;
  told?(told: Told): void;
  /** The first page of a list was read; an earlier list that was not read to its end is void. */
  listing?(process: ProcessRef, resource: string): void;
  /** A list reached its last page. */
  listed?(process: ProcessRef, resource: string): void;
}

export interface Broken {
  /** Number in the list of promises, or `convergence`. */
  readonly promise: string;
  readonly at: number;
  readonly message: string;
}

export type Break = (promise: string | number, message: string) => void;
