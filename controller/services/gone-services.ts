import { annotations as annotationKeys } from '../../common/well-known.ts';
import type { ObservedLoadBalancer } from '../clouds/load-balancers.ts';
import type { ServiceView } from '../model/service-view.ts';
import { parseRecord, printRecord } from './record.ts';
import type { ServiceStates } from './service-state.ts';

/** The load balancer of a Service that no longer exists. */
export interface HeldFor {
  readonly scope: string;
  readonly observed: ObservedLoadBalancer;
}

/** Notes that a Service no longer exists, with a record of where its load balancer is. Returns whether there is one. */
export function noteGone(states: ServiceStates, service: ServiceView, held: HeldFor | undefined): boolean {
  const isRecorded = parseRecord(service.annotations[annotationKeys.loadBalancer]) !== undefined;
  if (!isRecorded && held === undefined) return false;
  const { uid } = service;
  if (states.get(uid)?.gone === undefined) states.setGone(uid, isRecorded ? service : withRecord(service, held!));
  return true;
}

function withRecord(service: ServiceView, { scope, observed: { id } }: HeldFor): ServiceView {
  const record = printRecord({ scope, id });
  return { ...service, annotations: { ...service.annotations, [annotationKeys.loadBalancer]: record } };
}

/** The view of a deleted Service, rebuilt from the tags in a cloud. */
export function viewOfTags(uid: string, key: string): ServiceView {
  const [namespace = '', name = ''] = key.split('/');
  return {
    key,
    namespace,
    name,
    uid,
    resourceVersion: '',
    deleting: true,
    finalizers: [],
    type: 'LoadBalancer',
    loadBalancerClass: '',
    ports: [],
    sourceRanges: [],
    sessionAffinity: 'None',
    affinityTimeout: undefined,
    externalTrafficPolicy: 'Cluster',
    healthCheckNodePort: 0,
    ipFamilies: [],
    ipFamilyPolicy: '',
    loadBalancerIP: '',
    allocateNodePorts: true,
    annotations: {},
    ingress: [],
    condition: undefined,
  };
}
