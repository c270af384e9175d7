import type { FakeAnswer, Json } from '../../fake-http.ts';
import { FakeRefusal, type FakeRequest, invalid, notFound, ok, pageByToken, read, required } from './fake-api.ts';
import { tagsOf } from './fake-balancers.ts';
import { interfacesOf, isInterface } from './fake-interfaces.ts';
import type { FakeNetwork, FakeNetworkGroup, FakeRegion } from './fake-region.ts';

/** Network Load Balancers. Each change is a job; what it changes takes no other change until it has ended. */

const serversAtOnce = 200;
const shownTags = (tags: ReadonlyMap<string, string>) => [...tags].map(([Key, Value]) => ({ Key, Value }));

function texts({ params }: FakeRequest, name: string): string[] | undefined {
  const all = read(params, name).map(({ '': one }) => String(one));
  return all.length === 0 ? undefined : all;
}

function fieldOf(text: string): unknown {
  if (/^\d{1,9}$/.test(text)) return Number(text);
  // The vendor's client for Python writes `True`.
  return /^(true|false)$/i.test(text) ? /^true$/i.test(text) : text;
}

/** What was sent, as lists and objects. */
function wireIn({ params }: FakeRequest, ...without: readonly string[]): Json {
  const wire: Json = {};
  for (const [key, text] of params) {
    const [name = '', ...path] = key.split('.');
    if (['RegionId', 'Tag', 'VpcId', ...without].includes(name)) continue;
    if (path.length === 0) wire[name] = fieldOf(text);
    else if (/^\d+$/.test(path[0]!)) wire[name] = [...((wire[name] as unknown[]) ?? []), text];
    else {
      const [field = '', at] = path;
      const part = { ...(wire[name] as Json | undefined) };
      part[field] = at === undefined ? fieldOf(text) : [...((part[field] as unknown[]) ?? []), text];
      wire[name] = part;
    }
  }
  return wire;
}

function networkOf(region: FakeRegion, id: string): FakeNetwork {
  const one = region.networks.get(id);
  if (one === undefined) throw notFound('ResourceNotFound.loadBalancer');
  return one;
}

function groupOf(region: FakeRegion, id: string): FakeNetworkGroup {
  const one = region.networkGroups.get(id);
  if (one === undefined) throw notFound('ResourceNotFound.serverGroup');
  return one;
}

function listenerOf(region: FakeRegion, id: string) {
  for (const network of region.networks.values()) {
    const listener = network.listeners.get(id);
    if (listener !== undefined) return { network, listener };
  }
  throw notFound('ResourceNotFound.listener');
}

/** A job that changes these. */
function changing(region: FakeRegion, ...all: readonly { busyUntil: number }[]): { JobId: string } {
  if (all.some((one) => region.now() < one.busyUntil))
    throw new FakeRefusal(409, 'IncorrectStatus.loadBalancer', 'the status does not support the operation');
  for (const one of all) one.busyUntil = region.now() + region.busyMs;
  const JobId = region.nextId('job');
  region.jobs.set(JobId, region.now() + region.busyMs);
  return { JobId };
}

function zonesIn(request: FakeRequest): Json[] {
  const zones = read(request.params, 'ZoneMappings');
  if (zones.length < 2 || zones.some((one) => !one['ZoneId'] || !one['VSwitchId'])) throw invalid('ZoneMappings');
  return zones.map(({ ZoneId, VSwitchId }) => ({ ZoneId, VSwitchId, LoadBalancerAddresses: [], Status: 'Active' }));
}

function shownNetwork(region: FakeRegion, { id, wire, tags, readyAtMs }: FakeNetwork): Json {
  const LoadBalancerStatus = region.now() < readyAtMs ? 'Provisioning' : 'Active';
  return { LoadBalancerId: id, ...wire, LoadBalancerStatus, Tags: shownTags(tags) };
}

function serversIn(region: FakeRegion, { params }: FakeRequest): Json[] {
  const servers = read(params, 'Servers');
  if (servers.length === 0 || servers.length > serversAtOnce) throw invalid('Servers');
  return servers.map(({ ServerId, ServerType, ServerIp, Port, Weight, Description }) => {
    if (ServerType !== 'Ecs' && ServerType !== 'Eni') throw invalid('ServerType');
    if (!(Number(Port) >= 1)) throw invalid('Port');
    if (ServerType === 'Ecs' && !region.instances.has(String(ServerId)))
      throw new FakeRefusal(404, 'ResourceNotFound.ecs', 'no such server');
    if (ServerType === 'Eni' && !isInterface(region, { ServerId, ServerIp }))
      throw new FakeRefusal(404, 'ResourceNotFound.eni', 'no such server');
    return {
      ServerId,
      ServerType,
      ServerIp: ServerIp || interfacesOf(region).get(String(ServerId))?.[0],
      Port: Number(Port),
      Weight: Number(Weight ?? 100),
      Description,
      Status: 'Available',
    };
  });
}

/** One interface may have several addresses in a group. */
const same = (a: Json) => (b: Json) =>
  a['ServerId'] === b['ServerId'] &&
  a['Port'] === b['Port'] &&
  (a['ServerType'] !== 'Eni' || a['ServerIp'] === b['ServerIp']);

type Handler = (region: FakeRegion, request: FakeRequest) => FakeAnswer;

function listed(name: string, idsName: string, all: (region: FakeRegion) => readonly Json[], idOf: string): Handler {
  return (region, request) => {
    const ids = texts(request, idsName);
    if (ids !== undefined && ids.length > 20) throw invalid(idsName);
    const found = all(region).filter((one) => ids?.includes(String(one[idOf])) ?? true);
    const { items, paging } = pageByToken(found, request, 100);
    return ok({ ...paging, TotalCount: found.length, [name]: items });
  };
}

function changeNetwork(change: (one: FakeNetwork, request: FakeRequest) => void): Handler {
  return (region, request) => {
    const one = networkOf(region, required(request, 'LoadBalancerId'));
    if (region.now() < one.readyAtMs) throw new FakeRefusal(409, 'IncorrectStatus.loadBalancer');
    const job = changing(region, one);
    change(one, request);
    return ok(job);
  };
}

function changeServers(change: (there: Json[], sent: readonly Json[]) => Json[]): Handler {
  return (region, request) => {
    const group = groupOf(region, required(request, 'ServerGroupId'));
    const sent = serversIn(region, request);
    const job = changing(region, group);
    const servers = change(group.servers, sent);
    if (servers.length > region.maxServers) throw new FakeRefusal(400, 'QuotaExceeded.ServersNum', 'too many servers');
    group.servers = servers;
    return ok({ ...job, ServerGroupId: group.id });
  };
}

export const network: Readonly<Record<string, Handler>> = {
  GetJobStatus: (region, request) => {
    const endsAtMs = region.jobs.get(required(request, 'JobId'));
    if (endsAtMs === undefined) throw notFound('ResourceNotFound.Job');
    return ok({ Status: region.now() < endsAtMs ? 'Processing' : 'Succeeded' });
  },
  ListLoadBalancers: listed(
    ...(['LoadBalancers', 'LoadBalancerIds'] as const),
    (region) =>
      [...region.networks.values()].filter(({ id }) => !region.hidden.has(id)).map((one) => shownNetwork(region, one)),
    'LoadBalancerId',
  ),
  GetLoadBalancerAttribute: (region, request) =>
    ok(shownNetwork(region, networkOf(region, required(request, 'LoadBalancerId')))),
  ListListeners: listed(
    ...(['Listeners', 'LoadBalancerIds'] as const),
    ({ networks }) =>
      [...networks.values()].flatMap(({ listeners }) => [...listeners.values()].map(({ wire }) => wire)),
    'LoadBalancerId',
  ),
  ListServerGroups: listed(
    ...(['ServerGroups', 'ServerGroupIds'] as const),
    ({ networkGroups }) =>
      [...networkGroups.values()].map(({ id, wire, tags, servers }) => ({
        ServerGroupId: id,
        ...wire,
        ServerCount: servers.length,
        Tags: shownTags(tags),
      })),
    'ServerGroupId',
  ),
  ListServerGroupServers: (region, request) => {
    const { servers, id } = groupOf(region, required(request, 'ServerGroupId'));
    const { items, paging } = pageByToken(servers, request, 100);
    return ok({ ...paging, TotalCount: servers.length, Servers: items.map((one) => ({ ...one, ServerGroupId: id })) });
  },
  CreateLoadBalancer: (region, request) => {
    if (region.networks.size >= region.maxBalancers) throw new FakeRefusal(400, 'QuotaExceeded.LoadBalancersNum');
    required(request, 'VpcId');
    const id = region.nextId('nlb');
    const readyAtMs = region.now() + region.busyMs;
    const wire = {
      AddressIpVersion: 'ipv4',
      ...wireIn(request, 'ZoneMappings'),
      ZoneMappings: zonesIn(request),
      DNSName: `${id}.${region.id}.nlb.aliyuncs.com`,
      CreateTime: new Date(region.now()).toISOString(),
      SecurityGroupIds: [],
      VpcId: region.vpc,
      CrossZoneEnabled: true,
    };
    region.networks.set(id, { id, wire, readyAtMs, tags: tagsOf(request), listeners: new Map(), busyUntil: readyAtMs });
    return ok({ LoadbalancerId: id });
  },
  UpdateLoadBalancerAttribute: changeNetwork(({ wire }, request) => {
    Object.assign(wire, wireIn(request, 'LoadBalancerId'));
  }),
  UpdateLoadBalancerAddressTypeConfig: changeNetwork(({ wire }, request) => {
    wire['AddressType'] = required(request, 'AddressType');
  }),
  UpdateLoadBalancerZones: changeNetwork(({ wire }, request) => {
    wire['ZoneMappings'] = zonesIn(request);
  }),
  UpdateLoadBalancerProtection: changeNetwork(({ wire }, { params }) => {
    const [isProtected, status] = [params.get('DeletionProtectionEnabled'), params.get('ModificationProtectionStatus')];
    if (isProtected !== undefined) wire['DeletionProtectionConfig'] = { Enabled: fieldOf(isProtected) };
    if (status !== undefined) wire['ModificationProtectionConfig'] = { Status: status };
  }),
  LoadBalancerJoinSecurityGroup: changeNetwork(({ wire }, request) => {
    wire['SecurityGroupIds'] = [...(wire['SecurityGroupIds'] as string[]), ...texts(request, 'SecurityGroupIds')!];
  }),
  LoadBalancerLeaveSecurityGroup: changeNetwork(({ wire }, request) => {
    const gone = texts(request, 'SecurityGroupIds')!;
    wire['SecurityGroupIds'] = (wire['SecurityGroupIds'] as string[]).filter((one) => !gone.includes(one));
  }),
  DeleteLoadBalancer: (region, request) => {
    const one = networkOf(region, required(request, 'LoadBalancerId'));
    if ((one.wire['DeletionProtectionConfig'] as Json | undefined)?.['Enabled'] === true)
      throw new FakeRefusal(400, 'OperationDenied.DeletionProtection', 'deletion protection is on');
    const job = changing(region, one);
    region.networks.delete(one.id);
    return ok(job);
  },
  CreateListener: (region, request) => {
    const one = networkOf(region, required(request, 'LoadBalancerId'));
    const wire = wireIn(request);
    const isUdp = wire['ListenerProtocol'] === 'UDP';
    for (const { wire: other } of one.listeners.values())
      if (other['ListenerPort'] === wire['ListenerPort'] && (other['ListenerProtocol'] === 'UDP') === isUdp)
        throw new FakeRefusal(400, 'ResourceAlreadyExist.Listener', 'the port is in use');
    if (wire['ListenerProtocol'] === 'TCPSSL' && !wire['CertificateIds'])
      throw new FakeRefusal(400, 'MissingParam.CertificateIds');
    if (region.now() < one.readyAtMs) throw new FakeRefusal(409, 'IncorrectStatus.loadBalancer');
    const job = changing(region, one, groupOf(region, required(request, 'ServerGroupId')));
    const id = region.nextId('lsn');
    one.listeners.set(id, { id, wire: { ...wire, ListenerId: id, ListenerStatus: 'Running' } });
    return ok({ ...job, ListenerId: id });
  },
  UpdateListenerAttribute: (region, request) => {
    const { network: one, listener } = listenerOf(region, required(request, 'ListenerId'));
    if (request.params.has('ServerGroupId')) groupOf(region, required(request, 'ServerGroupId'));
    const job = changing(region, one);
    Object.assign(listener.wire, wireIn(request));
    return ok(job);
  },
  StartListener: (region, request) => {
    const { network: one, listener } = listenerOf(region, required(request, 'ListenerId'));
    const job = changing(region, one);
    listener.wire['ListenerStatus'] = 'Running';
    return ok(job);
  },
  DeleteListener: (region, request) => {
    const { network: one, listener } = listenerOf(region, required(request, 'ListenerId'));
    const job = changing(region, one);
    one.listeners.delete(listener.id);
    return ok(job);
  },
  CreateServerGroup: (region, request) => {
    required(request, 'VpcId');
    required(request, 'ServerGroupName');
    const id = region.nextId('sgp');
    const { HealthCheckConfig: HealthCheck, ...rest } = wireIn(request);
    const wire = { Scheduler: 'Wrr', ...rest, HealthCheck: { HealthCheckEnabled: true, ...(HealthCheck as Json) } };
    const group: FakeNetworkGroup = { id, wire, servers: [], tags: tagsOf(request), busyUntil: 0 };
    const job = changing(region, group);
    region.networkGroups.set(id, group);
    return ok({ ...job, ServerGroupId: id });
  },
  UpdateServerGroupAttribute: (region, request) => {
    const group = groupOf(region, required(request, 'ServerGroupId'));
    const job = changing(region, group);
    const { HealthCheckConfig: check, ServerGroupId: _, ...rest } = wireIn(request);
    Object.assign(group.wire, rest, { HealthCheck: { ...(group.wire['HealthCheck'] as Json), ...(check as Json) } });
    return ok({ ...job, ServerGroupId: group.id });
  },
  AddServersToServerGroup: changeServers((there, sent) => {
    return [...there, ...sent.filter((one) => !there.some(same(one)))];
  }),
  UpdateServerGroupServersAttribute: changeServers((there, sent) => {
    if (sent.some((one) => !there.some(same(one)))) throw notFound('ResourceNotFound.server');
    return there.map((one) => ({ ...one, ...sent.find(same(one)) }));
  }),
  RemoveServersFromServerGroup: (region, request) => {
    const group = groupOf(region, required(request, 'ServerGroupId'));
    const gone = read(request.params, 'Servers').map((one) => ({ ...one, Port: Number(one['Port']) }));
    const job = changing(region, group);
    group.servers = group.servers.filter((one) => !gone.some(same(one)));
    return ok({ ...job, ServerGroupId: group.id });
  },
  DeleteServerGroup: (region, request) => {
    const group = groupOf(region, required(request, 'ServerGroupId'));
    for (const { listeners } of region.networks.values())
      for (const { wire } of listeners.values())
        if (wire['ServerGroupId'] === group.id) throw new FakeRefusal(409, 'ResourceInUse.serverGroup', 'in use');
    const job = changing(region, group);
    region.networkGroups.delete(group.id);
    return ok(job);
  },
  TagResources: (region, request) => {
    const type = required(request, 'ResourceType');
    for (const id of texts(request, 'ResourceId') ?? []) {
      const one = type === 'servergroup' ? groupOf(region, id) : networkOf(region, id);
      for (const [key, value] of tagsOf(request)) one.tags.set(key, value);
    }
    return ok({});
  },
};
