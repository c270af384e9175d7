import { annotations as annotationKeys } from '../../../common/well-known.ts';
import type { ConfiguredCloud } from '../../model/configured-cloud.ts';
import type { ServiceView } from '../../model/service-view.ts';
import { intentOf } from '../intent.ts';
import { parseRecord } from '../record.ts';
import type { LoadBalancerCondition } from '../service-patches.ts';
import { chooseCloud, servingClouds } from '../serving-cloud.ts';

/**
 * Why no configured cloud serves any Service; undefined when one does. Clouds whose account is not known come first:
 * the Service could belong to one of them. Pure.
 */
export function whyUnserved(configured: readonly ConfiguredCloud[]): LoadBalancerCondition | undefined {
  const unidentified = configured.filter((cloud) => cloud.unidentified !== undefined).map(({ name }) => name);
  if (unidentified.length > 0)
    return {
      reason: 'AwaitingCloud',
      message: `Services wait until the account of every cloud is known; not yet known: ${unidentified.join(', ')}`,
    };
  if (servingClouds(configured).length > 0) return undefined;
  const names = configured.map(({ name, api }) => (api === undefined ? `${name} (report-only)` : name));
  const message =
    names.length === 0 ? 'no cloud is configured' : `no configured cloud has load balancers: ${names.join(', ')}`;
  return { reason: 'Unsupported', message };
}

/**
 * - `unserved`: it asks for a load balancer, has no address, and no configured cloud serves it
 * - `otherClass`: its class is left to another controller, which gave it no address yet
 * - `none`: it asks for nothing, has an address, or a configured cloud serves it
 */
export type Verdict =
  | { readonly kind: 'unserved'; readonly condition: LoadBalancerCondition }
  | { readonly kind: 'otherClass' | 'none' };

/**
 * Whether this Service needs the condition. One with an address is served, by another controller such as
 * MetalLB or by a load balancer that stands. Pure.
 *
 * @param why from `whyUnserved`
 * @param classes `--load-balancer-class`
 */
export function judgeService(
  service: ServiceView,
  why: LoadBalancerCondition | undefined,
  classes: readonly string[],
): Verdict {
  const isRecorded = parseRecord(service.annotations[annotationKeys.loadBalancer]) !== undefined;
  const intent = intentOf(service, classes);
  if (intent === 'none' && service.type === 'LoadBalancer' && !service.deleting)
    return { kind: service.ingress.length === 0 ? 'otherClass' : 'none' };
  if (why === undefined) return { kind: 'none' };
  // Our finalizer keeps it until its load balancer is proved gone.
  if (intent === 'remove' && isRecorded) return { kind: 'unserved', condition: unservedRecord(service, why) };
  if (intent !== 'ensure' || service.ingress.length > 0) return { kind: 'none' };
  return { kind: 'unserved', condition: isRecorded ? unservedRecord(service, why) : why };
}

function unservedRecord(service: ServiceView, why: LoadBalancerCondition): LoadBalancerCondition {
  if (why.reason === 'AwaitingCloud') return why;
  const choice = chooseCloud(service, []);
  return 'cloud' in choice ? why : choice;
}
