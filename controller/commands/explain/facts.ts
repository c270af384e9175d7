import type { NodeView } from '../../model/node-view.ts';
/** What an explanation reads beside the object itself, each of which a credential may be denied. */
export type Hidden = 'leader' | 'pause' | 'events' | 'node lease';

/** What the API server says that bears on a node. */
export interface NodeFacts {
  readonly node: NodeView;
  /** The node lease's renewTime; empty when there is none. */
  readonly nodeRenewTime: string;
  /** The election's Lease; undefined when there is none. */
  readonly leader:
    | { readonly identity: string; readonly renewTime: string; readonly annotations: Readonly<Record<string, string>> }
    | undefined;
  readonly pausedForAll: boolean;
  /** Names of the Nodes that a person keeps from deletion. */
  readonly pausedNodes: ReadonlySet<string>;
  /** What may not be read, so that its absence above says nothing. */
  readonly hidden: readonly Hidden[];
  readonly events: readonly {
    readonly time: string;
    readonly type: string;
    readonly reason: string;
    readonly message: string;
  }[];
  /** Wall clock, milliseconds. */
  readonly nowMs: number;
}

/** What is so around any object that is explained. */
export type Surroundings = Pick<NodeFacts, 'leader' | 'pausedForAll' | 'pausedNodes' | 'events' | 'hidden' | 'nowMs'>;
