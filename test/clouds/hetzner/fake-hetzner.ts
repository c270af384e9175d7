import type { Clock } from '../../../common/process/clock.ts';
import { type FakeAnswer, type FakeCall, httpOf, type Json } from '../fake-http.ts';
import { createActions, FakeRefusal, invalidInput, labelsOf, notFound, pageOf, selects } from './fake-api.ts';
import { actOnBalancer, changeBalancer, createBalancer, showBalancer } from './fake-balancers.ts';
import { balancerTypes, type FakeLocation, locations } from './fake-catalog.ts';
import { changeCertificate, createCertificate, showCertificate } from './fake-certificates.ts';
import { assertRoute, type FakeNetwork, showNetwork, takeAddress } from './fake-networks.ts';
import type { FakeHetzner } from './fake-project.ts';
import type { FakeBalancer } from './fake-resources.ts';
import { answerRobot } from './fake-robot.ts';
import { type FakeServer, showServer } from './fake-servers.ts';

export const token = 'hcloud-token-hcloud-token-hcloud-token-hcloud-token-hcloud-token';
export const robotUser = { user: '#ws+abc', password: 'robot-s3cr3t' };

export function createFakeHetzner(clock: Clock): FakeHetzner {
  let last = 4711;
  const nextId = (parts = 0) => {
    last += 1 + parts;
    return last - parts;
  };
  const balancersWhere = (test: (one: FakeBalancer) => boolean) =>
    [...fake.balancers.values()].filter(test).map(({ id }) => id);
  const shownServer = (server: FakeServer) =>
    showServer(
      server,
      balancersWhere(({ targets }) => targets.some((target) => target.server?.id === server.id)),
      fake.showsDatacentre,
    );
  const shownNetwork = (network: FakeNetwork) =>
    showNetwork(
      network,
      [...fake.servers.values()]
        .filter((one) => one.privateNets.some((net) => net.network === network.id))
        .map(({ id }) => id),
      balancersWhere(({ privateNets }) => privateNets.some((net) => net.network === network.id)),
    );

  const collections: Readonly<Record<string, () => Json[]>> = {
    servers: () => [...fake.servers.values()].map(shownServer),
    networks: () => [...fake.networks.values()].map(shownNetwork),
    load_balancers: () => [...fake.balancers.values()].map(fake.showBalancer),
    certificates: () => [...fake.certificates.values()].map((one) => showCertificate(fake, one)),
    locations: () => [...locations],
    load_balancer_types: () => [...balancerTypes],
  };

  function answerCloud(call: FakeCall): FakeAnswer {
    const [, collection = '', id, actions, command] = call.path.split('/');
    const { method } = call;
    if (collection === 'actions') {
      const ids = id === undefined ? call.query.getAll('id').map(Number) : [Number(id)];
      const shown = fake.actions.shown(ids);
      if (id === undefined) return pageOf('actions', shown, call.query);
      if (shown[0] === undefined) throw notFound('action');
      return { status: 200, body: { action: shown[0] } };
    }
    const all = collections[collection];
    if (all === undefined) throw notFound(`path ${call.path}`);
    if (id === undefined && method === 'GET') return pageOf(collection, all(), call.query);
    if (id === undefined && collection === 'load_balancers') return createBalancer(fake, call);
    if (id === undefined && collection === 'certificates') return createCertificate(fake, call);
    if (id === undefined) throw new FakeRefusal(405, 'method_not_allowed', `${method} ${call.path}`);
    const shown = all().find((one) => one['id'] === Number(id));
    const single = collection.replace(/s$/, '');
    if (shown === undefined) throw notFound(single);
    if (method === 'GET' && actions === undefined) return { status: 200, body: { [single]: shown } };
    const balancer = collection === 'load_balancers' ? fake.balancers.get(Number(id)) : undefined;
    if (balancer !== undefined && command !== undefined) return actOnBalancer(fake, balancer, command, call);
    if (balancer !== undefined) return changeBalancer(fake, balancer, call);
    const certificate = collection === 'certificates' ? fake.certificates.get(Number(id)) : undefined;
    if (certificate !== undefined && command === undefined) return changeCertificate(fake, certificate, call);
    const network = collection === 'networks' ? fake.networks.get(Number(id)) : undefined;
    if (network !== undefined && command !== undefined) return actOnNetwork(network, command, call.body);
    const server = collection === 'servers' ? fake.servers.get(Number(id)) : undefined;
    if (server !== undefined && method === 'PUT') {
      server.labels = labelsOf(call.body, server.labels);
      return { status: 200, body: { server: shownServer(server) } };
    }
    throw new FakeRefusal(405, 'method_not_allowed', `${method} ${call.path}`);
  }

  function actOnNetwork(network: FakeNetwork, command: string, body: Json): FakeAnswer {
    fake.actions.assertUnlocked('network', network.id);
    const is = (route: Json) => route['destination'] === body['destination'] && route['gateway'] === body['gateway'];
    let after = network.routes;
    if (command === 'add_route') after = [...after, assertRoute(network, body, fake.maxRoutes)];
    else if (command !== 'delete_route') throw notFound(`action ${command}`);
    else if (!after.some(is)) throw invalidInput('destination', 'no such route');
    else after = after.filter((route) => !is(route));
    const effect = () => {
      network.routes = after;
    };
    const action = fake.actions.start(command, [{ id: network.id, type: 'network' }], effect);
    return { status: 201, body: { action } };
  }

  function answer(call: FakeCall): FakeAnswer {
    fake.calls.push(call);
    fake.actions.settle();
    const robot = call.path.startsWith('/robot/');
    const headers = {
      'ratelimit-limit': '3600',
      'ratelimit-remaining': '3000',
      'ratelimit-reset': String(Math.ceil(clock.now() / 1000) + 600),
    };
    try {
      const instead = fake.fault?.(call);
      if (instead !== undefined) return instead;
      if (robot) {
        const { user, password } = robotUser;
        const expected = `Basic ${Buffer.from(`${user}:${password}`).toString('base64')}`;
        if (call.authorization !== expected) throw new FakeRefusal(401, 'UNAUTHORIZED', 'Unauthorized');
        return answerRobot(fake.dedicated, { ...call, path: call.path.slice('/robot'.length) });
      }
      if (call.authorization !== `Bearer ${token}`)
        throw new FakeRefusal(401, 'unauthorized', 'unable to authenticate');
      if (fake.isReadOnly && call.method !== 'GET') throw new FakeRefusal(403, 'token_readonly', 'token is read-only');
      const rest = call.path.startsWith('/v1/') ? call.path.slice('/v1'.length) : '';
      return { ...answerCloud({ ...call, path: rest }), headers };
    } catch (error) {
      if (!(error instanceof FakeRefusal)) throw error;
      const { status, code, message, details } = error;
      const body = { ...(robot ? { status } : {}), code, message, ...(details === undefined ? {} : { details }) };
      return { status, headers, body: { error: body } };
    }
  }

  const fake: FakeHetzner = {
    calls: [],
    servers: new Map(),
    networks: new Map(),
    balancers: new Map(),
    certificates: new Map(),
    dedicated: new Map(),
    actions: createActions(clock, nextId),
    maxRoutes: 100,
    maxBalancers: 100,
    showsDatacentre: true,
    isReadOnly: false,
    deletesByAction: true,
    fault: undefined,
    nextId,
    answer,
    now: () => new Date(clock.now()).toISOString(),
    showBalancer: (one) => showBalancer(one, fake.selected),
    selected: (selector) =>
      [...fake.servers.values()]
        .filter(({ labels }) => selects(selector, labels as Readonly<Record<string, string>>))
        .map(({ id }) => id),
    ownsIp: (ip) => [...fake.dedicated.values()].some((server) => server.server_ip === ip) || ip.startsWith('10.'),
    addServer(name, { place = 'fsn1', network } = {}) {
      const id = nextId(3);
      const server: FakeServer = {
        id,
        name,
        created: fake.now(),
        status: 'running',
        privateNets: [],
        labels: {},
        place: locations.find((one) => one.name === place) as FakeLocation,
        ipv4: `198.51.${(id >> 8) % 250}.${id % 250}`,
        ipv6: `2001:db8:${id.toString(16)}::/64`,
      };
      fake.servers.set(id, server);
      const net = network === undefined ? undefined : fake.networks.get(network);
      if (net !== undefined) {
        const ip = takeAddress(net, server.place.network_zone, `server ${id}`);
        server.privateNets.push({ network: net.id, ip, alias_ips: [] });
      }
      return server;
    },
    deleteServer(id) {
      for (const { network, ip } of fake.servers.get(id)?.privateNets ?? [])
        fake.networks.get(network)?.members.delete(ip);
      fake.servers.delete(id);
      for (const one of fake.balancers.values()) one.targets = one.targets.filter(({ server }) => server?.id !== id);
    },
    addNetwork(name, range = '10.0.0.0/8', subnet = '10.0.0.0/16') {
      const gateway = range.replace(/\.0\/\d+$/, '.1');
      const subnets = [{ type: 'cloud', ip_range: subnet, network_zone: 'eu-central', gateway }];
      const network: FakeNetwork = {
        id: nextId(),
        name,
        created: fake.now(),
        ip_range: range,
        subnets,
        routes: [],
        labels: {},
        members: new Map(),
      };
      fake.networks.set(network.id, network);
      return network;
    },
    http: httpOf(answer),
  };
  return fake;
}
