import type { CloudError } from '../../common/cloud-error.ts';
import type { Owner, Refusal as ServiceRefusal } from '../clouds/load-balancers.ts';
import type { Permit } from '../clouds/permit.ts';

/**
 * The words of the engine, and what a cloud provides to it.
 *
 * Everything that a cloud keeps for a cluster is a resource: a load balancer, a listener, a public address, a rule.
 * A cloud is a table of resource kinds, readers that list what exists, and a pure function from what a Service asks
 * for to the resources that serve it. The engine compares, orders the calls, sends them, and recovers from failures:
 *
 * inventory.ts and details.ts hold what was read, found-index.ts is its index, observed-state.ts reads what is missing
 * or too old; owner.ts and match.ts tell which resources are ours; decide.ts compares; plan.ts, removals.ts, drafts.ts
 * and order.ts turn the difference into steps; run.ts and sender.ts send them; operations.ts waits for long operations,
 * queue.ts, document.ts and lanes.ts share calls between Services; failure.ts says what errors mean; shared.ts merges
 * what several Services desire of one resource; ineffective-calls.ts counts calls that the cloud accepts without
 * effect; journal.ts and records.ts keep what has to survive a crash; reconcile.ts is the loop around all of it,
 * core.ts and basics.ts what all parts need, and engine.ts puts them together.
 */

export type { Owner };

/** `kind/key`: a resource of one owner. Specs point at others by name, because ids exist only after a create. */
export type ResourceName = string;

/** Owner of what all Services of a cluster share. */
export const everyService = '*';

/** One resource that a Service asks for. */
export interface Want<S = unknown> {
  readonly kind: string;
  /** Unique in this owner and kind. */
  readonly key: string;
  /** The container that it is created in. */
  readonly within?: ResourceName;
  /** What has to exist before it. */
  readonly needs?: readonly ResourceName[];
  /**
   * What only one resource can hold: a name, a port of a load balancer. `{within}` becomes the container's id. What is
   * replaced in place of a failed one goes first where it has a slot.
   */
  readonly slot?: string;
  /**
   * A resource of others: used, never created, changed or deleted. `allowed`: even without a consent mark. A plan makes
   * no call: the readers have to show it with everything, or with what is read for this Service.
   */
  readonly use?: { readonly id: string; readonly allowed: boolean };
  /** The Service's status shows an address because of it. */
  readonly carriesAddress?: boolean;
  /** What the Service asks for cannot be read: an existing resource stays as it is, and none is created. */
  readonly leaveUnchanged?: true;
  /** Ports of the Service that are not served without it. */
  readonly ports?: Refusal['ports'];
  /** Other specs that count as equal until the found resource has our marks. */
  readonly alsoAccepted?: readonly S[];
  readonly spec: S;
  /** For people: `listener 80`. */
  readonly summary: string;
}

/** A reference from one found resource to another. */
export interface Reference {
  /** The purpose of the reference: `pool`, `groups`. */
  readonly role: string;
  readonly kind: string;
  readonly id: string;
  /** The cloud drops the reference when its target is deleted. */
  readonly loose?: true;
  /** The target proves the ownership of this resource: it is deleted after it, even where the reference is loose. */
  readonly proof?: true;
  /** When both are deleted, this one is deleted after its target, and stays while the target cannot be deleted. */
  readonly outlives?: true;
}

/** One resource as a cloud shows it. */
export interface Found<B = unknown> {
  readonly kind: string;
  readonly id: string;
  /**
   * By its marks: tags, labels, or whatever else of it only its maker writes; on a cloud without any, a name that has
   * both UIDs. Undefined without marks: then the container tells the owner. The journal alone never does, because
   * users can write it: a recorded resource without container and marks stays unchanged, and a refusal names it.
   */
  readonly owner?: Owner;
  /** Key of the `Want` that it serves. Required where it has an owner. */
  readonly key?: string;
  /** Id of the container. */
  readonly within?: string;
  readonly slots?: readonly string[];
  readonly refs?: readonly Reference[];
  readonly status: 'ready' | 'pending' | 'failed' | 'deleting';
  /** Id of the operation that it waits for, where the cloud tells. */
  readonly operation?: string;
  /** Changes whenever a detail does. */
  readonly version?: string;
  /** It carries the mark that lets this cluster use it. */
  readonly consent?: boolean;
  /**
   * A resource of others with a consent mark, for any cluster. It never counts as one of ours that lost its marks.
   */
  readonly consentForAnyCluster?: boolean;
  /** The classic controller made it for this cluster: its details are read as those of ours are. */
  readonly adoptable?: boolean;
  /**
   * Kept on purpose when its Service was deleted. A part has a key where it was kept for the Service of its container:
   * while that is still marked as ours, the part is, too.
   */
  readonly retained?: boolean;
  /** Shown in the status of its Service because of it: a replacement then needs consent to another address. */
  readonly address?: string;
  readonly body: B;
}

/** A difference: exactly one call. */
export interface Change {
  /** Unique in one comparison: `algorithm`. */
  readonly what: string;
  readonly summary: string;
  /** Additions come first, removals last. */
  readonly phase: 'grow' | 'set' | 'shrink';
  /** Other changes of the same comparison that must have succeeded. Default: of a removal, every addition. */
  readonly after?: readonly string[];
  /**
   * Of a removal: it is sent, too, where an addition that it waits for was refused with QuotaExceeded, which is then
   * tried again. Never of members that serve, where all are exchanged: they could go, one after the other, while the
   * additions stay refused.
   */
  readonly makesRoom?: true;
  readonly changesAddress?: boolean;
  /** What needs this resource, or is in it, waits for its success: without it, others could connect meanwhile. */
  readonly guards?: boolean;
  readonly body?: unknown;
}

export type Comparison =
  | { readonly same: true }
  | { readonly changes: readonly Change[] }
  | { readonly replace: string; readonly order: 'createFirst' | 'deleteFirst' };

/** Names of the resources that a found one refers to in that role, without foreign, deleted and replaced ones. */
export type PointsAt = (role: string) => readonly ResourceName[];

/** What a call answered. A success answer is a read: `found` are the resources as they are now. */
export interface Answer {
  /** Id of what was created. */
  readonly id?: string;
  /**
   * Where it is missing, the owner is read again. A removal needs none. With an `operation` it also counts as the state
   * at the operation's end, so leave it out where the end adds something, such as an address.
   */
  readonly found?: readonly Found[];
  /** The effect is complete when this operation has ended. */
  readonly operation?: string;
  /**
   * How long that operation lasts, so that it is polled when it may have ended: as long as the last operation with the
   * same `like`, or about `ms` milliseconds where there was none.
   */
  readonly lasts?: { readonly estimateKey: string; readonly ms: number };
  /**
   * What the cloud refused of a call for many, by the ids that were sent, where the rest was done. Where nothing was
   * done because of some of it, throw a CloudError with `subjects`: the rest is sent again without them.
   */
  readonly refused?: readonly string[];
}

export interface ReadIo {
  readonly signal?: AbortSignal | undefined;
}

export interface WriteIo extends ReadIo {
  readonly owner: Owner;
  /** To be called right before each mutating request; throws a WithheldError. */
  readonly permit: Permit;
  /**
   * Id of another resource of the same owner. Throws a plain Error, a fault of the driver, for what the want does not
   * need.
   */
  idOf(name: ResourceName): string;
  /** Id of the container. */
  readonly within: string | undefined;
}

/** A resource in a lane: to be created, or to be deleted. */
export type LaneItem<S = unknown, B = unknown> = { readonly want: Want<S> } | { readonly found: Found<B> };

/** What the engine has to know about one kind of resource. Functions are pure but for those with an `io`. */
export interface Kind<S = unknown, B = unknown> {
  readonly kind: string;
  /** Kind of its container: it has the container's owner and is deleted with it. */
  readonly within?: string;
  /** The create of the container can create it, too. */
  readonly inline?: boolean;
  /** With `inline`: whether the create of the container cannot create this one. */
  needsOwnCreate?(want: Want<S>): boolean;
  /** It takes one change at a time, including changes of its parts; each lasts until its operation has ended. */
  readonly locks?: boolean;
  /** Name of the document type that it is a part of. */
  readonly document?: string;
  /** A create that may have happened: `safe` = send it again; `look` = only after `settleMs` of searching. */
  readonly retryCreate: 'atOnce' | 'afterSearch';
  /** For how long a list may not show a change. */
  readonly settleMs?: number;
  /** When to read a pending resource again, in milliseconds. Default 1 s; longer where the cloud takes minutes. */
  readonly pendingMs?: number;
  /**
   * The union of what several Services desire. No part of `existing` may be left out now. A part of a document with
   * this function is compared by its spec alone, without references.
   */
  merge?(specs: readonly S[], existing: Found<B> | undefined): S;
  /**
   * Only what is asked for: what a cloud fills in itself, or leaves out of its answers, is no difference. Nor are marks
   * of what has no owner: what is taken over gets them by `mark`, together with the first change that is needed anyway.
   */
  compare(found: Found<B>, spec: S, pointsAt: PointsAt): Comparison;
  /** The state after a create, where changes have to follow. */
  fresh?(want: Want<S>): { readonly body: B; readonly points?: Readonly<Record<string, readonly ResourceName[]>> };
  create?(want: Want<S>, inside: readonly Want[], io: WriteIo): Promise<Answer>;
  update?(found: Found<B>, change: Change, io: WriteIo): Promise<Answer>;
  remove?(found: Found<B>, io: WriteIo): Promise<Answer>;
  /** `remove` reads it right before its call, and throws where it is another's by then: the plan needs no read. */
  readonly readsBeforeRemove?: true;
  /** Name of the lane: one call at a time, for many resources. */
  lane?(item: LaneItem<S, B>, within: string | undefined): string;
  createMany?(wants: readonly LaneWant<S>[], io: WriteIo): Promise<Answer>;
  removeMany?(found: readonly Found<B>[], io: WriteIo): Promise<Answer>;
  /** Ours from now on, or retained without our marks. */
  mark?(found: Found<B>, as: 'ours' | 'retained', want: Want<S> | undefined, io: WriteIo): Promise<Answer>;
  /**
   * Users of a shared resource as the cloud shows them: UIDs of Services, or other names. It is deleted with the last
   * user, whether every Service is declared or not. Undefined: the cloud does not tell; it is deleted once every
   * Service is declared and none desires it, or with a Service that is deleted; `remove` reads the users before its
   * call.
   */
  usedBy?(found: Found<B>): readonly string[] | undefined;
}

export interface LaneWant<S = unknown> {
  readonly want: Want<S>;
  readonly owner: Owner;
  idOf(name: ResourceName): string;
}

/** What a narrow read asks for. */
export interface Query {
  readonly owner: Owner;
  /** All known ids of the owner. */
  readonly ids: readonly { readonly kind: string; readonly id: string }[];
  readonly slots: readonly string[];
  /** Search by marks, too: reads by id show neither duplicates nor what a lost create has made. */
  readonly search: boolean;
  /** Everything is to be deleted: parts that are deleted with their container need no read. */
  readonly removing: boolean;
}

export interface Reading {
  readonly found: readonly Found[];
  /** Kinds that were read completely: what is not in `found` is gone. */
  readonly complete?: readonly string[];
  /** It shows every change that was answered before it began, because it searches no list. */
  readonly isFresh?: boolean;
}

/** One listing of a cloud and every kind that it shows. Complete, or throws a CloudError. */
export interface Reader {
  readonly kinds: readonly string[];
  all(cluster: string, io: ReadIo): Promise<readonly Found[]>;
  of(query: Query, io: ReadIo): Promise<Reading>;
  /**
   * Whether the last answer of `all` leaves out that resource because a part of the cloud refuses to be read: it is
   * unknown, not gone, and its owner is read before anything is decided.
   */
  isUnknown?(found: Found): boolean;
  readonly detail?: Detail | readonly Detail[];
}

/** Parts that no list shows: one call per container, repeated when its version changes or the answer is old. */
export interface Detail {
  /** Kind of the container. */
  readonly kind: string;
  /** Kinds of the parts that only this call shows. */
  readonly parts: readonly string[];
  readonly maxAgeMs: number;
  read(container: Found, io: ReadIo): Promise<readonly Found[]>;
}

/** Something that the Service asks for and that is not done. The other steps of the plan are still sent. */
export interface Refusal extends ServiceRefusal {
  readonly name?: ResourceName;
}

export type OperationState = 'running' | 'done' | CloudError;

/** The resources that serve a Service. */
export interface Desire {
  readonly wants: readonly Want[];
  readonly refusals: readonly Refusal[];
  /** Shown in the condition, although everything is done. */
  readonly remarks?: readonly string[] | undefined;
}

export function nameOf(one: { readonly kind: string; readonly key?: string | undefined }): ResourceName {
  return `${one.kind}/${one.key}`;
}

export function kindOf(name: ResourceName): string {
  return name.slice(0, name.indexOf('/'));
}

/** Key of a found resource in maps: an id may occur in several kinds. */
export function identityOf(one: { readonly kind: string; readonly id: string }): string {
  return `${one.kind} ${one.id}`;
}

export function isOwnedBy(found: Found, owner: Owner): boolean {
  return found.owner?.cluster === owner.cluster && found.owner.service === owner.service;
}
