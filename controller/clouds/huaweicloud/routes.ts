import { CloudError, isCloudError } from '../../../common/cloud-error.ts';
import { huaweicloud } from '../../../common/provider-id/huaweicloud.ts';
import type { AnswerFields } from '../answer-fields.ts';
import { createBatches, type PendingChange, sendTogether } from '../change-batches.ts';
import { normalCidr } from '../ip-address.ts';
import { unlessNotFound } from '../not-found.ts';
import { inParallel } from '../parallel.ts';
import type { DesiredRoute, ObservedRoute, Routes } from '../routes.ts';
import type { HuaweiClient } from './client.ts';
import { cloud } from './fault.ts';
import { createServers } from './servers.ts';

/** One destination in the route tables of the VPC. */
export interface HuaweiRoute extends ObservedRoute {
  /** Ids of the tables that have it, with this next hop. */
  readonly tables: readonly string[];
  readonly nexthop: string;
  /** Where it is ours; undefined: nowhere. */
  readonly description: string | undefined;
}

export interface RoutesPlace {
  readonly region: string;
  readonly vpc: string;
}

interface Stored {
  readonly destination: string;
  readonly nexthop: string;
  readonly type: string;
  readonly description: string | undefined;
}
interface Table {
  readonly id: string;
  readonly routes: readonly Stored[];
}
interface Change {
  readonly action: 'add' | 'del';
  readonly route: HuaweiRoute;
}
type Pending = PendingChange<Change, HuaweiRoute>;

const path = '/v1/{project}/routetables';
const readsAtOnce = 4;
const operation = 'routes';

/**
 * The routes of a VPC: each in all its route tables, because a subnet follows its own table alone. Their description
 * says whose they are. Changes of one moment share a call for each table.
 */
export function createRoutes(client: HuaweiClient, { region, vpc }: RoutesPlace): Routes<HuaweiRoute> {
  const ask = createBatches<Change, HuaweiRoute>(cloud, run);

  async function readTables(urgency: 'refresh' | 'change', signal: AbortSignal | undefined): Promise<readonly Table[]> {
    const query = [['vpc_id', vpc]] as const;
    const listed = await client.list({ service: 'vpc', path, query, urgency, signal }, 'routetables');
    if (listed.length === 0) throw invalid(`[Vpc] id: ${JSON.stringify(vpc)}, expected a VPC with a route table`);
    return inParallel(readsAtOnce, listed, async (one) => {
      const id = one.text('id');
      const table = await client.call({ service: 'vpc', path: `${path}/${id}`, urgency, signal });
      return { id, routes: table.object('routetable').objects('routes').map(storedOf) };
    });
  }

  /** What a list leaves out is asked for by its id: a route that seems dead is deleted. */
  async function existingOf(ids: readonly string[], signal: AbortSignal | undefined): Promise<ReadonlySet<string>> {
    if (ids.length === 0) return new Set();
    const servers = createServers(client, region);
    const listed = await servers.all(ids, signal);
    const isThere = async (id: string) =>
      listed.has(id) || (await unlessNotFound(servers.get(id, signal))) !== undefined;
    const all = await inParallel(readsAtOnce, [...new Set(ids)], async (id) => ((await isThere(id)) ? [id] : []));
    return new Set(all.flat());
  }

  async function run(pending: readonly Pending[], signal: AbortSignal): Promise<void> {
    for (const table of await readTables('change', signal)) {
      const needed = pending.filter((one) => !one.done && isNeeded(one, table));
      await writeTable(table, needed, signal).catch(async (error: unknown) => {
        // One that the cloud refuses stops no other.
        if (
          needed.length < 2 ||
          !isCloudError(error) ||
          !['Conflict', 'Invalid', 'NotFound', 'QuotaExceeded'].includes(error.kind)
        )
          throw error;
        for (const one of needed) await writeTable(table, [one], signal).catch(one.reject);
      });
    }
    for (const one of pending) one.resolve(one.change.route);
  }

  async function writeTable(table: Table, pending: readonly Pending[], signal: AbortSignal): Promise<void> {
    await sendTogether(pending, async (permitted, permit) => {
      const routes = { add: permitted.flatMap(addedOf), del: permitted.flatMap(removedOf) };
      const filled = Object.fromEntries(Object.entries(routes).filter(([, some]) => some.length > 0));
      const body = { routetable: { routes: filled } };
      await client.send({ service: 'vpc', path: `${path}/${table.id}`, method: 'PUT', body, permit, signal });
    });
  }

  return {
    tagged: true,
    async observe(cluster, signal) {
      // In this order: the ECS of a route that is seen was there before it.
      const tables = await readTables('refresh', signal);
      const hops = tables.flatMap(({ routes }) =>
        routes.filter(({ type }) => type === 'ecs').map((one) => one.nexthop),
      );
      const existing = await existingOf(hops, signal);
      const found = new Map<string, HuaweiRoute>();
      const description = descriptionOf(cluster);
      for (const { routes } of tables)
        for (const one of routes) {
          const id = `${one.destination}-via-${one.nexthop}`;
          const having = tables.filter((table) => table.routes.some((other) => isSame(one, other)));
          const isOurs = having.some((table) =>
            table.routes.some((other) => isSame(one, other) && other.description === description),
          );
          const providerID = existing.has(one.nexthop) ? providerIDOf(one.nexthop) : undefined;
          found.set(id, {
            id,
            destination: one.destination,
            nexthop: one.nexthop,
            providerID,
            tables: having.map((table) => table.id),
            blackhole: providerID === undefined && one.type === 'ecs',
            // Packets from the subnets of a table that lacks it go nowhere.
            incomplete: having.length < tables.length,
            // A person may have made the same one in some of the tables.
            ours: isOurs,
            description: isOurs ? description : undefined,
          });
        }
      return { quota: undefined, routes: [...found.values()] };
    },
    create: (desired, { permit, signal }) => ask({ action: 'add', route: routeOf(desired) }, permit, signal),
    remove: async (route, { permit, signal }) => void (await ask({ action: 'del', route }, permit, signal)),
  };
}

/** Refuses what another route stands in the way of. */
function isNeeded({ change: { action, route }, reject }: Pending, { routes }: Table): boolean {
  const standing = routes.find(({ destination }) => destination === route.destination);
  if (action === 'del') return standing?.nexthop === route.nexthop && standing.description === route.description;
  if (standing === undefined) return true;
  if (standing.nexthop !== route.nexthop) {
    const message = `${route.destination} is routed to ${standing.nexthop} already`;
    reject(new CloudError({ kind: 'Conflict', cloud, operation, message }));
  }
  return false;
}

function addedOf({ change }: Pending): object[] {
  if (change.action !== 'add') return [];
  const { destination, nexthop, description } = change.route;
  return [{ type: 'ecs', destination, nexthop, description }];
}

function removedOf({ change: { action, route } }: Pending): object[] {
  return action === 'del' ? [{ type: 'ecs', destination: route.destination, nexthop: route.nexthop }] : [];
}

function routeOf({ destination: text, providerID, cluster }: DesiredRoute): HuaweiRoute {
  const nexthop = huaweicloud.parse(providerID)?.instanceId.toLowerCase();
  if (nexthop === undefined) throw invalid(`providerID: ${JSON.stringify(providerID)}, expected an ECS`);
  const destination = normalCidr(text);
  if (destination === undefined) throw invalid(`destination: ${JSON.stringify(text)}, expected a CIDR`);
  const id = `${destination}-via-${nexthop}`;
  const place = { id, destination, nexthop, providerID: providerIDOf(nexthop), tables: [] };
  return { ...place, blackhole: false, ours: true, description: descriptionOf(cluster) };
}

/** The API takes 255 characters without angle brackets. */
function descriptionOf(cluster: string): string {
  return `mooring ${cluster}`;
}

function storedOf(route: AnswerFields): Stored {
  const text = route.text('destination');
  return {
    destination: normalCidr(text) ?? text,
    nexthop: route.optionalText('nexthop')?.toLowerCase() ?? '',
    type: route.text('type'),
    description: route.optionalText('description'),
  };
}

function isSame(one: Stored, other: Stored): boolean {
  return one.destination === other.destination && one.nexthop === other.nexthop;
}

function providerIDOf(instanceId: string): string {
  return huaweicloud.print({ instanceId });
}

function invalid(message: string): CloudError {
  return new CloudError({ kind: 'Invalid', cloud, operation, message });
}
