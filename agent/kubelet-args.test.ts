import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Instance, NodeAddress } from '../common/instance.ts';
import { kubeletArgs } from './kubelet-args.ts';

function instance(addresses: readonly NodeAddress[], name?: string): Instance {
  const base = { cloud: 'openstack', id: 'x', providerID: 'openstack:///x', addresses };
  return name === undefined ? base : { ...base, name };
}

const dual: readonly NodeAddress[] = [
  { type: 'InternalIP', address: '10.0.0.7' },
  { type: 'InternalIP', address: '10.0.0.8' },
  { type: 'ExternalIP', address: '192.0.2.7' },
  { type: 'InternalIP', address: '2001:db8::7' },
  { type: 'Hostname', address: 'Node-7.Example.com' },
];

test('the providerID alone unless asked for more', () => {
  assert.deepEqual(kubeletArgs(instance(dual), []), ['--provider-id=openstack:///x']);
});

test("the VM's name is the Node's, else its host name; lower case", () => {
  assert.equal(kubeletArgs(instance(dual, 'Worker-3'), ['hostname-override'])[1], '--hostname-override=worker-3');
  assert.equal(kubeletArgs(instance(dual), ['hostname-override'])[1], '--hostname-override=node-7.example.com');
});

test('one internal address a family, in their order', () => {
  assert.equal(kubeletArgs(instance(dual), ['node-ip'])[1], '--node-ip=10.0.0.7,2001:db8::7');
  assert.equal(kubeletArgs(instance([...dual].reverse()), ['node-ip'])[1], '--node-ip=2001:db8::7,10.0.0.8');
});

test('refuses an unknown value instead of guessing', () => {
  assert.throws(() => kubeletArgs(instance([]), ['node-ip']), /node-ip: the metadata holds no internal address/);
  assert.throws(() => kubeletArgs(instance([]), ['hostname-override']), /neither a name nor a host name/);
  assert.throws(() => kubeletArgs(instance([], 'my server'), ['hostname-override']), /"my server" cannot name a Node/);
});
