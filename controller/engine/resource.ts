import type { CloudError } from '../../common/cloud-error.ts';
import type { Owner, Protocol } from '../clouds/load-balancers.ts';
import type { Permit } from '../clouds/permit.ts';

/**
 * The words of the engine, and what a cloud provides to it.
 *
 * Everything that a cloud keeps for a cluster is a resource: a load balancer, a listener, a public address, a rule.
 * A cloud is a table of resource kinds, readers that show what is there, and a pure function from what a Service asks
 * for to the resources that serve it. The engine compares, orders the calls, sends them, and survives what goes wrong:
 *
 * inventory.ts and details.ts know what is there, knowledge.ts what has to be read first; owner.ts and match.ts tell
 * which of it is ours; decide.ts compares, plan.ts, removals.ts, drafts.ts and order.ts make steps of the difference;
 * run.ts and sender.ts send them; operations.ts, document.ts and batch.ts serve those that need more than one answer
 * or share a write; shared.ts holds what several Services want of one thing, effects.ts what the cloud accepts without
 * doing it; journal.ts and records.ts keep what has to survive a crash; reconcile.ts is the loop around all of it, and
 * engine.ts puts it together.
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
  /** The container that it is made in. */
  readonly within?: ResourceName;
  /** What has to be there before it. */
  readonly needs?: readonly ResourceName[];
  /** What one resource alone can hold: a name, a port of a load balancer. `{within}` becomes the container's id. */
  readonly slot?: string;
  /** Made by others: used, never made, changed or removed. `allowed`: without a consent mark, too. */
  readonly use?: { readonly id: string; readonly allowed: boolean };
  /** The Service's status shows an address because of it. */
  readonly carriesAddress?: boolean;
  /** What is asked for cannot be read: what is there stays as it is, and where nothing is, nothing is made. */
  readonly asItStands?: true;
  /** Ports of the Service that are not served without it. */
  readonly ports?: Refusal['ports'];
  /** Equal to one of these is as good while it carries no mark of ours. */
  readonly asGood?: readonly S[];
  readonly spec: S;
  /** For people: `listener 80`. */
  readonly summary: string;
}

/** What one found resource refers to. */
export interface Reference {
  /** What for: `pool`, `groups`. */
  readonly role: string;
  readonly kind: string;
  readonly id: string;
  /** The cloud drops the reference by itself when its target goes. */
  readonly loose?: true;
  /** The target shows whose this is: it goes after this, also where it is loose. */
  readonly proof?: true;
}

/** One resource as a cloud shows it. */
export interface Found<B = unknown> {
  readonly kind: string;
  readonly id: string;
  /** By its marks. Undefined where nothing is marked: then its container, or the journal, tells. */
  readonly owner?: Owner;
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
   * Others made it and lend it: it carries a consent mark, of whichever cluster. It never counts as one of ours that
   * lost its marks.
   */
  readonly lent?: boolean;
  /** Kept on purpose when its Service went. */
  readonly retained?: boolean;
  /** Shown in the status of its Service because of it. */
  readonly address?: string;
  readonly body: B;
}

/** A difference: exactly one call. */
export interface Change {
  /** Unique in one comparison: `algorithm`. */
  readonly what: string;
  readonly summary: string;
  /** What is added goes first, what is taken away goes last, after everything that was added has succeeded. */
  readonly phase: 'grow' | 'set' | 'shrink';
  /** Other changes of the same comparison that must have succeeded. */
  readonly after?: readonly string[];
  readonly changesAddress?: boolean;
  readonly body?: unknown;
}

export type Comparison =
  | { readonly same: true }
  | { readonly changes: readonly Change[] }
  | { readonly replace: string; readonly first: 'make' | 'break' };

/** Names of what a found resource refers to in that role; nothing for what is foreign, gone or about to be replaced. */
export type PointsAt = (role: string) => readonly ResourceName[];

/** What a call answered. A success answer is a read: `found` are the resources as they are now. */
export interface Answer {
  /** Of what was created. */
  readonly id?: string;
  /** Where it is missing, the owner is read again. A removal needs none. */
  readonly found?: readonly Found[];
  /** The effect is complete when this operation has ended. */
  readonly operation?: string;
  /** What the cloud refused of what was sent together, by the ids it was sent with. */
  readonly refused?: readonly string[];
}

export interface ReadIo {
  readonly signal?: AbortSignal | undefined;
}

export interface WriteIo extends ReadIo {
  readonly owner: Owner;
  /** To be called right before each mutating request; throws a WithheldError. */
  readonly permit: Permit;
  /** Id of another resource of the same owner. Throws where it is not there. */
  idOf(name: ResourceName): string;
  /** Id of the container. */
  readonly within: string | undefined;
}

/** A thing that goes into a lane: to be made, or to be removed. */
export type LaneItem<S = unknown, B = unknown> = { readonly want: Want<S> } | { readonly found: Found<B> };

/** What the engine has to know about one kind of resource. Functions are pure but for those with an `io`. */
export interface Kind<S = unknown, B = unknown> {
  readonly kind: string;
  /** Kind of its container: it is owned with it and goes when it goes. */
  readonly within?: string;
  /** The create of the container can make it, too. */
  readonly inline?: boolean;
  /** With `inline`: that one the create of the container cannot make. */
  alone?(want: Want<S>): boolean;
  /** It takes one change at a time, those of its parts included, each until its operation has ended. */
  readonly locks?: boolean;
  /** Name of the document type that it is a part of. */
  readonly document?: string;
  /** A create that may have happened: `safe` = send it again; `look` = only after `settleMs` of searching. */
  readonly again: 'safe' | 'look';
  /** For how long a list may not show a change. */
  readonly settleMs?: number;
  /** Default `at once`. `later`: after the answer to a removal it is still there for a while. */
  readonly gone?: 'at once' | 'later';
  /**
   * What several Services want of one: `standing` is what must not shrink now. A part of a document that has this is
   * compared by its spec alone, without references.
   */
  merge?(specs: readonly S[], standing: Found<B> | undefined): S;
  compare(found: Found<B>, spec: S, pointsAt: PointsAt): Comparison;
  /** What a create leaves, where more changes have to follow. */
  fresh?(want: Want<S>): { readonly body: B; readonly points?: Readonly<Record<string, readonly ResourceName[]>> };
  create?(want: Want<S>, inside: readonly Want[], io: WriteIo): Promise<Answer>;
  update?(found: Found<B>, change: Change, io: WriteIo): Promise<Answer>;
  remove?(found: Found<B>, io: WriteIo): Promise<Answer>;
  /** Name of the lane where one call takes many, one call at a time. */
  lane?(item: LaneItem<S, B>, within: string | undefined): string;
  createMany?(wants: readonly LaneWant<S>[], io: WriteIo): Promise<Answer>;
  removeMany?(found: readonly Found<B>[], io: WriteIo): Promise<Answer>;
  /** Ours from now on, or kept without us. */
  mark?(found: Found<B>, as: 'ours' | 'retained', want: Want<S> | undefined, io: WriteIo): Promise<Answer>;
  /** UID of the Service for which another controller still keeps it. */
  heldBy?(found: Found<B>): string | undefined;
  /**
   * Of what all Services share: UIDs of Services, or other names, of whatever uses it, as the cloud shows. It goes with
   * the last of them, whether every Service is known or not. Undefined: not known; the removal looks right before.
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
  /** All ids that are known of the owner. */
  readonly ids: readonly { readonly kind: string; readonly id: string }[];
  readonly slots: readonly string[];
  /** By marks, too: ids do not show duplicates, nor what a lost answer made. */
  readonly search: boolean;
  /** Everything is to go: parts that go with their container need no read. */
  readonly removing: boolean;
}

export interface Reading {
  readonly found: readonly Found[];
  /** Kinds of which everything was read: what is not in `found` is gone. */
  readonly complete?: readonly string[];
  /** It shows everything that was answered before it began: no search of a list is in it. */
  readonly isFresh?: boolean;
}

/** One listing of a cloud and every kind that it shows. Complete, or throws a CloudError. */
export interface Reader {
  readonly kinds: readonly string[];
  all(cluster: string, io: ReadIo): Promise<readonly Found[]>;
  of(query: Query, io: ReadIo): Promise<Reading>;
  readonly detail?: Detail;
}

/** Parts that no list shows: a call for each container, repeated when its version moved or the answer is old. */
export interface Detail {
  /** Kind of the container. */
  readonly kind: string;
  /** Kinds of the parts that only this call shows. */
  readonly parts: readonly string[];
  readonly maxAgeMs: number;
  read(container: Found, io: ReadIo): Promise<readonly Found[]>;
}

/** Asked for, and not done. The rest of the plan goes on. */
export interface Refusal {
  readonly reason: /** It is not provably ours and gives no consent. */
    | 'Foreign'
    /** Needs consent. */
    | 'AddressWouldChange'
    /** It holds parts of other owners. */
    | 'InUse'
    /** The cloud cannot do it. */
    | 'Unsupported'
    /** Another Service has that port, address or name. */
    | 'Conflict'
    /** It is done, with a consent that is not enough for something new. */
    | 'ClusterWideConsent'
    /** The cloud accepted it several times and did not do it. */
    | 'NoEffect';
  readonly message: string;
  readonly name?: ResourceName;
  /** Of the Service, that are not served because of it. */
  readonly ports?: readonly { readonly port: number; readonly protocol: Protocol }[];
}

export type OperationState = 'running' | 'done' | CloudError;

/** The resources that serve a Service. */
export interface Desire {
  readonly wants: readonly Want[];
  readonly refusals: readonly Refusal[];
  /** Told in the condition, although everything that is asked for is done. */
  readonly remarks?: readonly string[] | undefined;
}

export function nameOf(one: { readonly kind: string; readonly key?: string | undefined }): ResourceName {
  return `${one.kind}/${one.key}`;
}

export function kindOf(name: ResourceName): string {
  return name.slice(0, name.indexOf('/'));
}

/** Where a found resource stands in maps: ids alone may repeat in several kinds. */
export function identityOf(one: { readonly kind: string; readonly id: string }): string {
  return `${one.kind} ${one.id}`;
}

export function isOwnedBy(found: Found, owner: Owner): boolean {
  return found.owner?.cluster === owner.cluster && found.owner.service === owner.service;
}
