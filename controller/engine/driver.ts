import type { Permit } from '../clouds/permit.ts';
import type {
  Desire,
  Found,
  Kind,
  LaneItem,
  OperationState,
  Owner,
  Reader,
  ReadIo,
  ResourceName,
  Want,
} from './resource.ts';

/** A change of one part of a document. */
export type Edit =
  | { readonly put: Want; readonly owner: Owner; idOf(name: ResourceName): string }
  | { readonly drop: Found; readonly owner: Owner };

export interface Version<D = unknown> {
  readonly doc: D;
  readonly version: string;
}

/** A document with one version that holds resources of several kinds and Services. */
export interface DocumentType<D = unknown> {
  readonly document: string;
  /** Which document of this type a part is in. */
  name(part: LaneItem): string;
  all(cluster: string, io: ReadIo): Promise<readonly (Version<D> & { readonly name: string })[]>;
  read(name: string, io: ReadIo): Promise<Version<D> | undefined>;
  parse(name: string, doc: D, cluster: string): readonly Found[];
  /** Changes when documents have to be parsed again: other resources tell the owners of parts. Default: never. */
  basis?(): unknown;
  /**
   * Undefined: the document is empty and is deleted. Equal to `doc`: nothing is written. Pure; after a lost answer it
   * is asked again, so edits that `doc` has already must change nothing.
   */
  fold(doc: D | undefined, edits: readonly Edit[]): D | undefined;
  /**
   * `version` undefined: there is no document yet. Throws a CloudError; after `Stale`, where there is another version
   * by now, it is read and folded again. The same holds for `remove`.
   */
  write(
    name: string,
    doc: D,
    version: string | undefined,
    permit: Permit,
  ): Promise<Version<D> & { readonly operation?: string }>;
  remove(name: string, version: string, permit: Permit): Promise<{ readonly operation?: string }>;
}

/** What a cloud provides to the engine. */
export interface Driver<D = unknown> {
  readonly kinds: readonly Kind[];
  readonly readers: readonly Reader[];
  readonly documents?: readonly DocumentType[];
  desire(desired: D): Desire;
  /**
   * The state of these operations. An operation that is missing in the answer has ended. A cloud without
   * operations can use the id of the pending resource.
   */
  poll(operations: readonly string[], io: ReadIo): Promise<ReadonlyMap<string, OperationState>>;
}
