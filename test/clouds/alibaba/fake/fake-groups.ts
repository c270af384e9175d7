import type { FakeAnswer, Json } from '../../fake-http.ts';
import { FakeRefusal, type FakeRequest, invalid, notFound, ok, required } from './fake-api.ts';
import { balancerOf, changing, shownTags, tagsOf } from './fake-balancers.ts';
import { interfacesOf, isInterface } from './fake-interfaces.ts';
import type { FakeBalancer, FakeGroup, FakeRegion } from './fake-region.ts';

const serversAtOnce = 20;

function find(region: FakeRegion, request: FakeRequest): { balancer: FakeBalancer; group: FakeGroup } {
  const id = required(request, 'VServerGroupId');
  for (const balancer of region.balancers.values()) {
    const group = balancer.groups.get(id);
    if (group !== undefined) return { balancer, group };
  }
  throw notFound('InvalidParameter.VServerGroupNotExist.NotFound');
}

function serversIn(region: FakeRegion, { params }: FakeRequest, needsThem = true): Json[] {
  const servers: Json[] = JSON.parse(params.get('BackendServers') ?? '[]');
  if (!Array.isArray(servers) || servers.length > serversAtOnce) throw invalid('BackendServers');
  if (needsThem && servers.length === 0) throw invalid('BackendServers');
  return servers.map(({ ServerId, Port, Weight, Type = 'ecs', Description, ServerIp }) => {
    if (!(Number(Port) >= 1) || !(Number(Weight) >= 0 && Number(Weight) <= 100)) throw invalid('BackendServers');
    if (Type !== 'ecs' && Type !== 'eni') throw invalid('BackendServers');
    const isThere =
      Type === 'ecs' ? region.instances.has(String(ServerId)) : isInterface(region, { ServerId, ServerIp });
    if (!isThere) throw new FakeRefusal(400, 'ObtainIpFail', 'The specified BackendServers do not exist.');
    const shownIp = Type === 'ecs' ? '' : ServerIp || interfacesOf(region).get(String(ServerId))![0];
    return { ServerId, Port: Number(Port), Weight: Number(Weight), Type, Description, ServerIp: shownIp };
  });
}

/** One interface may have several addresses in a group. */
const same = (a: Json) => (b: Json) =>
  a['ServerId'] === b['ServerId'] &&
  Number(a['Port']) === Number(b['Port']) &&
  (a['Type'] ?? 'ecs') === (b['Type'] ?? 'ecs') &&
  (a['ServerIp'] ?? '') === (b['ServerIp'] ?? '');

export function describeGroups(region: FakeRegion, request: FakeRequest): FakeAnswer {
  const { groups } = balancerOf(region, request);
  const all = [...groups.values()].map(({ id, name, tags, servers }) => ({
    VServerGroupId: id,
    VServerGroupName: name,
    ServerCount: servers.length,
    Tags: { Tag: shownTags(tags) },
  }));
  return ok({ VServerGroups: { VServerGroup: all } });
}

export function describeGroup(region: FakeRegion, request: FakeRequest): FakeAnswer {
  const { group, balancer } = find(region, request);
  return ok(answerOf(group, balancer));
}

function answerOf({ id, name, servers, tags }: FakeGroup, balancer: FakeBalancer): Json {
  return {
    VServerGroupId: id,
    VServerGroupName: name,
    LoadBalancerId: balancer.id,
    Tags: { Tag: shownTags(tags) },
    BackendServers: { BackendServer: structuredClone(servers) },
  };
}

export function createGroup(region: FakeRegion, request: FakeRequest): FakeAnswer {
  const balancer = balancerOf(region, request);
  const servers = serversIn(region, request, false);
  changing(region, balancer);
  const name = request.params.get('VServerGroupName') ?? 'Group1';
  if (name.length < 2 || name.length > 80) throw invalid('VServerGroupName');
  const group = { id: region.nextId('rsp'), name, servers, tags: tagsOf(request) };
  balancer.groups.set(group.id, group);
  return ok(answerOf(group, balancer));
}

export function addServers(region: FakeRegion, request: FakeRequest): FakeAnswer {
  const { group, balancer } = find(region, request);
  const servers = serversIn(region, request);
  changing(region, balancer);
  const all = [...group.servers, ...servers];
  if (all.length > region.maxServers)
    throw new FakeRefusal(400, 'InstanceBackendServerNumberOverLimit', 'too many backend servers');
  // One that is there already stays as it is.
  group.servers.push(...servers.filter((one) => !group.servers.some(same(one))));
  return ok(answerOf(group, balancer));
}

export function setServers(region: FakeRegion, request: FakeRequest): FakeAnswer {
  const { group, balancer } = find(region, request);
  changing(region, balancer);
  for (const one of serversIn(region, request, false)) {
    const there = group.servers.find(same(one));
    if (there === undefined) throw notFound('InvalidParameter.BackendServers.NotFound');
    Object.assign(there, one);
  }
  group.name = request.params.get('VServerGroupName') ?? group.name;
  return ok(answerOf(group, balancer));
}

export function removeServers(region: FakeRegion, request: FakeRequest): FakeAnswer {
  const { group, balancer } = find(region, request);
  changing(region, balancer);
  const gone: Json[] = JSON.parse(required(request, 'BackendServers'));
  if (gone.length > serversAtOnce) throw invalid('BackendServers');
  group.servers = group.servers.filter((one) => !gone.some(same(one)));
  return ok(answerOf(group, balancer));
}

export function deleteGroup(region: FakeRegion, request: FakeRequest): FakeAnswer {
  const { group, balancer } = find(region, request);
  if ([...balancer.listeners.values()].some(({ wire }) => wire['VServerGroupId'] === group.id))
    throw new FakeRefusal(400, 'RspoolVipExist', 'There are vips associating with this vServer group.');
  changing(region, balancer);
  balancer.groups.delete(group.id);
  return ok({});
}
