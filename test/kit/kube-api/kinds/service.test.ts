import assert from 'node:assert/strict';
import { test } from 'node:test';
import { at, type JsonObject, listOf, numberOf } from '../json.ts';
import { causes, code, revisionOf, testApi } from '../testing/test-api.ts';

const services = '/api/v1/namespaces/default/services';
const balancer = {
  type: 'LoadBalancer',
  ports: [
    { name: 'http', port: 80 },
    { name: 'https', port: 443 },
  ],
};

function withService(spec: object = balancer) {
  const api = testApi();
  const made = api.call('POST', services, { metadata: { name: 's' }, spec });
  assert.equal(made.status, 201, made.text);
  return { ...api, service: made.body, path: `${services}/s` };
}

function ports(service: JsonObject): number[] {
  return listOf(at(service, 'spec', 'ports')).map((port) => numberOf(at(port, 'nodePort')));
}

test('a LoadBalancer Service gets address, node ports and defaults', () => {
  const { service } = withService();
  const { clusterIP, clusterIPs, ports: given, ...rest } = service['spec'] as JsonObject;
  assert.match(String(clusterIP), /^10\.(9[6-9]|1\d\d)\.\d+\.\d+$/);
  assert.deepEqual(clusterIPs, [clusterIP]);
  assert.ok(ports(service).every((port) => port >= 30_000 && port <= 32_767));
  assert.deepEqual(at(listOf(given)[0], 'targetPort'), 80);
  assert.deepEqual(rest, {
    type: 'LoadBalancer',
    sessionAffinity: 'None',
    externalTrafficPolicy: 'Cluster',
    ipFamilies: ['IPv4'],
    ipFamilyPolicy: 'SingleStack',
    allocateLoadBalancerNodePorts: true,
    internalTrafficPolicy: 'Cluster',
  });
  assert.deepEqual(service['status'], { loadBalancer: {} });
});

test('a Service without node ports gets none, and one with Local a health check port', () => {
  assert.deepEqual(ports(withService({ ...balancer, allocateLoadBalancerNodePorts: false }).service), [0, 0]);
  const local = withService({ ...balancer, externalTrafficPolicy: 'Local' }).service;
  assert.ok(numberOf(at(local, 'spec', 'healthCheckNodePort')) >= 30_000);
});

test('a taken or impossible port or address is refused', () => {
  const { call, service } = withService();
  const other = (spec: object) =>
    call('POST', services, { metadata: { name: 't' }, spec: { type: 'NodePort', ...spec } });
  const port = (nodePort: number) => other({ ports: [{ port: 80, nodePort }] });
  assert.match(code(port(ports(service)[0] ?? 0))[2], /provided port is already allocated/);
  assert.match(code(port(80))[2], /not in the valid range. The range of valid ports is 30000-32767/);
  const address = (clusterIP: unknown) => other({ clusterIP, ports: [{ port: 80 }] });
  assert.match(code(address(at(service, 'spec', 'clusterIP')))[2], /provided IP is already allocated/);
  assert.match(code(address('192.0.2.1'))[2], /does not match the current range/);
  assert.equal(call('GET', `${services}/t`).status, 404);
});

test('a deleted Service frees its port and address', () => {
  const { call, service, path } = withService();
  call('DELETE', path);
  const spec = {
    type: 'NodePort',
    clusterIP: at(service, 'spec', 'clusterIP'),
    ports: [{ port: 80, nodePort: ports(service)[0] }],
  };
  assert.equal(call('POST', services, { metadata: { name: 't' }, spec }).status, 201);
});

test('a PUT without address and node ports carries both over', () => {
  const { call, service, path } = withService();
  const { body, status } = call('PUT', path, { metadata: { name: 's' }, spec: balancer });
  assert.equal(status, 200);
  assert.deepEqual(body['spec'], service['spec']);
  const moved = call('PUT', path, { metadata: { name: 's' }, spec: { ...balancer, clusterIP: '10.96.9.9' } });
  assert.deepEqual(causes(moved), ['spec.clusterIPs[0]']);
});

test('a Service that stops being a LoadBalancer loses the fields of one', () => {
  const { patch, path } = withService();
  const condition = { type: 'X', status: 'True', reason: 'R', message: '', lastTransitionTime: '2026-01-01T00:00:00Z' };
  const status = { loadBalancer: { ingress: [{ ip: '192.0.2.1' }] }, conditions: [condition] };
  assert.equal(patch('merge', `${path}/status`, { status }).status, 200);
  const turned = patch('merge', path, { spec: { type: 'ClusterIP' } }).body;
  assert.deepEqual(ports(turned), [0, 0]);
  assert.deepEqual(turned['status'], { conditions: [condition], loadBalancer: {} });
  assert.equal(at(turned, 'spec', 'externalTrafficPolicy'), undefined);
  assert.equal(at(turned, 'spec', 'allocateLoadBalancerNodePorts'), undefined);
  assert.ok(ports(patch('merge', path, { spec: { type: 'LoadBalancer' } }).body).every((port) => port > 0));
});

test('an ingress address is a VIP, a hostname has no mode, a bad one is refused', () => {
  const { patch, path } = withService();
  const ingress = (...list: object[]) =>
    patch('merge', `${path}/status`, { status: { loadBalancer: { ingress: list } } });
  const { body } = ingress({ ip: '192.0.2.1' }, { hostname: 'a.example' });
  const shown = at(body, 'status', 'loadBalancer', 'ingress');
  assert.deepEqual(shown, [{ ip: '192.0.2.1', ipMode: 'VIP' }, { hostname: 'a.example' }]);
  assert.deepEqual(causes(ingress({ ip: 'nope' })), ['status.loadBalancer.ingress[0].ip']);
});

test('strategic merge replaces the ingress list whole', () => {
  const { patch, path } = withService();
  const status = (ip: string) => ({ status: { loadBalancer: { ingress: [{ ip }] } } });
  patch('strategic', `${path}/status`, status('192.0.2.1'));
  const { body } = patch('strategic', `${path}/status`, status('192.0.2.2'));
  assert.deepEqual(at(body, 'status', 'loadBalancer', 'ingress'), [{ ip: '192.0.2.2', ipMode: 'VIP' }]);
});

test('only a LoadBalancer has an ingress', () => {
  const { patch, path } = withService({ ports: [{ port: 80 }] });
  const refused = patch('merge', `${path}/status`, { status: { loadBalancer: { ingress: [{ ip: '192.0.2.1' }] } } });
  assert.match(code(refused)[2], /may only be used when `spec.type` is 'LoadBalancer'/);
});

test('a load balancer class stays', () => {
  const { patch, path } = withService({ ...balancer, loadBalancerClass: 'a/b' });
  assert.deepEqual(causes(patch('merge', path, { spec: { loadBalancerClass: 'a/c' } })), ['spec.loadBalancerClass']);
});

test('DELETE answers with the Service at the revision of the deletion', () => {
  const { call, watch, service, path } = withService();
  const watched = watch(services, { resourceVersion: String(revisionOf(service)) });
  const { status, body } = call('DELETE', path);
  assert.deepEqual([status, body['kind']], [200, 'Service']);
  assert.ok(revisionOf(body) > revisionOf(service));
  assert.deepEqual(
    watched.events.map((event) => [event.type, revisionOf(event.object)]),
    [['DELETED', revisionOf(body)]],
  );
});

test('several ports need names', () => {
  const { call } = testApi();
  const spec = { ports: [{ port: 80 }, { port: 81 }] };
  assert.deepEqual(causes(call('POST', services, { metadata: { name: 's' }, spec })), [
    'spec.ports[0].name',
    'spec.ports[1].name',
  ]);
});
