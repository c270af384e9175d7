import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { annotations } from '../../common/well-known.ts';
import type { DesiredLoadBalancer, DesiredMember, LoadBalancers } from '../clouds/load-balancers.ts';
import { annotationsFor, defaultName, desiredOf, refOf, unknownAnnotations } from './desired.ts';
import { type OperatorPolicy, strictPolicy } from './operator-policy.ts';
import type { ServingCloud } from './serving-cloud.ts';
import { exampleService } from './testing/example-service.ts';

const definitions = [{ key: 'example.com/scheme', values: 'internal or external', meaning: 'Where it listens.' }];
const cloud: ServingCloud = {
  name: 'example',
  scope: 'example/1',
  loadBalancers: { annotations: definitions, annotationPrefixes: [] } as unknown as LoadBalancers,
};
const members: readonly DesiredMember[] = [
  { node: 'n0', providerID: 'example:///i-0', addresses: ['10.0.0.1'], zone: 'a', draining: false },
];
const policy: OperatorPolicy = {
  ...strictPolicy,
  attachable: [
    { id: 'lb-allowed', holder: undefined },
    { id: 'lb-named', holder: { namespace: 'default', name: 'web' } },
    { id: 'lb-other', holder: { namespace: 'other', name: undefined } },
  ],
};
const parts = { cluster: { uid: 'cluster-uid', name: 'blue' }, cloud, members, policy, retain: false };

function desired(changes: Parameters<typeof exampleService>[0] = {}): DesiredLoadBalancer {
  const told = desiredOf(
    exampleService(changes, (key) => key.startsWith('example.com/')),
    parts,
  );
  assert.ok(told.ok);
  return told.desired;
}

describe('what a Service asks of its load balancer', () => {
  it('fills every field of the desired load balancer, and none of Kubernetes', () => {
    assert.deepEqual(desired(), {
      owner: { cluster: 'cluster-uid', service: '6a2f3f1e-0b0c-4d5e-8f90-123456789abc' },
      service: 'default/web',
      clusterName: 'blue',
      name: 'a6a2f3f1e0b0c4d5e8f90123456789ab',
      ports: [{ name: 'http', protocol: 'TCP', port: 80, nodePort: 30080, appProtocol: undefined }],
      families: ['IPv4'],
      sourceRanges: [],
      sessionAffinity: undefined,
      trafficPolicy: 'Cluster',
      healthCheck: { port: 10256, path: '/healthz' },
      address: undefined,
      annotations: {},
      members,
      attach: undefined,
      clusterWideConsent: false,
      mayKeepAddress: true,
      mayChangeAddress: false,
      retain: false,
      record: { id: undefined, notes: undefined },
    });
  });

  it('tells a Service that asks for everybody from one that says nothing about source ranges', () => {
    const { sourceRanges, asksForEverybody } = desired({ spec: { loadBalancerSourceRanges: ['0.0.0.0/0'] } });
    assert.deepEqual([sourceRanges, asksForEverybody], [[], true]);
    assert.equal('asksForEverybody' in desired(), false);
  });

  it('forms upstream’s default name', () => {
    assert.equal(defaultName('6a2f3f1e-0b0c-4d5e-8f90-123456789abc').length, 32);
    assert.equal(defaultName('abc'), 'aabc');
  });

  it('checks the Service’s own port with Local, and kube-proxy’s otherwise', () => {
    const local = { externalTrafficPolicy: 'Local', healthCheckNodePort: 31234 };
    assert.deepEqual(desired({ spec: local }).healthCheck, { port: 31234, path: '/healthz' });
    assert.equal(desired({ spec: local }).trafficPolicy, 'Local');
    assert.deepEqual(desired({ spec: { ...local, healthCheckNodePort: 0 } }).healthCheck.port, 10256);
  });

  it('takes the annotations of each of its ports, and reports those of other ports', () => {
    const ofPorts = { key: 'example.com/port_{port}_probe', values: 'true', meaning: 'Whether it is probed.' };
    const loadBalancers = { annotations: [ofPorts], annotationPrefixes: ['example.com/'] } as unknown as LoadBalancers;
    const given = { 'example.com/port_80_probe': 'true', 'example.com/port_81_probe': 'true' };
    const service = exampleService({ metadata: { annotations: given } }, (key) => key.startsWith('example.com/'));
    const serving = { ...cloud, loadBalancers };
    assert.deepEqual(annotationsFor(service, serving), { 'example.com/port_80_probe': 'true' });
    assert.deepEqual(unknownAnnotations(service, serving), ['example.com/port_81_probe']);
  });

  it('carries affinity, families, the address, mixed protocols and no node ports', () => {
    const told = desired({
      spec: {
        sessionAffinity: 'ClientIP',
        sessionAffinityConfig: { clientIP: { timeoutSeconds: 60 } },
        ipFamilies: ['IPv6', 'IPv4'],
        loadBalancerIP: '192.0.2.9',
        allocateLoadBalancerNodePorts: false,
        externalIPs: ['203.0.113.1'],
        ports: [
          { name: 'dns', protocol: 'UDP', port: 53 },
          { name: 'dns-tcp', protocol: 'TCP', port: 53, appProtocol: 'dns' },
          { name: 'assoc', protocol: 'SCTP', port: 9 },
        ],
      },
    });
    assert.deepEqual(told.sessionAffinity, { timeoutSeconds: 60 });
    assert.deepEqual(told.families, ['IPv6', 'IPv4']);
    assert.equal(told.address, '192.0.2.9');
    assert.deepEqual(
      told.ports.map(({ name, protocol, port, nodePort, appProtocol }) => [
        name,
        protocol,
        port,
        nodePort,
        appProtocol,
      ]),
      [
        ['dns', 'UDP', 53, 0, undefined],
        ['dns-tcp', 'TCP', 53, 0, 'dns'],
        ['assoc', 'SCTP', 9, 0, undefined],
      ],
    );
    assert.doesNotMatch(JSON.stringify(told), /203\.0\.113/);
  });

  it('carries its class, where it has one', () => {
    const loadBalancerClass = 'networking.gke.io/l4-regional-external';
    assert.equal(desired({ spec: { loadBalancerClass } }).loadBalancerClass, loadBalancerClass);
    assert.ok(!('loadBalancerClass' in desired()));
  });

  it('keeps a client for three hours where the Service gives no timeout', () => {
    assert.deepEqual(desired({ spec: { sessionAffinity: 'ClientIP' } }).sessionAffinity, { timeoutSeconds: 10_800 });
  });

  it('takes only the annotations that the cloud names', () => {
    const told = desired({
      metadata: { annotations: { 'example.com/scheme': 'internal', 'example.com/other': 'x', 'else.com/x': 'y' } },
    });
    assert.deepEqual(told.annotations, { 'example.com/scheme': 'internal' });
  });

  it('reads the annotations of mooring.dev', () => {
    const withAnnotation = (key: string, value: string) => desired({ metadata: { annotations: { [key]: value } } });
    assert.deepEqual(withAnnotation(annotations.loadBalancerId, 'lb-9').attach, { id: 'lb-9', allowed: false });
    assert.deepEqual(withAnnotation(annotations.loadBalancerId, ' lb-allowed ').attach, {
      id: 'lb-allowed',
      allowed: true,
    });
    assert.deepEqual(withAnnotation(annotations.loadBalancerId, 'lb-named').attach, { id: 'lb-named', allowed: true });
    assert.deepEqual(withAnnotation(annotations.loadBalancerId, 'lb-other').attach, { id: 'lb-other', allowed: false });
    assert.equal(withAnnotation(annotations.loadBalancerId, ' ').attach, undefined);
    assert.equal(withAnnotation(annotations.allowAddressChange, 'true').mayChangeAddress, true);
    assert.equal(withAnnotation(annotations.allowAddressChange, 'maybe').mayChangeAddress, false);
  });

  it('names an invalid field', () => {
    const bad = desiredOf(exampleService({ spec: { loadBalancerSourceRanges: ['10.0.0.0/33'] } }), parts);
    assert.deepEqual(bad.ok ? '' : bad.reason, 'InvalidSourceRanges');
    const none = desiredOf(exampleService({ spec: { ports: [] } }), parts);
    assert.deepEqual(none.ok ? '' : none.reason, 'InvalidSpec');
  });

  it('refuses ports with more source ranges or members than any cloud has rules and members', () => {
    const [member] = parts.members;
    const refusalOf = (ports: number, ranges: number, members: number) => {
      const spec = {
        ports: Array.from({ length: ports }, (_, at) => ({ name: `p${at}`, port: at + 1, nodePort: 30_000 + at })),
        loadBalancerSourceRanges: Array.from({ length: ranges }, (_, at) => `10.0.${at >> 8}.${at & 255}/32`),
      };
      const all = Array.from({ length: members }, (_, at) => ({ ...member!, node: `n${at}` }));
      const told = desiredOf(exampleService({ spec }), { ...parts, members: all });
      return told.ok ? undefined : `${told.reason}: ${told.message}`;
    };
    assert.equal(refusalOf(10, 5000, 1), undefined);
    assert.equal(
      refusalOf(1000, 3000, 1),
      'InvalidSourceRanges: 1000 ports with 3000 source ranges are 3000000 rules, expected at most 50000',
    );
    assert.equal(refusalOf(40, 0, 5000), undefined);
    assert.equal(refusalOf(50, 0, 15_000), undefined);
    assert.equal(
      refusalOf(1000, 0, 5000),
      'InvalidSpec: spec.ports: 1000 ports with 5000 members each, expected at most 200000 members in all',
    );
  });
});

describe('the proof for adoption', () => {
  it('gives no proof for adoption where a load balancer that was created for the Service is gone', () => {
    const proofOf = (annotations: Record<string, string>) => {
      const metadata = { annotations, finalizers: ['service.kubernetes.io/load-balancer-cleanup'] };
      const status = { loadBalancer: { ingress: [{ ip: '192.0.2.1' }] } };
      return refOf(parts.cluster, exampleService({ metadata, status }), true).adopt?.addresses;
    };
    assert.deepEqual(proofOf({}), ['192.0.2.1']);
    assert.equal(proofOf({ 'mooring.dev/load-balancer': 'x/1 lb-1' }), undefined);
  });
});
