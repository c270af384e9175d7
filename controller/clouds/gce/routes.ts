import { createHash } from 'node:crypto';
import type { compute_v1 } from '@googleapis/compute';
import { CloudError, isCloudError } from '../../../common/cloud-error.ts';
import type { Clock } from '../../../common/process/clock.ts';
import { restOrAbort } from '../../../common/process/until.ts';
import { gce as providerId } from '../../../common/provider-id/gce.ts';
import type { AnswerFields } from '../answer-fields.ts';
import { normalCidr } from '../ip-address.ts';
import type { ApplyOptions } from '../permit.ts';
import type { DesiredRoute, ObservedRoute, Routes } from '../routes.ts';
import { fieldsOf, type GceClient, lastSegment } from './client.ts';
import { cloud, saysMissing, throwProved } from './fault.ts';

export interface RouteOptions {
  readonly client: GceClient;
  readonly clock: Clock;
  /** Id of the project of the instances. Throws a CloudError. */
  project(): string;
  /** Where the routes are, and for which network: its name. */
  network(): Promise<{ readonly project: string; readonly name: string }>;
  /** Our id of the instance; undefined: it is none of this project. */
  idOf(providerID: string): string | undefined;
}

/** What a description of ours begins with; the classic controller's is this word alone. */
const classicMark = 'k8s-node-route';
const priority = 1000;
/** For how long a table that was read says that a destination is free. */
const recentMs = 30_000;
const [takenTries, takenMs] = [10, 1000];
const routeFields = fieldsOf<Route>('name', 'description', 'destRange', 'network', 'nextHopInstance');
const listFields = `items(${routeFields},warnings/code),warning/code,nextPageToken`;
type Route = compute_v1.Schema$Route;

/**
 * Pod routes of one network. The description says whose a route is. Two routes may have one destination, so a create
 * looks for others first, in a table that was read a moment ago if there is one. A second one of ours is refused by its
 * name.
 */
export function createRoutes({ client, clock, project, network, idOf }: RouteOptions): Routes {
  let latest: { readonly sinceMs: number; readonly routes: readonly ObservedRoute[] } | undefined;
  const base = async () => `/projects/${(await network()).project}/global/routes`;

  async function list(cluster: string, destination: string | undefined, signal: AbortSignal | undefined) {
    // The API writes IPv6 in another way, and filters compare texts.
    const isText = destination !== undefined && !destination.includes(':');
    const filter = isText ? [['filter', `destRange = "${destination}"`] as const] : [];
    const items = await client.list({
      path: await base(),
      operation: 'routes.list',
      signal,
      urgency: destination === undefined ? 'refresh' : 'change',
      query: [...filter, ['fields', listFields]],
    });
    const { name } = await network();
    return items
      .filter((route) => lastSegment(route.text('network')) === name)
      .map((route) => observed(route, cluster, project()));
  }

  /** Throws what prevents a route to the instance. */
  async function assertForwards(id: string, destination: string, signal: AbortSignal | undefined): Promise<void> {
    const [, zone, name] = id.split('/');
    const resource = `zones/${zone}/instances/${name}`;
    const query = [['fields', 'canIpForward,networkInterfaces/aliasIpRanges']] as const;
    const request = { path: `/projects/${project()}/${resource}`, query, urgency: 'change', signal } as const;
    const vm = await client.call({ ...request, operation: 'instances.get' }).catch(throwProved(resource));
    const aliases = vm.optionalObjects('networkInterfaces').flatMap((nic) => nic.optionalObjects('aliasIpRanges'));
    if (aliases.some((alias) => normalCidr(alias.text('ipCidrRange')) === destination))
      throw invalid(`${destination} is an alias range of ${name}: no route is needed, see --configure-cloud-routes`);
    if (vm.optionalFlag('canIpForward') !== true)
      throw invalid(`${name} forwards no packets: create it with --can-ip-forward`);
  }

  async function create(route: DesiredRoute, options: ApplyOptions): Promise<ObservedRoute> {
    const { signal } = options;
    const id = idOf(route.providerID);
    if (id === undefined) throw invalid(`providerID: ${route.providerID}, expected an instance of ${project()}`);
    const destination = normalCidr(route.destination);
    if (destination === undefined) throw invalid(`destination: ${JSON.stringify(route.destination)}, expected a CIDR`);
    const standing = async (table?: readonly ObservedRoute[]) => {
      const routes = table ?? (await list(route.cluster, destination, signal));
      const [other, ...others] = routes.filter((one) => one.destination === destination);
      if (other === undefined) return undefined;
      if (others.length === 0 && other.providerID === route.providerID && !other.blackhole) return other;
      const message = `${other.id} has the destination ${destination} already`;
      throw new CloudError({ kind: 'Conflict', cloud, operation: 'routes.insert', message });
    };
    const isRecent = latest !== undefined && clock.monotonic() - latest.sinceMs <= recentMs;
    const there = await standing(isRecent ? latest?.routes : undefined);
    if (there !== undefined) return there;
    await assertForwards(id, destination, signal);
    const [, zone, instance] = id.split('/');
    const target = await network();
    // cloud.google.com/vpc/docs/static-routes, "Next hops and features".
    if (target.project !== project())
      throw invalid(`a route of ${target.project} cannot lead to an instance of ${project()}: give pods alias ranges`);
    const name = nameOf(route);
    const body = {
      name,
      destRange: destination,
      priority,
      description: descriptionOf(route),
      network: `projects/${target.project}/global/networks/${target.name}`,
      nextHopInstance: `projects/${project()}/zones/${zone}/instances/${instance}`,
    } satisfies Route;
    try {
      const request = { method: 'POST', path: await base(), operation: 'routes.insert', body } as const;
      await client.change(request, options);
    } catch (error) {
      if (!isCloudError(error) || error.kind !== 'Taken') throw error;
      // The answer to an earlier create was lost, and its operation may still run: no list shows the route until then.
      for (let tries = 1; ; tries += 1) {
        const made = await standing();
        if (made !== undefined) return made;
        if (tries === takenTries) throw error;
        await restOrAbort(clock, takenMs, signal);
      }
    }
    return { id: name, destination, providerID: route.providerID, blackhole: false, ours: true };
  }

  return {
    tagged: true,
    async observe(cluster, signal) {
      const sinceMs = clock.monotonic();
      const routes = await list(cluster, undefined, signal);
      latest = { sinceMs, routes };
      return { quota: undefined, routes };
    },
    create,
    async remove({ id }, options) {
      // It no longer says who has the destination.
      latest = undefined;
      const path = `${await base()}/${encodeURIComponent(id)}`;
      try {
        await client.change({ method: 'DELETE', path, operation: 'routes.delete' }, options);
      } catch (error) {
        if (saysMissing(error, `global/routes/${id}`)) return;
        throwProved(`global/routes/${id}`)(error);
      }
    },
  };
}

/** Of the node and the destination: a node has a route for each family. At most 63 characters. */
function nameOf({ cluster, nodeUid, destination }: DesiredRoute): string {
  const hash = createHash('sha256').update(`${cluster} ${destination}`).digest('hex').slice(0, 8);
  return `k8s-${nodeUid}-${hash}`;
}

function descriptionOf({ cluster, node }: Pick<DesiredRoute, 'cluster' | 'node'>): string {
  return `${classicMark} mooring.dev/cluster=${cluster} node=${node}`;
}

function observed(route: AnswerFields, cluster: string, project: string): ObservedRoute {
  const hop = /\/?projects\/([^/]+)\/zones\/([^/]+)\/instances\/([^/]+)$/.exec(
    route.optionalText('nextHopInstance') ?? '',
  );
  const blackhole = route.optionalObjects('warnings').some((warning) => warning.optionalText('code') === gone);
  const instanceId = hop === null || hop[1] !== project ? undefined : hop.slice(1).join('/');
  const range = route.text('destRange');
  const description = route.optionalText('description') ?? '';
  const isDescribed = description.startsWith(`${classicMark} mooring.dev/cluster=${cluster} `);
  return {
    id: route.text('name'),
    destination: normalCidr(range) ?? range,
    providerID: instanceId === undefined || blackhole ? undefined : providerId.print({ instanceId }),
    blackhole,
    // The network of a Shared VPC has routes to the cluster's VMs of other projects, too.
    ours: instanceId === undefined ? false : description === classicMark ? undefined : isDescribed,
  };
}

const gone = 'NEXT_HOP_INSTANCE_NOT_FOUND';

function invalid(message: string): CloudError {
  return new CloudError({ kind: 'Invalid', cloud, operation: 'routes.insert', message });
}
