import assert from 'node:assert/strict';
import { test } from 'node:test';
import { countAudited } from './audit-log.ts';

const event = (verb: string, requestURI: string, userAgent?: string, objectRef?: object) =>
  JSON.stringify({ stage: 'RequestReceived', verb, requestURI, userAgent, objectRef });

test('counts audited requests by verb, resource and program, without a line that is not whole yet', () => {
  const agent = 'cloud-node-manager/v0.0.0 (linux/amd64) kubernetes/$Format';
  const node = { resource: 'nodes', name: 'bench-0', apiVersion: 'v1' };
  const lines = [
    event('get', '/api/v1/nodes/bench-0', `${agent}/node-controller`, node),
    event('get', '/api/v1/nodes/bench-1', `${agent}/shared-informers`, { ...node, name: 'bench-1' }),
    event('patch', '/api/v1/nodes/bench-0/status', agent, { ...node, subresource: 'status' }),
    event('get', '/healthz?timeout=10s', 'mooring-controller'),
    event('get', '/version'),
    '{"verb":"get","reque',
  ];
  assert.deepEqual(countAudited(lines.join('\n')), [
    { verb: 'get', resource: 'nodes', userAgent: 'cloud-node-manager', count: 2 },
    { verb: 'patch', resource: 'nodes/status', userAgent: 'cloud-node-manager', count: 1 },
    { verb: 'get', resource: '/healthz', userAgent: 'mooring-controller', count: 1 },
    { verb: 'get', resource: '/version', userAgent: '', count: 1 },
  ]);
  assert.deepEqual(countAudited(''), []);
});
