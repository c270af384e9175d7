import type { FakeAnswer, FakeCall, Json } from '../../fake-http.ts';
import { FakeRefusal } from './fake-api.ts';
import type { FakeProject } from './fake-project.ts';
import type { FakeServer } from './fake-server.ts';

/** `/v1/{project}/cloudservers/...` */
export function answerServers({ servers }: FakeProject, [id]: readonly string[], call: FakeCall): FakeAnswer {
  if (call.method !== 'GET') throw new FakeRefusal(405, 'Ecs.0001', call.method, 'error');
  if (id === 'detail') return pageOf([...servers.values()], call.query);
  const server = servers.get(id ?? '');
  if (server === undefined) throw new FakeRefusal(404, 'Ecs.0114', `Instance[${id}] could not be found.`, 'error');
  return { status: 200, body: { server: showServer(server) } };
}

/** `/v2.1/{project}/servers/{id}/action` */
export function answerAction({ servers }: FakeProject, [id, action]: readonly string[], call: FakeCall): FakeAnswer {
  const server = servers.get(id ?? '');
  if (server === undefined) throw new FakeRefusal(404, 'Ecs.0114', `Instance[${id}] could not be found.`, 'error');
  const added = (call.body['addSecurityGroup'] as Json | undefined)?.['name'];
  if (action !== 'action' || typeof added !== 'string') throw new FakeRefusal(400, 'Ecs.0005', 'action', 'error');
  server.groups = [...new Set([...server.groups, added])];
  return { status: 202 };
}

/** The offset counts pages. The name is a pattern, and one that stands anywhere. */
function pageOf(all: readonly FakeServer[], query: URLSearchParams): FakeAnswer {
  const [limit, page] = [Math.min(Number(query.get('limit') ?? 25), 1000), Number(query.get('offset') ?? 1)];
  const name = query.get('name');
  const address = query.get('ip_eq');
  const hits = all
    .filter((one) => name === null || new RegExp(name).test(one.name))
    .filter((one) => address === null || [one.address, ...(one.further ?? [])].includes(address));
  const servers = hits.slice((page - 1) * limit, page * limit).map(showServer);
  return { status: 200, body: { count: hits.length, servers } };
}

function showServer(one: FakeServer): Json {
  const place = (addr: string, type: 'fixed' | 'floating', isPrimary: boolean): Json => ({
    version: '4',
    addr,
    primary: isPrimary,
    'OS-EXT-IPS:type': type,
    'OS-EXT-IPS-MAC:mac_addr': 'fa:16:3e:7c:1d:5a',
    'OS-EXT-IPS:port_id': one.id.replace(/^./, 'a'),
  });
  return {
    id: one.id,
    name: one.name,
    status: one.status,
    'OS-EXT-AZ:availability_zone': one.zone,
    accessIPv4: '',
    accessIPv6: '',
    hostId: '',
    key_name: 'key',
    progress: 0,
    config_drive: '',
    locked: false,
    user_id: 'u',
    tenant_id: 't',
    created: '2026-02-08T16:02:37Z',
    updated: '2026-02-08T16:02:37Z',
    host_status: 'UP',
    flavor: { id: one.flavor, name: one.flavor, vcpus: '2', ram: '4096', disk: '0', gpus: [] },
    addresses: {
      [one.vpc]: [
        ...(one.further ?? []).map((address) => place(address, 'fixed', false)),
        place(one.address, 'fixed', true),
        ...(one.elastic === '' ? [] : [place(one.elastic, 'floating', true)]),
      ],
    },
    metadata: { vpc_id: one.vpc, charging_mode: '0' },
    security_groups: one.groups.map((id) => ({ id, name: 'nodes' })),
    tags: [],
    image: { id: '1189efbf-d48b-46ad-a823-94b942e2a000' },
    'os-extended-volumes:volumes_attached': [],
  };
}
