import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Instance as Ec2Instance } from '@aws-sdk/client-ec2';
import { addressesOf, lookupOf } from './instance.ts';

const instance: Ec2Instance = {
  InstanceId: 'i-0123456789abcdef0',
  State: { Name: 'running', Code: 16 },
  Placement: { AvailabilityZone: 'eu-west-1a' },
  InstanceType: 'm6i.large',
  PrivateDnsName: 'ip-10-0-0-4.eu-west-1.compute.internal',
  PublicDnsName: 'ec2-198-51-100-7.eu-west-1.compute.amazonaws.com',
  PublicIpAddress: '198.51.100.7',
  NetworkInterfaces: [
    { Status: 'in-use', PrivateIpAddresses: [{ PrivateIpAddress: '10.0.9.9' }] },
    {
      Status: 'in-use',
      Attachment: { DeviceIndex: 1 },
      PrivateIpAddresses: [{ PrivateIpAddress: '10.0.1.4' }],
      Ipv6Addresses: [{ Ipv6Address: '2001:db8::b' }],
    },
    { Status: 'detaching', Attachment: { DeviceIndex: 2 }, PrivateIpAddresses: [{ PrivateIpAddress: '10.0.2.4' }] },
    {
      Status: 'in-use',
      Attachment: { DeviceIndex: 0 },
      PrivateIpAddresses: [{ PrivateIpAddress: '10.0.0.4' }, { PrivateIpAddress: '10.0.0.5' }],
      Ipv6Addresses: [{ Ipv6Address: '2001:db8::a' }, { Ipv6Address: '2001:db8::aa' }],
    },
  ],
};
const ipv4 = [
  { type: 'InternalIP', address: '10.0.0.4' },
  { type: 'InternalIP', address: '10.0.0.5' },
  { type: 'InternalIP', address: '10.0.1.4' },
  { type: 'InternalIP', address: '10.0.9.9' },
  { type: 'ExternalIP', address: '198.51.100.7' },
  { type: 'InternalDNS', address: 'ip-10-0-0-4.eu-west-1.compute.internal' },
  { type: 'Hostname', address: 'ip-10-0-0-4.eu-west-1.compute.internal' },
  { type: 'ExternalDNS', address: 'ec2-198-51-100-7.eu-west-1.compute.amazonaws.com' },
];
const ipv6 = [
  { type: 'InternalIP', address: '2001:db8::a' },
  { type: 'InternalIP', address: '2001:db8::b' },
];

describe('addressesOf', () => {
  it('lists interfaces in use by device index, those without one last, then public address and names', () => {
    assert.deepEqual(addressesOf(instance, ['ipv4']), ipv4);
  });

  it('lists the families in the order asked for, of IPv6 the first address of each interface', () => {
    assert.deepEqual(addressesOf(instance, ['ipv6', 'ipv4']), [...ipv6, ...ipv4]);
    assert.deepEqual(addressesOf(instance, ['ipv6']), ipv6);
  });

  it('leaves out names that are empty', () => {
    assert.deepEqual(addressesOf({ PrivateDnsName: '', PublicDnsName: '' }, ['ipv4']), []);
  });
});

describe('lookupOf', () => {
  const view = {
    region: 'eu-west-1',
    nodeIpFamilies: ['ipv6'] as const,
    zoneId: () => 'euw1-az2',
    networkLayers: () => [],
  };

  it('describes an instance as a Node shall show it', () => {
    const tagged = { ...instance, Tags: [{ Key: 'team', Value: 'data' }, { Key: 'empty' }] };
    assert.deepEqual(lookupOf(tagged, view, 'list'), {
      state: 'found',
      power: 'running',
      request: 'list',
      instance: {
        cloud: 'aws',
        id: 'i-0123456789abcdef0',
        providerID: 'aws:///eu-west-1a/i-0123456789abcdef0',
        incarnation: 'i-0123456789abcdef0',
        name: 'ip-10-0-0-4.eu-west-1.compute.internal',
        zone: 'eu-west-1a',
        region: 'eu-west-1',
        type: 'm6i.large',
        addresses: ipv6,
        labels: { 'topology.k8s.aws/zone-id': 'euw1-az2' },
        tags: { team: 'data', empty: '' },
      },
    });
  });

  it('takes the zone id of the answer itself where EC2 gives it', () => {
    const placement = { AvailabilityZone: 'eu-west-1a', AvailabilityZoneId: 'euw1-az3' };
    const lookup = lookupOf({ ...instance, Placement: placement }, view, 'id');
    assert.ok(lookup.state === 'found');
    assert.deepEqual(lookup.instance.labels, { 'topology.k8s.aws/zone-id': 'euw1-az3' });
  });

  it('an answer without state or zone is unknown and names the field', () => {
    for (const [field, lacking] of [
      ['State.Name', { ...instance, State: {} }],
      ['Placement.AvailabilityZone', { ...instance, Placement: {} }],
    ] as const) {
      const lookup = lookupOf(lacking, view, 'list');
      assert.ok(lookup.state === 'unknown');
      assert.equal(lookup.error.kind, 'Invalid');
      assert.ok(lookup.error.message.includes(field));
    }
  });
});
