import { annotations as annotationKeys, conditions, finalizers } from '../../common/well-known.ts';
import type { Ingress } from '../clouds/load-balancers.ts';
import {
  cleanupFinalizers,
  hasFinalizer,
  type IngressView,
  type PortStatus,
  type ServiceView,
} from '../model/service-view.ts';
import { conditionMessage } from '../nodes/patches.ts';
import { type LoadBalancerReason, statusOf } from './reasons.ts';

/** The condition CloudLoadBalancer, without its status, which follows from the reason. */
export interface LoadBalancerCondition {
  readonly reason: LoadBalancerReason;
  readonly message: string;
}

/** A change of a Service; fields that are left out stay. */
export interface ServiceChange {
  /** `removeAll`: those of the cloud's classic controller, too. */
  readonly finalizer?: 'add' | 'remove' | 'removeAll';
  /** Text of the record; null removes it. */
  readonly record?: string | null;
  /** The whole list; empty removes it. */
  readonly ingress?: readonly IngressView[];
  /** Null removes the condition. */
  readonly condition?: LoadBalancerCondition | null;
}

/**
 * One strategic merge patch for `services/<s>/status`, guarded by the resourceVersion. The API server also applies
 * changes of metadata that are sent there (observed on a real server), and ignores the spec. Undefined when there is
 * nothing to change. Pure.
 */
export function servicePatch(service: ServiceView, change: ServiceChange, nowMs: number): object | undefined {
  const metadata = { ...finalizerPatch(service, change.finalizer), ...recordPatch(service, change.record) };
  const status = { ...ingressPatch(service, change.ingress), ...conditionPatch(service, change.condition, nowMs) };
  if (Object.keys(metadata).length === 0 && Object.keys(status).length === 0) return undefined;
  return {
    metadata: { resourceVersion: service.resourceVersion, ...metadata },
    ...(Object.keys(status).length > 0 ? { status } : {}),
  };
}

function finalizerPatch(service: ServiceView, desired: ServiceChange['finalizer']): object {
  const name = finalizers.loadBalancerCleanup;
  if (desired === undefined) return {};
  if (desired === 'add') return hasFinalizer(service) ? {} : { finalizers: [name] };
  const removed = cleanupFinalizers(service).filter((one) => desired === 'removeAll' || one === name);
  return removed.length === 0 ? {} : { '$deleteFromPrimitiveList/finalizers': removed };
}

function recordPatch(service: ServiceView, desired: string | null | undefined): object {
  const held = service.annotations[annotationKeys.loadBalancer];
  if (desired === undefined || (desired ?? undefined) === held) return {};
  return { annotations: { [annotationKeys.loadBalancer]: desired } };
}

function ingressPatch(service: ServiceView, desired: readonly IngressView[] | undefined): object {
  if (desired === undefined || sameIngress(service.ingress, desired)) return {};
  return { loadBalancer: { ingress: desired.length > 0 ? desired : null } };
}

function conditionPatch(
  service: ServiceView,
  desired: LoadBalancerCondition | null | undefined,
  nowMs: number,
): object {
  const held = service.condition;
  const type = conditions.loadBalancer;
  if (desired === undefined) return {};
  if (desired === null) return held === undefined ? {} : { conditions: [{ type, $patch: 'delete' }] };
  const status = statusOf(desired.reason);
  const message = conditionMessage(desired.message);
  if (held?.status === status && held.reason === desired.reason && held.message === message) return {};
  const flips = held?.status !== status || held.lastTransitionTime === undefined;
  const lastTransitionTime = flips ? new Date(nowMs).toISOString().replace(/\.\d+Z$/, 'Z') : held.lastTransitionTime;
  return { conditions: [{ type, status, reason: desired.reason, message, lastTransitionTime }] };
}

/**
 * The ingress of the status: every address with the Service's ports. `ipMode` only beside an IP, because the API server
 * accepts it nowhere else. Pure.
 *
 * @param faults by `protocol/port`: why a port is not served, as a code
 */
export function ingressOf(
  service: Pick<ServiceView, 'ports'>,
  ingress: readonly Ingress[],
  faults: ReadonlyMap<string, string> = new Map(),
): readonly IngressView[] {
  const ports = service.ports.map(({ port, protocol }): PortStatus => {
    const error = faults.get(`${protocol}/${port}`);
    return { port, protocol, ...(error === undefined ? {} : { error }) };
  });
  return ingress.map(({ ip, hostname, ipMode }) => ({
    ...(ip === undefined ? {} : { ip, ipMode: ipMode ?? 'VIP' }),
    ...(hostname === undefined ? {} : { hostname }),
    ports,
  }));
}

/** Equal in address, mode and ports, in this order; an address without a mode is a VIP. */
export function sameIngress(a: readonly IngressView[], b: readonly IngressView[]): boolean {
  return JSON.stringify(a.map(normal)) === JSON.stringify(b.map(normal));
}

function normal({ ip, hostname, ipMode, ports = [] }: IngressView): unknown {
  return [
    ip ?? '',
    hostname ?? '',
    ip ? (ipMode ?? 'VIP') : '',
    ports.map(({ port, protocol, error }) => [port, protocol, error ?? '']),
  ];
}
