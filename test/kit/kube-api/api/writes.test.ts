import assert from 'node:assert/strict';
import { test } from 'node:test';
import { at, listOf, objectOf } from '../json.ts';
import { causes, code, meta, revisionOf, testApi } from '../testing/test-api.ts';

const nodes = '/api/v1/nodes';
const leases = '/apis/coordination.k8s.io/v1/namespaces/kube-system/leases';
const configMaps = '/api/v1/namespaces/default/configmaps';

function withNode(spec: object = {}, status: object = {}) {
  const api = testApi();
  const made = api.call('POST', nodes, { metadata: { name: 'n1', labels: { a: '1' } }, spec, status });
  assert.equal(made.status, 201);
  return { ...api, node: made.body, path: `${nodes}/n1` };
}

test('a new Node keeps its status, gets the not-ready taint, and its quantities are normalised', () => {
  const { node } = withNode({}, { capacity: { cpu: '3.5' }, addresses: [{ type: 'InternalIP', address: '10.0.0.1' }] });
  assert.deepEqual(at(node, 'status', 'capacity'), { cpu: '3500m' });
  assert.deepEqual(at(node, 'status', 'allocatable'), { cpu: '3500m' });
  assert.deepEqual(at(node, 'spec', 'taints'), [{ key: 'node.kubernetes.io/not-ready', effect: 'NoSchedule' }]);
  assert.match(String(meta(node)['uid']), /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
  assert.equal(meta(node)['creationTimestamp'], '2026-01-01T00:00:00Z');
});

test('one seed gives one sequence of uids and ports', () => {
  const run = () => {
    const { call, node } = withNode();
    const spec = { type: 'LoadBalancer', ports: [{ port: 80 }] };
    const service = call('POST', '/api/v1/namespaces/default/services', { metadata: { name: 's' }, spec });
    return [node, service.body];
  };
  assert.deepEqual(run(), run());
});

test('a second create of a name is AlreadyExists', () => {
  const { call } = withNode();
  assert.deepEqual(code(call('POST', nodes, { metadata: { name: 'n1' } })), [
    409,
    'AlreadyExists',
    'nodes "n1" already exists',
  ]);
});

test('a resourceVersion on a create is an internal error, bad names name their field', () => {
  const { call } = testApi();
  assert.equal(call('POST', nodes, { metadata: { name: 'a', resourceVersion: '1' } }).status, 500);
  const bad = call('POST', nodes, { metadata: { name: 'Bad_Name' } });
  assert.equal(bad.status, 422);
  assert.deepEqual(causes(bad), ['metadata.name']);
  assert.equal(at(bad.body, 'details', 'kind'), 'Node');
  assert.deepEqual(causes(call('POST', nodes, {})), ['metadata.name']);
});

test('generateName appends five characters and stays in the object', () => {
  const { call } = testApi();
  const { body } = call('POST', nodes, { metadata: { generateName: 'gen-' } });
  assert.match(String(meta(body)['name']), /^gen-[bcdfghjklmnpqrstvwxz2456789]{5}$/);
  assert.equal(meta(body)['generateName'], 'gen-');
});

test('a dry run answers without a resourceVersion and stores nothing', () => {
  const { call } = testApi();
  const dry = call('POST', nodes, { metadata: { name: 'a' } }, { query: { dryRun: 'All' } });
  assert.equal(dry.status, 201);
  assert.equal(meta(dry.body)['resourceVersion'], undefined);
  assert.equal(call('GET', `${nodes}/a`).status, 404);
  assert.equal(call('POST', nodes, { metadata: { name: 'a' } }, { query: { dryRun: 'Some' } }).status, 422);
});

test('unknown fields are dropped with a warning, refused when strict', () => {
  const { call, patch, path } = withNode();
  const body = { metadata: { name: 'b' }, spec: { bogus: 1 } };
  const strict = { query: { fieldValidation: 'Strict' } };
  assert.match(code(call('POST', nodes, body, strict))[2], /strict decoding error: unknown field "spec.bogus"/);
  const warned = call('POST', nodes, body);
  assert.deepEqual(warned.warnings, ['unknown field "spec.bogus"']);
  assert.equal(at(warned.body, 'spec', 'bogus'), undefined);
  const patched = patch('merge', path, { spec: { bogus: 1 } }, strict);
  assert.deepEqual([patched.status, causes(patched)], [422, ['patch']]);
});

test('PUT with an old resourceVersion conflicts, without one it overwrites and keeps the status', () => {
  const { call, node, patch, path } = withNode({}, { phase: 'x' });
  patch('merge', path, { metadata: { labels: { b: '2' } } });
  const old = call('PUT', path, node);
  assert.deepEqual(code(old), [
    409,
    'Conflict',
    'Operation cannot be fulfilled on nodes "n1": the object has been modified; please apply your changes to the ' +
      'latest version and try again',
  ]);
  assert.deepEqual(old.body['details'], { name: 'n1', kind: 'nodes' });
  const { body } = call('PUT', path, { metadata: { name: 'n1' } });
  assert.equal(meta(body)['labels'], undefined);
  assert.equal(at(body, 'spec', 'taints'), undefined);
  assert.equal(at(body, 'status', 'phase'), 'x');
  assert.equal(meta(body)['uid'], meta(node)['uid']);
});

test('a conflict of a grouped resource names its group', () => {
  const { call } = testApi();
  const { body } = call('POST', leases, { metadata: { name: 'l' }, spec: { holderIdentity: 'a' } });
  call('PUT', `${leases}/l`, { ...body, spec: { holderIdentity: 'b' } });
  const second = call('PUT', `${leases}/l`, { ...body, spec: { holderIdentity: 'c' } });
  assert.match(code(second)[2], /on leases.coordination.k8s.io "l": the object has been modified/);
  assert.deepEqual(second.body['details'], { name: 'l', group: 'coordination.k8s.io', kind: 'leases' });
});

test('writes that change nothing keep the resourceVersion and tell no watcher', () => {
  const { call, patch, watch, node, path } = withNode({ taints: [{ key: 'a', effect: 'NoSchedule' }] });
  const watched = watch(nodes, { resourceVersion: String(revisionOf(node)) });
  assert.equal(revisionOf(call('PUT', path, node).body), revisionOf(node));
  assert.equal(revisionOf(patch('merge', path, { metadata: { labels: { a: '1' } } }).body), revisionOf(node));
  assert.equal(revisionOf(patch('strategic', path, { spec: { unschedulable: false } }).body), revisionOf(node));
  assert.equal(
    revisionOf(patch('json', path, [{ op: 'replace', path: '/metadata/labels/a', value: '1' }]).body),
    revisionOf(node),
  );
  assert.deepEqual(watched.events, []);
});

test('PUT of an absent object creates Leases and Services only', () => {
  const { call } = testApi();
  assert.equal(call('PUT', `${nodes}/x`, { metadata: { name: 'x' } }).status, 404);
  assert.equal(call('PUT', `${configMaps}/x`, { metadata: { name: 'x', resourceVersion: '1' } }).status, 404);
  assert.equal(call('PUT', `${leases}/x`, { metadata: { name: 'x', resourceVersion: '1' } }).status, 201);
  const spec = { ports: [{ port: 80 }] };
  const services = '/api/v1/namespaces/default/services';
  assert.equal(call('PUT', `${services}/x`, { metadata: { name: 'x' }, spec }).status, 201);
});

test('PATCH never creates', () => {
  const { patch } = testApi();
  assert.equal(patch('merge', `${leases}/x`, {}).status, 404);
});

test('names, uids and versions in a body are checked', () => {
  const { call, patch, path, node } = withNode();
  assert.match(
    code(call('PUT', path, { metadata: { name: 'n2' } }))[2],
    /\(n2\) does not match the name on the URL \(n1\)/,
  );
  const foreign = call('PUT', path, { metadata: { name: 'n1', uid: 'nope' } });
  assert.equal(foreign.status, 409);
  assert.ok(code(foreign)[2].endsWith(`UID in precondition: nope, UID in object meta: ${String(meta(node)['uid'])}`));
  assert.deepEqual(causes(patch('merge', path, { metadata: { uid: 'nope' } })), ['metadata.uid']);
  assert.equal(patch('merge', path, { metadata: { resourceVersion: '1', labels: { x: 'y' } } }).status, 409);
  assert.equal(patch('strategic', path, { metadata: { resourceVersion: '1', labels: { x: 'y' } } }).status, 409);
});

test('server-side apply and unknown patch types are 415', () => {
  const { call, path } = withNode();
  for (const type of ['application/apply-patch+yaml', 'application/json', 'text/plain']) {
    const answer = call('PATCH', path, {}, { headers: { 'content-type': type } });
    assert.deepEqual(code(answer), [415, 'UnsupportedMediaType', '415: Unsupported Media Type']);
  }
  assert.equal(call('POST', nodes, {}, { headers: { 'content-type': 'text/plain' } }).status, 415);
});

test('a status write ignores the spec but applies labels and annotations', () => {
  const { patch, path } = withNode();
  const change = {
    metadata: { labels: { b: '2' } },
    spec: { providerID: 'a://b', taints: [] },
    status: { phase: 'y' },
  };
  const { body } = patch('merge', `${path}/status`, change);
  assert.deepEqual(meta(body)['labels'], { a: '1', b: '2' });
  assert.equal(at(body, 'spec', 'providerID'), undefined);
  assert.equal(listOf(at(body, 'spec', 'taints')).length, 1);
  assert.equal(at(body, 'status', 'phase'), 'y');
});

test('a main write ignores the status', () => {
  const { patch, path } = withNode({}, { phase: 'x' });
  assert.equal(at(patch('merge', path, { status: { phase: 'y' } }).body, 'status', 'phase'), 'x');
});

test('a providerID is set once', () => {
  const { call, patch, path } = withNode();
  assert.equal(patch('merge', path, { spec: { providerID: 'a://b' } }).status, 200);
  for (const answer of [
    patch('merge', path, { spec: { providerID: 'a://c' } }),
    patch('merge', path, { spec: { providerID: null } }),
    call('PUT', path, { metadata: { name: 'n1' } }),
  ]) {
    assert.deepEqual(causes(answer), ['spec.providerID']);
    assert.match(code(answer)[2], /node updates may not change providerID except from "" to valid/);
  }
});

test('a pod CIDR is set once, mirrored in podCIDRs, and must be one', () => {
  const { patch, path } = withNode();
  assert.deepEqual(causes(patch('merge', path, { spec: { podCIDR: 'nope' } })), ['spec.podCIDRs[0]']);
  const { body } = patch('merge', path, { spec: { podCIDR: '10.1.0.0/24' } });
  assert.deepEqual(at(body, 'spec', 'podCIDRs'), ['10.1.0.0/24']);
  assert.ok(causes(patch('merge', path, { spec: { podCIDR: '10.2.0.0/24' } })).includes('spec.podCIDRs'));
});

test('taints and addresses that repeat are refused', () => {
  const { patch, path } = withNode();
  const taint = { key: 'a', effect: 'NoSchedule' };
  assert.deepEqual(causes(patch('merge', path, { spec: { taints: [taint, { ...taint, value: 'x' }] } })), [
    'metadata.taints[1]',
  ]);
  assert.deepEqual(causes(patch('merge', path, { spec: { taints: [{ key: 'a', effect: 'Nope' }] } })), [
    'metadata.taints[0].effect',
  ]);
  const address = { type: 'InternalIP', address: '10.0.0.1' };
  const both = (...addresses: object[]) => patch('merge', `${path}/status`, { status: { addresses } });
  assert.deepEqual(causes(both(address, address)), ['status.addresses[1]']);
  assert.equal(both(address, { ...address, type: 'ExternalIP' }, { type: 'Foo', address: 'not an ip' }).status, 200);
});

test('strategic merge collapses a dual-stack pair unless the list begins with a replace', () => {
  const host = { type: 'Hostname', address: 'n1' };
  const pair = [
    { type: 'InternalIP', address: '10.0.0.1' },
    { type: 'InternalIP', address: 'fd00::1' },
  ];
  const { patch, path } = withNode({}, { addresses: [host] });
  const collapsed = patch('strategic', `${path}/status`, { status: { addresses: pair } });
  assert.deepEqual(at(collapsed.body, 'status', 'addresses'), [pair[1], host]);
  const kept = patch('strategic', `${path}/status`, { status: { addresses: [{ $patch: 'replace' }, ...pair] } });
  assert.deepEqual(at(kept.body, 'status', 'addresses'), pair);
});

test('a Lease takes MicroTime alone: 400 on PUT, 422 on PATCH', () => {
  const { call, patch } = testApi();
  const lease = (renewTime: string) => ({ metadata: { name: 'l' }, spec: { renewTime } });
  assert.equal(call('POST', leases, lease('2026-01-01T00:00:01.123Z')).status, 400);
  assert.equal(call('POST', leases, lease('2026-01-01T02:00:01.123456+02:00')).status, 201);
  const { body } = call('GET', `${leases}/l`);
  assert.equal(at(body, 'spec', 'renewTime'), '2026-01-01T00:00:01.123456Z');
  assert.equal(call('PUT', `${leases}/l`, lease('2026-01-01T00:00:01Z')).status, 400);
  assert.equal(patch('merge', `${leases}/l`, { spec: { renewTime: '2026-01-01T00:00:01.5Z' } }).status, 422);
});

test('a Lease has a positive duration and counts transitions from zero', () => {
  const { call } = testApi();
  const spec = { leaseDurationSeconds: 0, leaseTransitions: -1 };
  const refused = call('POST', leases, { metadata: { name: 'l' }, spec });
  assert.deepEqual(causes(refused), ['spec.leaseDurationSeconds', 'spec.leaseTransitions']);
});

test('only the first of two PUTs with one resourceVersion succeeds', () => {
  const { call } = testApi();
  const { body } = call('POST', leases, { metadata: { name: 'l' }, spec: {} });
  const take = (holderIdentity: string) => call('PUT', `${leases}/l`, { ...body, spec: { holderIdentity } }).status;
  assert.deepEqual([take('a'), take('b')], [200, 409]);
});

test('a namespace must exist and not be going away', () => {
  const { call } = testApi();
  const refused = call('POST', '/api/v1/namespaces/nons/configmaps', { metadata: { name: 'a' } });
  assert.deepEqual(code(refused), [404, 'NotFound', 'namespaces "nons" not found']);
  assert.equal(call('GET', '/api/v1/namespaces/nons/configmaps').status, 200);
  call('POST', '/api/v1/namespaces', { metadata: { name: 'tns' } });
  const going = call('DELETE', '/api/v1/namespaces/tns');
  assert.equal(at(going.body, 'status', 'phase'), 'Terminating');
  assert.equal(call('POST', '/api/v1/namespaces/tns/configmaps', { metadata: { name: 'a' } }).status, 403);
  assert.equal(call('DELETE', '/api/v1/namespaces/default').status, 403);
  const finalised = call('PUT', '/api/v1/namespaces/tns/finalize', { metadata: { name: 'tns' }, spec: {} });
  assert.equal(finalised.status, 200);
  assert.equal(call('GET', '/api/v1/namespaces/tns').status, 404);
});

test('one Event is read through both groups', () => {
  const { call, patch } = testApi();
  const core = '/api/v1/namespaces/default/events';
  const grouped = '/apis/events.k8s.io/v1/namespaces/default/events';
  const involvedObject = { kind: 'Node', name: 'n1', uid: 'n1' };
  const made = call('POST', core, {
    metadata: { name: 'e' },
    involvedObject,
    reason: 'R',
    message: 'M',
    type: 'Normal',
    count: 1,
  });
  assert.equal(made.status, 201);
  const other = call('GET', `${grouped}/e`).body;
  assert.deepEqual([other['note'], other['regarding'], other['deprecatedCount']], ['M', involvedObject, 1]);
  assert.equal(patch('strategic', `${core}/e`, { count: 2 }).body['count'], 2);
  const body = {
    metadata: { name: 'f' },
    eventTime: '2026-01-01T00:00:00.000000Z',
    reportingController: 'c',
    reportingInstance: 'i',
    action: 'A',
    reason: 'R',
    note: 'N',
    type: 'Normal',
    regarding: involvedObject,
  };
  assert.ok(causes(call('POST', grouped, { ...body, eventTime: null })).includes('eventTime'));
  assert.equal(call('POST', grouped, body).status, 201);
  assert.equal(call('GET', `${core}/f`).body['message'], 'N');
  assert.equal(patch('merge', `${grouped}/f`, { note: 'other' }).status, 422);
  const series = { count: 2, lastObservedTime: '2026-01-01T00:00:01.000000Z' };
  assert.equal(patch('merge', `${grouped}/f`, { series }).status, 200);
});

test('an Event about a cluster-wide object belongs into default', () => {
  const { call } = testApi();
  const event = { metadata: { name: 'e' }, involvedObject: { kind: 'Node', name: 'n1' } };
  assert.deepEqual(causes(call('POST', '/api/v1/namespaces/kube-system/events', event)), ['involvedObject.namespace']);
});

test('deployments count their generations, status writes do not', () => {
  const { call, patch } = testApi();
  const path = '/apis/apps/v1/namespaces/default/deployments';
  const { body } = call('POST', path, {
    metadata: { name: 'd' },
    spec: { template: { spec: { containers: [{ name: 'c' }] } } },
  });
  assert.equal(meta(body)['generation'], 1);
  assert.equal(meta(patch('merge', `${path}/d`, { spec: { replicas: 3 } }).body)['generation'], 2);
  assert.equal(meta(patch('merge', `${path}/d/status`, { status: { readyReplicas: 3 } }).body)['generation'], 2);
  const image = { spec: { template: { spec: { containers: [{ name: 'c', image: 'x' }] } } } };
  const patched = patch('strategic', `${path}/d`, image).body;
  assert.equal(objectOf(listOf(at(patched, 'spec', 'template', 'spec', 'containers'))[0])['image'], 'x');
});
