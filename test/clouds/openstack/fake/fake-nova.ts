import type { ServerResponse } from 'node:http';
import { answerJson, answerNovaFault, answerPage } from './answers.ts';
import type { FakeCall, FakeOpenStack, FakeServer } from './openstack-state.ts';

export function nova(
  fake: FakeOpenStack,
  { path, query, headers }: FakeCall,
  response: ServerResponse,
  url: URL,
): void {
  const asked = String(headers['openstack-api-version'] ?? 'compute 2.1').replace('compute 2.', '');
  const minor = Number(asked);
  if (minor > fake.maxMicroversion) {
    const message =
      `Version 2.${minor} is not supported by the API. Minimum is 2.1 and maximum is ` + `2.${fake.maxMicroversion}.`;
    answerNovaFault(response, 406, 'computeFault', message);
    return;
  }
  if (path === '/servers/detail') {
    const name = query.get('name');
    const hits = [...fake.servers.values()]
      .filter((server) => name === null || new RegExp(name, 'i').test(server.name ?? ''))
      .map((server) => serverJson(server, minor));
    answerPage(fake.pageSize, response, url, 'servers', hits);
    return;
  }
  if (path === '/servers') {
    const short = [...fake.servers.values()].map(({ id, name }) => ({ id, name, links: [] }));
    answerPage(fake.pageSize, response, url, 'servers', short);
    return;
  }
  if (path === '/flavors') {
    answerPage(
      fake.pageSize,
      response,
      url,
      'flavors',
      [...fake.flavors].map(([id, name]) => ({ id, name, links: [] })),
    );
    return;
  }
  const [, collection, id = ''] = path.split('/');
  if (collection === 'servers') {
    const server = fake.servers.get(id);
    if (server === undefined) answerNovaFault(response, 404, 'itemNotFound', `Instance ${id} could not be found.`);
    else answerJson(response, 200, { server: serverJson(server, minor) });
    return;
  }
  const name = collection === 'flavors' ? fake.flavors.get(id) : undefined;
  if (name === undefined) answerNovaFault(response, 404, 'itemNotFound', `Flavor ${id} could not be found.`);
  else answerJson(response, 200, { flavor: { id, name, ram: 2048, vcpus: 1, disk: 20 } });
}

function serverJson(server: FakeServer, minor: number): Record<string, unknown> {
  const { flavor } = server;
  const addresses = Object.fromEntries(
    Object.entries(server.addresses ?? {}).map(([network, list]) => [
      network,
      list.map(({ addr, type }) => ({
        addr,
        version: addr.includes(':') ? 6 : 4,
        'OS-EXT-IPS:type': type,
        'OS-EXT-IPS-MAC:mac_addr': 'fa:16:3e:00:00:01',
      })),
    ]),
  );
  return {
    id: server.id,
    name: server.name ?? 'unnamed',
    ...(server.status === undefined ? {} : { status: server.status }),
    'OS-EXT-STS:task_state': server.taskState ?? null,
    'OS-EXT-STS:vm_state': 'active',
    'OS-EXT-AZ:availability_zone': server.zone ?? '',
    hostId: '2091634baaccdc4c5a1d57069c833e402921df696b7f970791b12ec6',
    accessIPv4: server.accessIPv4 ?? '',
    accessIPv6: server.accessIPv6 ?? '',
    metadata: server.metadata ?? {},
    addresses,
    ...(flavor === undefined
      ? {}
      : {
          flavor:
            minor >= 47
              ? {
                  original_name: flavor.name,
                  vcpus: 1,
                  ram: 2048,
                  disk: 20,
                  ephemeral: 0,
                  swap: 0,
                  extra_specs: flavor.extraSpecs ?? {},
                }
              : { id: flavor.id, links: [{ rel: 'bookmark', href: `http://nova/flavors/${flavor.id}` }] },
        }),
  };
}
