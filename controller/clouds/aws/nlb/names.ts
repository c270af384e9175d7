import { createHash } from 'node:crypto';
import type { Health } from './network-load-balancer.ts';

/** What cannot be changed on a target group, and so is part of its name. */
export interface TargetGroupKey {
  /** Of the Service. */
  readonly port: number;
  /** That the targets listen on. */
  readonly nodePort: number;
  readonly protocol: string;
  readonly targetType: 'instance' | 'ip';
  readonly health: Pick<Health, 'protocol' | 'interval'>;
}

/** Of target groups and security groups alike. */
export const partNameForm = /^k8s-[0-9A-Za-z]{0,8}-[0-9A-Za-z]{0,8}-[0-9a-f]{10}$/;

const notAlphanumeric = /[^0-9A-Za-z]/g;

/** `k8s-<namespace>-<name>-`: how all target groups of a Service begin. */
export function targetGroupPrefix(service: string): string {
  const [namespace = '', name = ''] = service.split('/');
  return `k8s-${short(namespace)}-${short(name)}-`;
}

/**
 * As the classic AWS controller names it, byte for byte, so that its target groups can be adopted.
 *
 * @param service `namespace/name`
 */
export function targetGroupName(clusterId: string, service: string, key: TargetGroupKey): string {
  const [namespace = '', name = ''] = service.split('/');
  const { port, nodePort, protocol, targetType, health } = key;
  const parts = [clusterId, namespace, name, port, nodePort, protocol, targetType, health.protocol, health.interval];
  const hash = createHash('sha1').update(parts.join('')).digest('hex');
  return `${targetGroupPrefix(service)}${hash.slice(0, 10)}`;
}

/** The classic AWS controller's name of the security group that it makes for a network load balancer. */
export function securityGroupName(clusterName: string, service: string, uid: string): string {
  const [namespace = '', name = ''] = service.split('/');
  const hash = createHash('sha256').update([clusterName, name, namespace, uid].join('')).digest('hex');
  return `${targetGroupPrefix(service)}${hash.slice(0, 10)}`;
}

function short(text: string): string {
  return text.replace(notAlphanumeric, '').slice(0, 8);
}
