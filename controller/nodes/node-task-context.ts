import type { Clock } from '../../common/process/clock.ts';
import type { Log } from '../../common/process/log.ts';
import type { Random } from '../../common/process/random.ts';
import type { EventSink } from '../kube/event-sink.ts';
import type { Informer } from '../kube/informer.ts';
import type { NodeView } from '../model/node-view.ts';
import type { Resolver } from './resolve.ts';

/** The dependencies that all tasks about Nodes share: initialisation, routes, pod ranges, tags of instances. */
export interface NodeTaskContext {
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  readonly nodes: Informer<NodeView>;
  readonly resolver: Resolver;
  readonly events: EventSink;
  /** True while everything is paused. */
  paused(): boolean;
}
