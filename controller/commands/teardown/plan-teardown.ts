import { CloudError } from '../../../common/cloud-error.ts';
import type { Clock } from '../../../common/process/clock.ts';
import type { Log } from '../../../common/process/log.ts';
import type { LoadBalancerRef, ObservedLoadBalancer } from '../../clouds/load-balancers.ts';
import type { ObservedRoute, Routes } from '../../clouds/routes.ts';
import type { KubeApi } from '../../kube/api.ts';
import type { ConfiguredCloud } from '../../model/configured-cloud.ts';
import { isPaused, isRetained, type ServiceView } from '../../model/service-view.ts';
import type { CheckVisibility } from '../../services/credential-visibility.ts';
import { declareServices } from '../../services/declare-services.ts';
import { adoptableOf, type ClusterIdentity } from '../../services/desired.ts';
import { intentOf } from '../../services/intent.ts';
import { mayRetain, type OperatorPolicy } from '../../services/operator-policy.ts';
import { liveServiceUids } from '../../services/orphans/live-services.ts';
import { serviceViewFor } from '../../services/service-context.ts';
import { type ServingCloud, servingClouds } from '../../services/serving-cloud.ts';

/** The dependencies of a teardown. `api` is only used for reads. */
export interface TeardownContext {
  readonly api: KubeApi;
  readonly clock: Clock;
  readonly log: Log;
  readonly clouds: readonly ConfiguredCloud[];
  readonly cluster: ClusterIdentity;
  /** `--load-balancer-class`. */
  readonly loadBalancerClasses: readonly string[];
  /** Its limit of retained load balancers has no effect: the cluster ends. */
  readonly policy: OperatorPolicy;
  /** `--configure-cloud-routes`. Otherwise routes are neither read nor deleted. Default: yes. */
  readonly routes?: boolean;
  /** Checks the credential's visibility: without it, a full cloud looks empty. */
  readonly checkVisibility: CheckVisibility;
  /** Whether a route without tags is recorded as ours. Default: no. */
  recordedRoute?(scope: string, route: ObservedRoute): boolean;
  /** Told what is read, before each read; undefined when all is read. */
  onRead?(what: string | undefined): void;
}

/** One resource to delete, with its parts. */
export type TeardownItem = {
  readonly scope: string;
  /** The id; the UID of its Service where only parts such as an address are left. */
  readonly target: string;
  /** For people: `load balancer lb-1 of default/web`. */
  readonly what: string;
  /** The planned steps, one line each. */
  readonly steps: readonly string[];
} & (
  | {
      readonly kind: 'load balancer';
      readonly cloud: ServingCloud;
      readonly observed: ObservedLoadBalancer;
      /** Its Service asks for retention, and the operator allows it: only our tags are removed. */
      readonly retain: boolean;
      /** It was adopted and may have none of our tags: the proof that it belongs to this Service. */
      readonly adopt: LoadBalancerRef['adopt'];
    }
  | { readonly kind: 'route'; readonly routes: Routes; readonly route: ObservedRoute }
);

export interface TeardownPlan {
  readonly items: readonly TeardownItem[];
  /** Resources that stay, and why, for people to handle. */
  readonly kept: readonly { readonly scope: string; readonly what: string; readonly why: string }[];
  /**
   * Services that ask for or have a load balancer of ours, `namespace/name`. While there are any, nothing is deleted
   * without `force`.
   */
  readonly services: readonly string[];
}

/**
 * Plans the deletion of all cloud resources that this cluster owns by its tags or by the record of an adoption,
 * including orphans. Complete, or throws a CloudError or KubeError. Reads only.
 *
 * These stay: retained load balancers (and those to be given up, see `isGivenUp`), attached ones (except our parts),
 * those of paused Services, and routes that are not provably ours, or all of them without `--configure-cloud-routes`.
 */
export async function planTeardown(context: TeardownContext, signal: AbortSignal): Promise<TeardownPlan> {
  const { api, clouds, cluster } = context;
  const askedMs = context.clock.monotonic();
  const byUid = new Map<string, ServiceView>();
  const serving = servingClouds(clouds);
  const view = serviceViewFor(serving);
  await liveServiceUids(api, signal, (raw) => {
    const service = view(raw);
    byUid.set(service.uid, service);
  });
  const services = [...byUid.values()]
    .filter((service) => intentOf(service, context.loadBalancerClasses) !== 'none')
    .map(({ key }) => key)
    .sort();
  const items: TeardownItem[] = [];
  const kept: TeardownPlan['kept'][number][] = [];
  for (const cloud of serving) {
    context.onRead?.(`the load balancers of ${cloud.scope}`);
    // Only recorded adoptions count: teardown itself adopts nothing.
    const adopted = adoptableOf(cluster, byUid.values(), serving, cloud.scope, false);
    const found = await cloud.loadBalancers.observeAll(cluster.uid, signal, adopted);
    // A Service without a load balancer uses no shared resource.
    const users = found.flatMap(({ owner }) => byUid.get(owner?.service ?? '') ?? []);
    declareServices(cloud, users, { ...context, clouds: serving });
    for (const observed of found) {
      const adopt = adopted.find(({ owner }) => owner.service === observed.owner?.service)?.adopt;
      const item = loadBalancerItem({ ...context, cloud, services: byUid }, observed, adopt);
      if ('why' in item) kept.push(item);
      else items.push(item);
    }
    // The plan of a removal revokes the declaration of its Service, which is served until it is removed.
    declareServices(cloud, users, { ...context, clouds: serving });
  }
  for (const { scope, api: cloud } of clouds) {
    if (cloud?.routes === undefined || context.routes === false) continue;
    const { routes } = cloud;
    context.onRead?.(`the routes of ${scope}`);
    for (const route of (await routes.observe(cluster.uid, signal)).routes) {
      const ours = route.ours ?? context.recordedRoute?.(scope, route) ?? false;
      const what = `route to ${route.destination}${route.providerID === undefined ? '' : ` by ${route.providerID}`}`;
      if (ours) items.push({ kind: 'route', scope, target: route.id, what, steps: [`remove ${what}`], routes, route });
      else if (route.ours === undefined)
        kept.push({ scope, what, why: 'it carries no tags, and nothing recorded says that it is ours' });
    }
  }
  context.onRead?.('instances of Nodes, to see what the credential sees');
  await assertVisibility(context, askedMs);
  context.onRead?.(undefined);
  return { items, kept, services };
}

/** Runs after all reads, because it validates them. */
async function assertVisibility({ clouds, checkVisibility }: TeardownContext, askedMs: number): Promise<void> {
  for (const { name, scope, api: cloud } of clouds) {
    if (cloud === undefined || (await checkVisibility(scope, askedMs)) !== 'not visible') continue;
    const message = `the instances of Ready Nodes were not found in ${scope}: the credential may be of another project`;
    throw new CloudError({ kind: 'Forbidden', cloud: name, operation: 'look for our resources', message });
  }
}

/** Whether it stays in the cloud, without our tags. */
export function isGivenUp(item: TeardownItem): boolean {
  return item.kind === 'load balancer' && item.retain && !item.observed.attached;
}

interface ItemContext extends Pick<TeardownContext, 'cluster' | 'policy'> {
  readonly cloud: ServingCloud;
  readonly services: ReadonlyMap<string, ServiceView>;
}

function loadBalancerItem(
  { cloud, cluster, policy, services }: ItemContext,
  observed: ObservedLoadBalancer,
  adopt: LoadBalancerRef['adopt'],
): TeardownItem | TeardownPlan['kept'][number] {
  const { scope, loadBalancers } = cloud;
  const { id, owner, service, attached } = observed;
  const of = service ?? owner?.service ?? 'an unknown Service';
  const what =
    id === undefined
      ? `what is left of the load balancer of ${of}`
      : `${attached ? 'our parts of load balancer' : 'load balancer'} ${id} of ${of}`;
  if (observed.retained) return { scope, what, why: 'it is retained: a Service asked for it' };
  if (owner?.cluster !== cluster.uid) return { scope, what, why: 'its tags do not name this cluster' };
  const owningService = services.get(owner.service);
  if (owningService && isPaused(owningService)) return { scope, what, why: 'its Service is paused' };
  const asks = owningService !== undefined && isRetained(owningService);
  const retain = asks && mayRetain(policy, owningService);
  const { steps } = loadBalancers.planRemoval(owner, { retain });
  return {
    kind: 'load balancer',
    scope,
    target: id ?? owner.service,
    what: asks && !retain ? `${what}, whose retention --allow-retain does not allow` : what,
    steps: steps.map(({ summary }) => summary),
    cloud,
    observed,
    retain,
    adopt,
  };
}
