import type { FakeAnswer, Json } from '../../fake-http.ts';
import { FakeRefusal, type FakeRequest, invalid, notFound, ok, pageByToken, read, required } from './fake-api.ts';
import { balancerOf, changing, shownTags, tagsOf } from './fake-balancers.ts';
import type { FakeBalancer, FakeListener, FakeRegion } from './fake-region.ts';

/** Shown for every protocol; everything else stands in the part for the protocol. */
const common = ['AclId', 'AclStatus', 'AclType', 'Bandwidth', 'Description', 'Scheduler', 'VServerGroupId'];
const numbers = /(Timeout|Threshold|Interval|Bandwidth|Port)$/;
const check = { HealthCheckInterval: 2, HealthyThreshold: 3, UnhealthyThreshold: 3 };
const defaults: Readonly<Record<string, Json>> = {
  tcp: {
    ...check,
    HealthCheck: 'on',
    HealthCheckType: 'tcp',
    HealthCheckConnectTimeout: 5,
    PersistenceTimeout: 0,
    EstablishedTimeout: 900,
    ConnectionDrain: 'off',
    ProxyProtocolV2Enabled: 'false',
  },
  udp: { ...check, HealthCheck: 'on', HealthCheckConnectTimeout: 5, ProxyProtocolV2Enabled: 'false' },
  http: { ...check, IdleTimeout: 15, RequestTimeout: 60, Gzip: 'on', XForwardedFor: 'on', HealthCheckTimeout: 5 },
  https: { ...check, IdleTimeout: 15, RequestTimeout: 60, Gzip: 'on', EnableHttp2: 'on', HealthCheckTimeout: 5 },
};

function listenerOf(balancer: FakeBalancer, { params }: FakeRequest, protocol = params.get('ListenerProtocol')) {
  const port = Number(params.get('ListenerPort'));
  const found = [...balancer.listeners.values()].filter(
    (one) => one.port === port && (protocol ?? one.protocol) === one.protocol,
  );
  if (found.length === 0) throw notFound('ListenerNotFound');
  if (found.length > 1) throw new FakeRefusal(400, 'InvalidParameter.ListenerProtocol', 'name the protocol');
  return found[0]!;
}

/** What was sent, under the names that it is shown with. */
function wireIn({ params }: FakeRequest): Json {
  const without = ['LoadBalancerId', 'ListenerPort', 'ListenerProtocol', 'RegionId', 'VServerGroup'];
  const sent = [...params].filter(([name]) => !without.includes(name) && !name.startsWith('Tag.'));
  return Object.fromEntries(
    sent.map(([name, value]) => {
      const shown = name === 'HealthCheckSwitch' ? 'HealthCheck' : name[0]!.toUpperCase() + name.slice(1);
      return [shown, numbers.test(shown) ? Number(value) : value];
    }),
  );
}

function assertGood(region: FakeRegion, balancer: FakeBalancer, protocol: string, wire: Json): void {
  const isForwarding = wire['ListenerForward'] === 'on';
  if (!isForwarding && !balancer.groups.has(String(wire['VServerGroupId'])))
    throw new FakeRefusal(400, 'InvalidParameter.VServerGroupId', 'no such server group');
  if (wire['AclStatus'] === 'on' && !region.lists.has(String(wire['AclId']))) throw invalid('AclId');
  if (protocol === 'https' && !wire['ServerCertificateId'])
    throw new FakeRefusal(400, 'MissingParam.ServerCertificateId');
  if (wire['Bandwidth'] === undefined) throw new FakeRefusal(400, 'MissingParam.Bandwidth');
  if (protocol.startsWith('http') && (!wire['StickySession'] || !wire['HealthCheck']))
    throw new FakeRefusal(400, 'MissingParam.StickySession');
  const hashes: readonly unknown[] = { tcp: ['sch', 'tch'], udp: ['sch', 'tch', 'qch'] }[protocol] ?? [];
  if (/ch$/.test(String(wire['Scheduler'])) && !hashes.includes(wire['Scheduler'])) throw invalid('Scheduler');
  if (wire['StickySession'] === 'on' && !wire['StickySessionType']) throw invalid('StickySessionType');
}

export function createListener(protocol: string) {
  return (region: FakeRegion, request: FakeRequest): FakeAnswer => {
    const balancer = balancerOf(region, request);
    const port = Number(required(request, 'ListenerPort'));
    const isUdp = protocol === 'udp';
    if ([...balancer.listeners.values()].some((one) => one.port === port && (one.protocol === 'udp') === isUdp))
      throw new FakeRefusal(400, 'ListenerAlreadyExists', 'There is already a listener with that port.');
    const wire = { ...defaults[protocol], AclStatus: 'off', Scheduler: 'wrr', ...wireIn(request) };
    assertGood(region, balancer, protocol, wire);
    changing(region, balancer);
    balancer.listeners.set(`${protocol}:${port}`, { port, protocol, isStarted: false, wire, tags: tagsOf(request) });
    return ok({});
  };
}

export function setListener(protocol: string) {
  return (region: FakeRegion, request: FakeRequest): FakeAnswer => {
    const balancer = balancerOf(region, request);
    const one = listenerOf(balancer, request, protocol);
    const wire: Json = { ...one.wire, ...wireIn(request) };
    assertGood(region, balancer, protocol, wire);
    if (['sch', 'tch', 'qch'].includes(String(wire['Scheduler'])) && wire['Scheduler'] !== one.wire['Scheduler'])
      throw invalid('Scheduler');
    changing(region, balancer);
    Object.assign(one.wire, wire);
    return ok({});
  };
}

export function startListener(region: FakeRegion, request: FakeRequest): FakeAnswer {
  const balancer = balancerOf(region, request);
  const one = listenerOf(balancer, request);
  changing(region, balancer);
  one.isStarted = true;
  return ok({});
}

export function deleteListener(region: FakeRegion, request: FakeRequest): FakeAnswer {
  const balancer = balancerOf(region, request);
  const one = listenerOf(balancer, request);
  changing(region, balancer);
  balancer.listeners.delete(`${one.protocol}:${one.port}`);
  return ok({});
}

export function describeListeners(region: FakeRegion, request: FakeRequest): FakeAnswer {
  const ids = read(request.params, 'LoadBalancerId').map(({ '': id }) => String(id));
  if (ids.length > 10) throw invalid('LoadBalancerId');
  const all = [...region.balancers.values()].filter(({ id }) => ids.length === 0 || ids.includes(id));
  const listeners = all.flatMap((one) => [...one.listeners.values()].map((each) => shown(one.id, each)));
  const { items, paging } = pageByToken(listeners, request, 100);
  return ok({ ...paging, TotalCount: listeners.length, Listeners: items });
}

function shown(id: string, { port, protocol, isStarted, wire, tags }: FakeListener): Json {
  const part = (isCommon: boolean) =>
    Object.fromEntries(Object.entries(wire).filter(([name]) => common.includes(name) === isCommon));
  return {
    LoadBalancerId: id,
    ListenerPort: port,
    ListenerProtocol: protocol,
    ...part(true),
    Status: isStarted ? 'running' : 'stopped',
    Tags: shownTags(tags),
    [`${protocol.toUpperCase()}ListenerConfig`]: part(false),
  };
}
