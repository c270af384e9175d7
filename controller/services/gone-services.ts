import { annotations as annotationKeys } from '../../common/well-known.ts';
import type { ObservedLoadBalancer } from '../clouds/load-balancers.ts';
import type { ServiceView } from '../model/service-view.ts';
import { append } from '../runtime/append.ts';
import { parseRecord, printRecord } from './record.ts';

/** Services that are no longer there and whose load balancers may be. */
export interface GoneServices {
  /** @param held what a cloud is known to have for it */
  note(
    service: ServiceView,
    held: { readonly scope: string; readonly observed: ObservedLoadBalancer } | undefined,
  ): boolean;
  /** Those of one name, as they were last seen, each with a record of where to look. */
  of(key: string): readonly ServiceView[];
  keys(): readonly string[];
  done(service: ServiceView): void;
}

export function createGoneServices(): GoneServices {
  const gone = new Map<string, ServiceView[]>();

  return {
    note(service, held) {
      const recorded = parseRecord(service.annotations[annotationKeys.loadBalancer]) !== undefined;
      if (!recorded && held === undefined) return false;
      if (gone.get(service.key)?.some(({ uid }) => uid === service.uid)) return true;
      append(gone, service.key, recorded ? service : withRecord(service, held));
      return true;
    },
    of: (key) => [...(gone.get(key) ?? [])],
    keys: () => [...gone.keys()],
    done({ key, uid }) {
      const left = (gone.get(key) ?? []).filter((one) => one.uid !== uid);
      if (left.length > 0) gone.set(key, left);
      else gone.delete(key);
    },
  };
}

function withRecord(
  service: ServiceView,
  held: { readonly scope: string; readonly observed: ObservedLoadBalancer } | undefined,
): ServiceView {
  if (held === undefined) return service;
  const record = printRecord({ scope: held.scope, id: held.observed.id });
  return { ...service, annotations: { ...service.annotations, [annotationKeys.loadBalancer]: record } };
}

/** What is left to know of a Service that only tags in a cloud still tell of. */
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
