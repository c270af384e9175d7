import type { ServiceView } from '../model/service-view.ts';

/** All fields of a Service that its load balancer depends on, without what we write ourselves, as one text. Pure. */
export function fingerprintOf({ ports, sourceRanges, ...service }: ServiceView): string {
  const { type, sessionAffinity, affinityTimeout, externalTrafficPolicy, healthCheckNodePort } = service;
  const { ipFamilies, loadBalancerIP, annotations } = service;
  const { 'mooring.dev/load-balancer': _, ...read } = annotations;
  return JSON.stringify([
    [type, ports, sourceRanges, sessionAffinity, affinityTimeout, externalTrafficPolicy, healthCheckNodePort],
    [ipFamilies, loadBalancerIP, read],
  ]);
}
