import type { Clock } from '../../../common/process/clock.ts';
import type { ReadReport } from '../../../controller/reports/read-report.ts';
import type { User } from '../../kit/kube-api/auth/user.ts';
import type { KubeApiCore } from '../../kit/kube-api/kube-api-core.ts';
import type { Dice } from '../engine/dice.ts';
import type { Faults } from '../engine/faults.ts';
import type { ProcessClock } from '../engine/timeline.ts';
import type { Observer, ProcessRef } from '../judge/observer.ts';
import type { ObjectEvent } from './object-event.ts';

/** Who changes the cloud at this very moment; undefined = no process of ours. */
export interface Acting {
  current: { readonly process: ProcessRef; readonly sentAt: number; readonly what: string } | undefined;
}

/** What connects one process to the world. */
export interface Wire {
  readonly core: KubeApiCore;
  /** The account that the process runs as. */
  readonly user: User;
  readonly faults: Faults;
  readonly dice: Dice;
  /** Of the process. */
  readonly clock: ProcessClock;
  readonly world: Clock;
  readonly process: ProcessRef;
  readonly observers: readonly Observer[];
  readonly acting: Acting;
  /** How long the cloud may take over a read. */
  readonly cloudLagMs: number;
  /** Where the API server stood so long ago, at most a minute. */
  revisionBefore(ms: number): number;
  /** The holder of the Lease now; empty without one. */
  holder(): string;
  /** Ends the process at once. Never resolves. */
  crash(): Promise<never>;
  pause(): void;
  /** For an API server that takes one node for another: not the one of that name. */
  otherNode(name: string): { readonly name: string; readonly uid: string } | undefined;
  /** What each watch told last, by path. */
  readonly lastEvents: Map<string, ObjectEvent>;
  /** What the report API works with, apart from everything else of the process. */
  readonly ofReports: { readonly faults: Faults; readonly dice: Dice; readonly read: (value: unknown) => ReadReport };
  readonly trace: ((line: string) => void) | undefined;
}

export function keyIn(namespace: string, name: string): string {
  return namespace === '' ? name : `${namespace}/${name}`;
}

export function namespaceOf(path: string): string {
  return /\/namespaces\/([^/]+)\/./.exec(path)?.[1] ?? '';
}

/** The name of the object that a path of `nodes` or `nodes/status` is about; empty for a collection. */
export function lastOfPath(path: string, resource: string): string {
  const [plural = ''] = resource.split('/');
  const rest = path.slice(path.indexOf(`/${plural}`) + plural.length + 2);
  return decodeURIComponent(rest.split('/')[0] ?? '');
}
