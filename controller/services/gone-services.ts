import { annotations as annotationKeys } from '../../common/well-known.ts';
import type { ObservedLoadBalancer } from '../clouds/load-balancers.ts';
import type { ServiceView } from '../model/service-view.ts';
import type { Observations } from './observations.ts';
import { printRecord } from './record.ts';
import type { ServiceStates } from './service-state.ts';
import type { ServingCloud } from './serving-cloud.ts';
import { storedRecord } from './situation.ts';

/** The load balancer of a Service that no longer exists. */
export interface HeldFor {
  readonly scope: string;
  readonly observed: ObservedLoadBalancer;
}

/** What carries our marks for a Service, as of the last reads. */
export function heldFor(
  uid: string,
  clouds: readonly ServingCloud[],
  observations: Pick<Observations, 'of'>,
): (HeldFor & { readonly cloud: ServingCloud }) | undefined {
  for (const cloud of clouds) {
    const { scope } = cloud;
    const observed = observations.of(scope, uid)?.observed;
    if (observed?.owner?.service === uid) return { cloud, scope, observed };
  }
  return undefined;
}

/** The cloud whose load balancer carries our marks for a Service that lost its record, as after `kubectl replace`. */
export function unrecordedIn(
  service: ServiceView,
  clouds: readonly ServingCloud[],
  observations: Pick<Observations, 'of'>,
): ServingCloud | undefined {
  if (storedRecord(service) !== undefined) return undefined;
  const { cloud, observed } = heldFor(service.uid, clouds, observations) ?? {};
  // Parts alone may be what others use, and stay.
  return observed?.id === undefined || observed.attached || observed.retained ? undefined : cloud;
}

/** Notes that a Service no longer exists, with a record of where its load balancer is. Returns whether there is one. */
export function noteGone(states: ServiceStates, service: ServiceView, held: HeldFor | undefined): boolean {
  const isRecorded = storedRecord(service) !== undefined;
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
    classicFinalizers: [],
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
