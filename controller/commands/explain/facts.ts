import type { NodeView } from '../../model/node-view.ts';
/** What an explanation reads besides the object itself; a credential may lack the permission for each. */
export type Hidden = 'leader' | 'pause' | 'events' | 'node lease';

/** The facts of the API server about a Node. */
export interface NodeFacts {
  readonly node: NodeView;
  /** That keep it while it is being deleted. Default: not read. */
  readonly finalizers?: readonly string[];
  /** The node lease's renewTime; empty when there is none. */
  readonly nodeRenewTime: string;
  /** The election's Lease; undefined when there is none. */
  readonly leader:
    | {
        readonly identity: string;
        readonly renewTime: string;
        /** How long it lasts after each renewal; undefined: not said. */
        readonly durationSeconds?: number | undefined;
        readonly annotations: Readonly<Record<string, string>>;
      }
    | undefined;
  readonly pausedForAll: boolean;
  /** Names of the Nodes that a person protects from deletion. */
  readonly pausedNodes: ReadonlySet<string>;
  /** The objects that may not be read, so that their absence above means nothing. */
  readonly hidden: readonly Hidden[];
  readonly events: readonly {
    readonly time: string;
    readonly type: string;
    readonly reason: string;
    readonly message: string;
  }[];
  /** Wall clock, milliseconds. */
  readonly nowMs: number;
  /** That Mooring is installed in. Default: kube-system. */
  readonly namespace?: string;
  /** Names of the clouds of `--cloud-module`. Default: none. */
  readonly moduleNames?: readonly string[];
}

/** The facts that every explanation contains. */
export type Surroundings = Pick<
  NodeFacts,
  'leader' | 'pausedForAll' | 'pausedNodes' | 'events' | 'hidden' | 'namespace' | 'nowMs'
>;
