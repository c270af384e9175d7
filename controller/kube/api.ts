/**
 * The Kubernetes API as the controllers use it: a transport of JSON. `client.ts` talks to a server, the simulation to
 * an in-memory one. `fence.ts` wraps either, so that only the leader writes.
 */
export type KubeVerb = 'get' | 'list' | 'create' | 'update' | 'patch' | 'delete';

export type PatchType = 'merge' | 'strategic-merge' | 'json';

export interface KubeCall {
  readonly verb: KubeVerb;
  /** Absolute path without query, e.g. `/api/v1/nodes/a/status`. */
  readonly path: string;
  readonly query?: Readonly<Record<string, string>>;
  readonly body?: unknown;
  /** For `patch`. */
  readonly patch?: PatchType;
  /** Default `defaultCallTimeoutMs`. A fenced write also needs this much lease time left. */
  readonly timeoutMs?: number;
  /** The form of the answer: the whole object, or only its metadata (a PartialObjectMetadata). Default `object`. */
  readonly answer?: 'object' | 'metadata';
  /**
   * Names of array members that the caller does not read; they may be empty in the answer (see `unread-members.ts`).
   */
  readonly unread?: readonly string[];
  /** The call does not wait for a free connection behind other calls. Only for the renewal of the lease. */
  readonly urgent?: boolean;
  readonly signal?: AbortSignal;
  /**
   * Called before a successful answer is returned, with the time on the server from its `Date` header, in milliseconds
   * since 1970.
   */
  readonly onDate?: (serverMs: number) => void;
}

/** The default deadline, from the call to the last byte of the answer. */
export const defaultCallTimeoutMs = 10_000;

/** Why a call failed. `status` 0: no answer (refused, cut, timed out); the write may have happened. */
export class KubeError extends Error {
  override readonly name = 'KubeError';
  readonly status: number;
  /**
   * The Status object's `reason`. Without an answer: `Timeout`, `Unreachable`, `Cut` (a watch that was open),
   * `Unreadable` (an answer that violates the API), `Aborted` (by the caller's signal), and for calls that were not
   * sent `Fenced` or `Withheld` (paused, dry run).
   */
  readonly reason: string;
  readonly retryAfterMs: number | undefined;

  constructor(details: { status: number; reason: string; message: string; retryAfterMs?: number; cause?: unknown }) {
    super(details.message, { cause: details.cause });
    this.status = details.status;
    this.reason = details.reason;
    this.retryAfterMs = details.retryAfterMs;
  }
}

export function isKubeError(error: unknown): error is KubeError {
  return error instanceof KubeError;
}

/** True when the API server answered that the object has changed or exists already (409). */
export function isConflict(error: unknown): boolean {
  return isKubeError(error) && error.status === 409;
}

/** True when the API server answered that the object does not exist (404). */
export function isNotFound(error: unknown): boolean {
  return isKubeError(error) && error.status === 404;
}

export interface ObjectMeta {
  readonly name: string;
  readonly namespace?: string;
  readonly uid: string;
  readonly resourceVersion: string;
  readonly creationTimestamp?: string;
  readonly deletionTimestamp?: string;
  readonly labels?: Readonly<Record<string, string>>;
  readonly annotations?: Readonly<Record<string, string>>;
  readonly finalizers?: readonly string[];
}

export interface KubeObject {
  readonly apiVersion?: string;
  readonly kind?: string;
  readonly metadata: ObjectMeta;
}

export interface WatchEvent {
  readonly type: 'ADDED' | 'MODIFIED' | 'DELETED' | 'BOOKMARK' | 'ERROR';
  readonly object: unknown;
}

export interface WatchCall {
  readonly path: string;
  readonly query: Readonly<Record<string, string>>;
  /** As in a KubeCall. */
  readonly unread?: readonly string[];
  readonly signal: AbortSignal;
  /** Called for each event in order, synchronously; a throw ends the watch with that error. */
  onEvent(event: WatchEvent): void;
}

export interface KubeApi {
  /** Resolves with the parsed answer of a 2xx; otherwise throws a KubeError. Never retries. */
  call<T = unknown>(call: KubeCall): Promise<T>;
  /**
   * Resolves when the server ends the stream cleanly. Otherwise throws a KubeError, also when the stream is cut or a
   * line is no event.
   */
  watch(call: WatchCall): Promise<void>;
}

/** Decides whether this replica may still write. */
export interface Fence {
  /**
   * Lease time left in milliseconds by the most pessimistic of its clocks; 0 or less when this replica does not lead.
   */
  timeLeftMs(): number;
}
