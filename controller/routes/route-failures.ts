import { conditions } from '../../common/well-known.ts';
import { conditionOf, type NodeView } from '../model/node-view.ts';
import { eventTarget } from '../nodes/node-context.ts';
import { waitsForRoutes } from '../nodes/patches.ts';
import type { RouteStatus } from './network-condition.ts';
import type { RouteEventReason, RouteReason } from './reasons.ts';
import type { RouteContext } from './route-context.ts';

type Missing = Extract<RouteStatus, { kind: 'missing' }>;

/** Which routes could not be created, and why. Keys are `destination uid`. */
export interface RouteFailures {
  get(key: string): Missing | undefined;
  entries(): Iterable<readonly [key: string, failure: Missing]>;
  set(key: string, failure: Missing): void;
  clear(key: string): void;
  /** Drops all other entries. @param shown the ranges that are refused, or would be today: what was said stands */
  keepOnly(keys: ReadonlySet<string>, shown?: ReadonlyMap<string, unknown>): void;
  /** Emits an event on the Node, once per reason. */
  announce(node: NodeView, destination: string, reason: Exclude<RouteReason, 'RouteCreated'>, message: string): void;
  /** Emits one event on the Node: the route that leads to it would not be created today. */
  tolerate(node: NodeView, destination: string, message: string): void;
}

export function createRouteFailures({ events, log }: Pick<RouteContext, 'events' | 'log'>): RouteFailures {
  const failed = new Map<string, Missing>();
  /** By uid and destination. Small: it contains failures only. */
  const announced = new Map<string, string>();

  return {
    get: (key) => failed.get(key),
    entries: () => failed.entries(),
    set: (key, failure) => failed.set(key, failure),
    clear(key) {
      failed.delete(key);
      announced.delete(key);
    },
    keepOnly(keys, shown) {
      for (const key of failed.keys()) if (!keys.has(key)) failed.delete(key);
      for (const key of announced.keys()) if (!keys.has(key) && !shown?.has(key)) announced.delete(key);
    },
    tolerate(node, destination, message) {
      const key = `${destination} ${node.uid}`;
      const shown = conditionOf(node, conditions.networkUnavailable);
      const said = shown?.status === 'False' && shown.reason === 'CIDRNotAllowed';
      if (said || announced.get(key) === 'CIDRNotAllowed') return;
      announced.set(key, 'CIDRNotAllowed');
      log.warn('a route would not be created today', { node: node.name, destination, why: message });
      events.emit(eventTarget(node), {
        type: 'Warning',
        reason: 'CIDRNotAllowed' satisfies RouteEventReason,
        message: `The route to ${destination} stays until Node ${node.name} is deleted: ${message}`,
      });
    },
    announce(node, destination, reason, message) {
      const key = `${destination} ${node.uid}`;
      const shown = conditionOf(node, conditions.networkUnavailable);
      const said = shown?.status === 'True' && shown.message !== waitsForRoutes.message ? shown.reason : undefined;
      if ((announced.get(key) ?? said) === reason) return;
      announced.set(key, reason);
      log.warn('no route to the pods of a Node', { node: node.name, destination, reason, why: message });
      events.emit(eventTarget(node), {
        type: 'Warning',
        reason: 'FailedToCreateRoute' satisfies RouteEventReason,
        message: `Could not create route to ${destination} for Node ${node.name}: ${reason}: ${message}`,
      });
    },
  };
}
