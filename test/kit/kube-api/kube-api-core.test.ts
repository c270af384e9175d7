import assert from 'node:assert/strict';
import { test } from 'node:test';
import { at, listOf, objectOf, textOf } from './json.ts';
import { code, testApi } from './testing/test-api.ts';

const nodes = '/api/v1/nodes';

test('paths that are not served tell resources from groups', () => {
  const { call } = testApi();
  assert.deepEqual(code(call('GET', '/api/v1/nope')), [
    404,
    'NotFound',
    'the server could not find the requested resource',
  ]);
  const group = call('GET', '/apis/nope.io/v1/things');
  assert.deepEqual(
    [group.status, group.text, group.headers['content-type']],
    [404, '404 page not found\n', 'text/plain; charset=utf-8'],
  );
  assert.equal(call('GET', `${nodes}/n1/nope`).status, 404);
  assert.equal(call('GET', `${nodes}/`).status, 200);
  assert.equal(call('GET', '/api/v1//nodes').status, 404);
});

test('methods that a path lacks are 405', () => {
  const { call } = testApi();
  for (const [method, path] of [
    ['POST', `${nodes}/n1`],
    ['PUT', nodes],
    ['PATCH', nodes],
    ['POST', `${nodes}/n1/status`],
    ['DELETE', `${nodes}/n1/status`],
    ['HEAD', nodes],
    ['OPTIONS', nodes],
  ] as const) {
    assert.deepEqual([method, path, call(method, path).status], [method, path, 405]);
  }
});

test('bodies of the wrong kind, shape or type are bad requests', () => {
  const { call } = testApi();
  assert.match(
    code(call('POST', nodes, '{"kind":'))[2],
    /^the object provided is unrecognized \(must be of type Node\)/,
  );
  assert.match(
    code(call('POST', nodes, { kind: 'Service', apiVersion: 'v1' }))[2],
    /^Service in version "v1" cannot be handled as a Node/,
  );
  const wrong = call('POST', nodes, { metadata: { name: 'a' }, spec: { unschedulable: 'x' } });
  assert.match(
    code(wrong)[2],
    /json: cannot unmarshal string into Go struct field NodeSpec.spec.unschedulable of type bool$/,
  );
  assert.equal(call('POST', nodes, { metadata: { name: 'a', annotations: { x: 'y'.repeat(3_200_000) } } }).status, 413);
});

test('discovery lists resources with short names and subresources, aggregated on demand', () => {
  const { call } = testApi();
  const rows = listOf(call('GET', '/api/v1').body['resources']).map(objectOf);
  const row = rows.find((one) => one['name'] === 'nodes');
  assert.deepEqual([row?.['shortNames'], listOf(row?.['verbs']).length], [['no'], 8]);
  assert.deepEqual(rows.find((one) => one['name'] === 'nodes/status')?.['verbs'], ['get', 'patch', 'update']);
  assert.equal(call('GET', '/apis').body['kind'], 'APIGroupList');
  const accept = 'application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList,application/json';
  const all = call('GET', '/apis', undefined, { headers: { accept } });
  assert.equal(all.body['kind'], 'APIGroupDiscoveryList');
  assert.equal(all.headers['content-type'], 'application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList');
});

test('every group version has an OpenAPI document that offers fieldValidation on patches', () => {
  const { call } = testApi();
  const paths = objectOf(call('GET', '/openapi/v3').body['paths']);
  assert.ok(Object.keys(paths).includes('apis/coordination.k8s.io/v1'));
  for (const entry of Object.values(paths)) {
    const document = call('GET', textOf(at(entry, 'serverRelativeURL')).replace(/\?.*/, ''));
    assert.equal(document.status, 200);
    for (const path of Object.values(objectOf(document.body['paths']))) {
      const parameters = at(path, 'patch', 'parameters');
      if (at(path, 'patch') !== undefined)
        assert.ok(listOf(parameters).some((one) => at(one, 'name') === 'fieldValidation'));
    }
  }
});

test('an unknown media type is not acceptable', () => {
  const { call } = testApi();
  assert.equal(call('GET', nodes, undefined, { headers: { accept: 'text/html' } }).status, 406);
});

test('requests are counted by verb, resource and user agent, refused ones too', () => {
  const { call, core } = testApi();
  const headers = { 'user-agent': 'mooring/1' };
  call('GET', nodes, undefined, { headers });
  call('GET', nodes, undefined, { headers });
  call('GET', `${nodes}/x`, undefined, { headers });
  call('PATCH', `${nodes}/x/status`, {}, { headers, user: null });
  assert.equal(core.requests.total({ userAgent: 'mooring' }), 4);
  assert.equal(core.requests.total({ verb: 'list', resource: 'nodes' }), 2);
  assert.deepEqual(
    core.requests.list().map((one) => `${one.verb} ${one.resource} ${one.count}`),
    ['list nodes 2', 'get nodes 1', 'patch nodes/status 1'],
  );
  core.requests.reset();
  assert.equal(core.requests.total(), 0);
});

test('a fault answers instead of the server, as often as configured', () => {
  const { call, core } = testApi();
  core.faults.add({
    match: { verb: 'list', resource: 'nodes' },
    effect: { kind: 'answer', status: 429, retryAfterSeconds: 1 },
    times: 2,
  });
  const first = call('GET', nodes);
  assert.deepEqual(
    [first.status, first.headers['retry-after'], first.text],
    [429, '1', 'Too many requests, please try again later.\n'],
  );
  assert.deepEqual([call('GET', nodes).status, call('GET', nodes).status], [429, 200]);
  const remove = core.faults.add({ match: { userAgent: /kubelet/ }, effect: { kind: 'answer', status: 500 } });
  const asKubelet = () => call('GET', nodes, undefined, { headers: { 'user-agent': 'the kubelet' } });
  assert.deepEqual(code(asKubelet()).slice(0, 2), [500, 'InternalError']);
  remove();
  assert.equal(asKubelet().status, 200);
});

test('an answer may be lost after the write, or the write before it is made', () => {
  const { call, core } = testApi();
  core.faults.add({ match: { verb: 'create', name: '' }, effect: { kind: 'lose-answer' }, times: 1 });
  assert.equal(call('POST', nodes, { metadata: { name: 'a' } }).status, 0);
  assert.equal(call('GET', `${nodes}/a`).status, 200);
  core.faults.add({ match: { verb: 'create' }, effect: { kind: 'drop' }, times: 1 });
  assert.equal(call('POST', nodes, { metadata: { name: 'b' } }).status, 0);
  assert.equal(call('GET', `${nodes}/b`).status, 404);
  core.faults.add({ match: {}, effect: { kind: 'delay', ms: 40 } });
  assert.equal(call('GET', nodes).delayMs, 40);
  core.faults.clear();
  assert.equal(call('GET', nodes).delayMs, 0);
});
