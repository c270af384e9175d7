import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { annotations } from '../../common/well-known.ts';
import { needsReconcile } from './needs-reconcile.ts';
import { exampleService, finalized, recorded } from './testing/example-service.ts';

const port = { name: 'http', protocol: 'TCP', port: 80, targetPort: 8080, nodePort: 30080 };
const read = (key: string) => key === 'example.com/read';
const shown = { loadBalancer: { ingress: [{ ip: '192.0.2.1', ipMode: 'VIP' }] } };

/** Upstream's table of needsUpdate first, then where we look at more or at less. */
describe('a change of a Service', () => {
  type Changes = Parameters<typeof exampleService>[0];
  for (const [what, before, after, expected] of [
    ['of the type', {}, { spec: { type: 'NodePort' } }, true],
    ['of the number of ports', {}, { spec: { ports: [port, { ...port, name: 'b', port: 81 }] } }, true],
    ['of a port number', {}, { spec: { ports: [{ ...port, port: 81 }] } }, true],
    ['of a node port', {}, { spec: { ports: [{ ...port, nodePort: 30081 }] } }, true],
    ['of a protocol', {}, { spec: { ports: [{ ...port, protocol: 'UDP' }] } }, true],
    ['of a port name', {}, { spec: { ports: [{ ...port, name: 'https' }] } }, true],
    ['of a target port', {}, { spec: { ports: [{ ...port, targetPort: 8081 }] } }, true],
    ['of a target port from number to name', {}, { spec: { ports: [{ ...port, targetPort: 'web' }] } }, true],
    ['of the app protocol, set', {}, { spec: { ports: [{ ...port, appProtocol: 'http' }] } }, true],
    [
      'of the app protocol, changed',
      { spec: { ports: [{ ...port, appProtocol: 'http' }] } },
      { spec: { ports: [{ ...port, appProtocol: 'tcp' }] } },
      true,
    ],
    [
      'of nothing, with an app protocol',
      { spec: { ports: [{ ...port, appProtocol: 'http' }] } },
      { spec: { ports: [{ ...port, appProtocol: 'http' }] } },
      false,
    ],
    ['of the UID', {}, { metadata: { uid: 'another' } }, true],
    ['of the traffic policy', {}, { spec: { externalTrafficPolicy: 'Local' } }, true],
    ['of the health check port', {}, { spec: { healthCheckNodePort: 30123 } }, true],
    ['from one family to two', {}, { spec: { ipFamilies: ['IPv4', 'IPv6'] } }, true],
    ['from two families to one', { spec: { ipFamilies: ['IPv4', 'IPv6'] } }, {}, true],
    ['of nothing', {}, {}, false],
    ['of the source ranges', {}, { spec: { loadBalancerSourceRanges: ['10.0.0.0/8'] } }, true],
    ['of the affinity', {}, { spec: { sessionAffinity: 'ClientIP' } }, true],
    [
      'of the affinity timeout',
      { spec: { sessionAffinityConfig: { clientIP: { timeoutSeconds: 10 } } } },
      { spec: { sessionAffinityConfig: { clientIP: { timeoutSeconds: 20 } } } },
      true,
    ],
    ['of the address asked for', {}, { spec: { loadBalancerIP: '192.0.2.1' } }, true],
    // More than upstream.
    ['of the family policy', {}, { spec: { ipFamilyPolicy: 'PreferDualStack' } }, true],
    ['of the class', {}, { spec: { loadBalancerClass: 'example.com/other' } }, true],
    ['of the node ports, given up', {}, { spec: { allocateLoadBalancerNodePorts: false } }, true],
    ['of the status: wiped', { status: shown }, {}, true],
    ['of the finalizer: taken off', { metadata: finalized }, {}, true],
    ['of the record: taken off', { metadata: recorded('s lb-1') }, {}, true],
    ['of the deletion', {}, { metadata: { deletionTimestamp: '2026-05-01T12:00:00Z' } }, true],
    ['of an annotation of ours', {}, { metadata: { annotations: { [annotations.paused]: 'true' } } }, true],
    ['of an annotation that a cloud reads', {}, { metadata: { annotations: { 'example.com/read': '1' } } }, true],
    ['of our condition', {}, { status: { conditions: [{ type: 'CloudLoadBalancer', status: 'True' }] } }, true],
    // Less than upstream.
    ['of an annotation that no cloud reads', {}, { metadata: { annotations: { 'example.com/x': '1' } } }, false],
    ['of the external IPs (kube-proxy’s)', {}, { spec: { externalIPs: ['192.0.2.7'] } }, false],
    // As upstream.
    ['of labels', {}, { metadata: { labels: { a: 'b' } } }, false],
    ['of the selector', {}, { spec: { selector: { app: 'other' } } }, false],
    ['of the internal traffic policy', {}, { spec: { internalTrafficPolicy: 'Local' } }, false],
    ['of the version alone', {}, { metadata: { resourceVersion: '101' } }, false],
    ['of conditions of others', {}, { status: { conditions: [{ type: 'Other', status: 'True' }] } }, false],
  ] satisfies readonly (readonly [string, Changes, Changes, boolean])[]) {
    it(`a change ${what} ${expected ? 'asks for work' : 'does not matter'}`, () => {
      assert.equal(needsReconcile(exampleService(before, read), exampleService(after, read)), expected);
    });
  }
});
