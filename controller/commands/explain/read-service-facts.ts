import type { KubeApi } from '../../kube/api.ts';
import { servicePath, viewService } from '../../model/service-view.ts';
import type { ServiceFacts } from './explain-service.ts';
import { type FactsOptions, readSurroundings } from './surroundings.ts';

/**
 * Reads the facts about a Service. Throws a KubeError when the Service cannot be read; other objects that may not be
 * read are listed as hidden.
 */
export async function readServiceFacts(
  api: KubeApi,
  service: { readonly namespace: string; readonly name: string },
  options: FactsOptions & { readonly loadBalancerClasses: readonly string[] },
): Promise<ServiceFacts> {
  const shown = viewService(await api.call({ verb: 'get', path: servicePath(service) }), () => true);
  const { namespace: eventNamespace, name } = service;
  return {
    ...(await readSurroundings(api, { kind: 'Service', name, uid: shown.uid, eventNamespace }, options)),
    service: shown,
    loadBalancerClasses: options.loadBalancerClasses,
  };
}
