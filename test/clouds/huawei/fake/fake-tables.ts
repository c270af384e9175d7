import type { FakeAnswer, FakeCall, Json } from '../../fake-http.ts';
import { FakeRefusal, markerPage } from './fake-api.ts';
import type { FakeProject } from './fake-project.ts';
import type { FakeRoute, FakeTable } from './fake-table.ts';

/** `/v1/{project}/routetables/...` */
export function answerTables(fake: FakeProject, [id]: readonly string[], call: FakeCall): FakeAnswer {
  const { method, query, body } = call;
  if (id === undefined) {
    const vpc = query.get('vpc_id');
    const all = [...fake.tables.values()].filter((one) => vpc === null || one.vpc === vpc);
    return markerPage('routetables', all.map(showListed), call);
  }
  const table = fake.tables.get(id);
  if (table === undefined) throw new FakeRefusal(404, 'VPC.2701', `RouteTable ${id} could not be found.`, 'plain');
  if (method === 'PUT') change(fake, table, (body['routetable'] as Json | undefined)?.['routes'] as Json | undefined);
  else if (method !== 'GET') throw new FakeRefusal(405, 'VPC.0001', method, 'plain');
  return { status: 200, body: { routetable: { ...showListed(table), routes: table.routes } } };
}

/** All of it, or nothing. */
function change(fake: FakeProject, table: FakeTable, routes: Json = {}): void {
  const [added, removed] = [routes['add'] ?? [], routes['del'] ?? []] as (readonly FakeRoute[])[];
  const left = [...table.routes];
  for (const { destination } of removed!) {
    const at = left.findIndex((one) => one.destination === destination);
    if (at === -1) throw new FakeRefusal(404, 'VPC.2702', `route ${destination} could not be found.`, 'plain');
    left.splice(at, 1);
  }
  for (const { type, destination, nexthop, description = '' } of added!) {
    if (left.some((one) => one.destination === destination))
      throw new FakeRefusal(409, 'VPC.2703', `route ${destination} already exists`, 'plain');
    if (type !== 'ecs' || !fake.servers.has(nexthop))
      throw new FakeRefusal(400, 'VPC.2704', `nexthop ${nexthop} is invalid`, 'plain');
    left.push({ type, destination, nexthop, description });
  }
  if (left.length > fake.maxRoutes) throw new FakeRefusal(409, 'VPC.2706', 'Quota exceeded for routes', 'plain');
  table.routes = left;
}

function showListed({ id, name, isDefault, vpc }: FakeTable): Json {
  return {
    id,
    name,
    default: isDefault,
    vpc_id: vpc,
    subnets: [],
    tenant_id: 't',
    description: '',
    created_at: '2026-02-08T16:02:37',
    updated_at: '2026-02-08T16:02:37',
  };
}
