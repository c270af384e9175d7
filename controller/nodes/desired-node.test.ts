import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { annotations, conditions, labels } from '../../common/well-known.ts';
import { exampleInstance } from '../model/testing/example-instance.ts';
import { exampleNode, uninitializedTaint } from '../model/testing/example-node.ts';
import { desiredNode } from './desired-node.ts';

const joining = { taints: [uninitializedTaint] };
const joined = { providerID: 'simulated://sim-1/i-1' };
const [zone, region, type] = [labels.zone, labels.region, labels.instanceType];
const [zoneBeta, regionBeta, typeBeta] = [labels.zoneBeta, labels.regionBeta, labels.instanceTypeBeta];

function changed(node: Parameters<typeof exampleNode>[0], instance: Parameters<typeof exampleInstance>[0] = {}) {
  const desired = desiredNode(exampleNode(node), exampleInstance(instance), 'scope');
  assert.ok(desired.ok);
  return desired.node;
}

describe('labels of zone, region and type', () => {
  const all = {
    [zone]: 'sim-1a',
    [zoneBeta]: 'sim-1a',
    [region]: 'sim-1',
    [regionBeta]: 'sim-1',
    [type]: 'sim.small',
    [typeBeta]: 'sim.small',
  };

  // As upstream's reconcileNodeLabels, the beta zone and region are copied over the stable ones; they keep what was
  // written first. A person's type stands; there the beta label is only the witness of what the controller wrote.
  const table: readonly [string, Parameters<typeof exampleNode>[0], Readonly<Record<string, string>>][] = [
    ['all six while joining', joining, all],
    [
      'while joining over whatever stands there, as upstream',
      { ...joining, labels: { [zone]: 'x', [type]: 'y' } },
      all,
    ],
    ['none when they stand', { ...joined, labels: all }, {}],
    [
      'a missing stable zone is written again, from the cloud',
      { ...joined, labels: { ...without(all, zone) } },
      { [zone]: 'sim-1a' },
    ],
    ['a missing beta zone is not: only a joining Node gets one', { ...joined, labels: without(all, zoneBeta) }, {}],
    [
      'another zone is set back to the beta label, as upstream',
      { ...joined, labels: { ...all, [zone]: 'moved' } },
      { [zone]: 'sim-1a' },
    ],
    [
      'another region is set back to the beta label, as upstream',
      { ...joined, labels: { ...all, [region]: 'moved' } },
      { [region]: 'sim-1' },
    ],
    [
      'a missing stable zone is what was written first, whatever the cloud says now',
      { ...joined, labels: { ...without(all, zone), [zoneBeta]: 'first' } },
      { [zone]: 'first' },
    ],
    [
      'another zone stays where no beta label tells what was written first',
      { ...joined, labels: { ...without(all, zoneBeta), [zone]: 'moved' } },
      {},
    ],
    [
      'a type follows while both labels agree',
      { ...joined, labels: { ...all, [type]: 'old', [typeBeta]: 'old' } },
      { [type]: 'sim.small', [typeBeta]: 'sim.small' },
    ],
    [
      'a person’s type stays: the witness differs',
      { ...joined, labels: { ...all, [type]: 'mine', [typeBeta]: 'old' } },
      {},
    ],
    ['a type without witness stays', { ...joined, labels: { ...without(all, typeBeta), [type]: 'mine' } }, {}],
    ['a missing type is written again', { ...joined, labels: without(all, type) }, { [type]: 'sim.small' }],
  ];
  for (const [name, node, expected] of table) it(name, () => assert.deepEqual({ ...changed(node).labels }, expected));

  it('writes no label that the cloud has no value for', () => {
    const told = desiredNode(exampleNode(joining), { cloud: 'c', id: 'i', providerID: 'c://i', addresses: [] }, 's');
    assert.deepEqual(told.ok && told.node.labels, {});
  });

  it('reports a drift of zone and region with both values', () => {
    const labelled = { ...all, [zone]: 'z', [zoneBeta]: 'z', [region]: 'r', [regionBeta]: 'r' };
    const { reason, message } = changed({ ...joined, labels: labelled });
    assert.equal(reason, 'TopologyDrift');
    assert.equal(message, 'zone label z, the cloud says sim-1a; region label r, the cloud says sim-1');
  });

  it('reports a drift of the beta labels alone once they are copied', () => {
    const { labels: written, reason } = changed({ ...joined, labels: { ...all, [zoneBeta]: 'z' } });
    assert.deepEqual([{ ...written }, reason], [{ [zone]: 'z' }, 'TopologyDrift']);
  });

  it('reports no drift while joining, or where the label or the cloud has no value', () => {
    assert.equal(changed({ ...joining, labels: { [zone]: 'z' } }).reason, 'Initialized');
    assert.equal(changed(joined).reason, 'Initialized');
  });
});

describe('additional labels of a report that no API of the cloud confirms', () => {
  const told = (labels: Readonly<Record<string, string>>) => {
    const desired = desiredNode(exampleNode(joining), exampleInstance({ labels }), 'report:simulated');
    assert.ok(desired.ok);
    return desired.node;
  };

  it('writes labels that agents set', () => {
    const zoneId = { 'topology.k8s.aws/zone-id': 'euc1-az1' };
    assert.equal(told(zoneId).labels['topology.k8s.aws/zone-id'], 'euc1-az1');
  });

  for (const key of [
    'karpenter.sh/nodepool',
    'topology.ebs.csi.aws.com/zone',
    'node.cluster.x-k8s.io/nodegroup',
    'pool',
  ]) {
    it(`leaves out a label that agents do not set, and names it in the condition: ${key}`, () => {
      const { labels, message } = told({ [key]: 'chosen' });
      assert.equal(Object.hasOwn(labels, key), false);
      assert.match(message, new RegExp(`left out, since no agent sets it: ${key}`));
    });
  }
});

describe('additional labels', () => {
  // Upstream's table (node_controller_test.go), bare and sub-domain forms of both reserved namespaces and their
  // look-alikes.
  for (const [key, kept] of [
    ['topology.k8s.cp/zone-id', true],
    ['my.custom.label/foo', true],
    ['kubernetes.io/foo', false],
    ['sub.kubernetes.io/foo', false],
    ['k8s.io/foo', false],
    ['node.k8s.io/foo', false],
    ['k8snio/foo', true],
    ['app.k8snio/foo', true],
    ['notkubernetes.io/foo', true],
    ['plain', true],
  ] as const) {
    it(`${key} is ${kept ? 'added' : 'dropped'}`, () => {
      assert.equal(changed(joining, { labels: { [key]: 'v' } }).labels[key], kept ? 'v' : undefined);
    });
  }

  it('never overwrites an existing label with an additional one', () => {
    assert.equal(
      changed({ ...joining, labels: { 'a.b/c': 'held' } }, { labels: { 'a.b/c': 'cloud' } }).labels['a.b/c'],
      undefined,
    );
  });

  for (const [key, value] of [
    ['a.b/c', 'not fine'],
    ['a.b/c', 'x'.repeat(64)],
    ['a b', 'v'],
    ['a/b/c', 'v'],
    ['/c', 'v'],
    ['a.b/', 'v'],
    ['A.B/c', 'v'],
    [`a.b/${'c'.repeat(64)}`, 'v'],
    ['a.b/c', '-v'],
  ] as const) {
    it(`${key}=${value.slice(0, 12)} is left out and named, and the other labels are written`, () => {
      const { labels: written, message } = changed(joining, { labels: { [key]: value, 'a.b/ok': 'v' } });
      assert.equal(written[key], undefined);
      assert.equal(written['a.b/ok'], 'v');
      assert.ok(message.includes(key));
    });
  }
});

describe('addresses and identity', () => {
  it('refuses a malformed node IP as InvalidNodeIP, and one the instance lacks as IdentityConflict', () => {
    const desired = (ip: string) =>
      desiredNode(exampleNode({ annotations: { [annotations.providedNodeIP]: ip } }), exampleInstance(), 's');
    const [bad, foreign] = [desired('x'), desired('192.0.2.1')];
    assert.equal(!bad.ok && bad.reason, 'InvalidNodeIP');
    assert.equal(!foreign.ok && foreign.reason, 'IdentityConflict');
  });

  it('keeps the addresses of the Node when the cloud lists none', () =>
    assert.equal(changed(joining, { addresses: [] }).addresses, undefined));

  it('internal addresses stay on the Node where the cloud does not know them, and may be its node IP', () => {
    const held = [
      { type: 'InternalIP', address: '10.9.0.4' },
      { type: 'ExternalIP', address: '192.0.2.9' },
    ] as const;
    const external = { type: 'ExternalIP', address: '203.0.113.7' } as const;
    const cloud = { addresses: [external], keepsInternalIPs: true };
    assert.deepEqual(changed({ ...joined, addresses: held }, cloud).addresses, [external, held[0]]);
    const asked = { ...joined, addresses: held, annotations: { [annotations.providedNodeIP]: '10.9.0.4' } };
    assert.deepEqual(changed(asked, cloud).addresses, [held[0], external]);
    assert.deepEqual(changed({ ...joined, addresses: held }, { addresses: [external] }).addresses, [external]);
  });

  it('waits to initialise a Node while the cloud cannot tell its zone, and serves one that is initialised', () => {
    const unplaced = { placeUnknown: 'Unavailable: no tags' };
    const { zone: _, region: __, ...instance } = exampleInstance(unplaced);
    const waits = desiredNode(exampleNode(joining), instance, 's');
    assert.deepEqual(waits, { ok: false, reason: 'AwaitingCloud', message: unplaced.placeUnknown });
    const labelled = { ...joined, labels: { [zone]: 'held', [zoneBeta]: 'held' } };
    const served = desiredNode(exampleNode(labelled), instance, 's');
    assert.ok(served.ok);
    assert.deepEqual(served.node.addresses, instance.addresses);
    assert.deepEqual(served.node.labels, { [type]: 'sim.small', [typeBeta]: 'sim.small' });
    assert.equal(served.node.reason, 'Initialized');
  });

  it('keeps the drift that it has told while the cloud cannot tell the zone', () => {
    const { zone: _, region: __, ...instance } = exampleInstance({ placeUnknown: 'Unavailable: no tags' });
    const message = 'zone label held, the cloud says z1';
    const told = { type: conditions.cloudInitialized, status: 'True', reason: 'TopologyDrift', message } as const;
    const { ok, ...rest } = desiredNode(exampleNode({ ...joined, conditions: [told] }), instance, 's');
    assert.ok(ok && 'node' in rest);
    assert.deepEqual([rest.node.reason, rest.node.message], ['TopologyDrift', message]);
  });

  it('a providerID is written where none is, and kept where one is', () => {
    assert.equal(changed(joining).providerID, 'simulated://sim-1/i-1');
    assert.equal(changed({ ...joining, ...joined }).providerID, undefined);
  });
});

function without(from: Readonly<Record<string, string>>, key: string): Record<string, string> {
  return Object.fromEntries(Object.entries(from).filter(([each]) => each !== key));
}
