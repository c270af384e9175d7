import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import ipaddr from 'ipaddr.js';
import { answerFields } from '../answer-fields.ts';
import { addressesOf, type ServerPorts } from './addresses.ts';
import type { NetworkingOptions } from './config.ts';
import { readServer, type Server } from './server.ts';

const fixed = (addr: string) => ({ addr, version: addr.includes(':') ? 6 : 4, 'OS-EXT-IPS:type': 'fixed' });
const floating = (addr: string) => ({ ...fixed(addr), 'OS-EXT-IPS:type': 'floating' });

function server(more: Record<string, unknown>): Server {
  const place = { cloud: 'openstack', operation: 'GET /servers/{id}' };
  return readServer(answerFields({ id: 'a', name: 'n', status: 'ACTIVE', metadata: {}, ...more }, place));
}
const none: ServerPorts = { active: [], subports: [] };
const plain: NetworkingOptions = {
  ipv6SupportDisabled: false,
  publicNetworkNames: [],
  internalNetworkNames: [],
  addressSortOrder: [],
};
const words = (of: Server, ports: ServerPorts, options: Partial<NetworkingOptions> = {}) =>
  addressesOf(of, ports, { ...plain, ...options }).map(({ type, address }) => `${type} ${address}`);

describe('addressesOf', () => {
  const full = server({
    accessIPv4: '198.51.100.1',
    accessIPv6: '2001:db8::1',
    metadata: { hostname: 'node-a.example' },
    addresses: {
      zoo: [fixed('10.9.0.1')],
      'k8s-net': [fixed('10.20.0.5'), floating('203.0.113.7'), fixed('fd00::5')],
    },
  });
  const ports: ServerPorts = {
    active: ['10.20.0.5', 'fd00::5'],
    subports: [{ network: 'alpha', address: '10.7.0.1' }],
  };

  it('lists ports, access addresses, hostname, then networks by name with the subports of trunks', () => {
    assert.deepEqual(words(full, ports), [
      'InternalIP 10.20.0.5',
      'InternalIP fd00::5',
      'ExternalIP 198.51.100.1',
      'ExternalIP 2001:db8::1',
      'Hostname node-a.example',
      'InternalIP 10.7.0.1',
      'ExternalIP 203.0.113.7',
      'InternalIP 10.9.0.1',
    ]);
  });

  it('makes a public network external alone', () => {
    assert.deepEqual(words(full, ports, { publicNetworkNames: ['k8s-net'] }), [
      'ExternalIP 198.51.100.1',
      'ExternalIP 2001:db8::1',
      'Hostname node-a.example',
      'InternalIP 10.7.0.1',
      'ExternalIP 10.20.0.5',
      'ExternalIP 203.0.113.7',
      'ExternalIP fd00::5',
      'InternalIP 10.9.0.1',
    ]);
  });

  it('drops every network that is not internal when internal ones are named', () => {
    assert.deepEqual(words(full, ports, { internalNetworkNames: ['zoo'] }), [
      'ExternalIP 198.51.100.1',
      'ExternalIP 2001:db8::1',
      'Hostname node-a.example',
      'ExternalIP 203.0.113.7',
      'InternalIP 10.9.0.1',
    ]);
  });

  it('removes several addresses of one network each for itself', () => {
    const addresses = { secret: [fixed('10.0.0.1'), fixed('10.0.0.2'), fixed('10.0.0.3')], open: [fixed('10.1.0.1')] };
    const active = ['10.0.0.1', '10.1.0.1', '10.0.0.2', '10.0.0.3'];
    assert.deepEqual(words(server({ addresses }), { active, subports: [] }, { internalNetworkNames: ['open'] }), [
      'InternalIP 10.1.0.1',
    ]);
  });

  it('drops IPv6 at each step when it is disabled', () => {
    assert.deepEqual(
      words(full, ports, { ipv6SupportDisabled: true }).filter((word) => word.includes(':')),
      [],
    );
  });

  it('sorts by the CIDRs asked for, ascending inside one, the rest behind in its order', () => {
    const cidrs = ['203.0.113.0/24', '10.0.0.0/8'].map((text) => ipaddr.parseCIDR(text));
    assert.deepEqual(words(full, ports, { addressSortOrder: cidrs }), [
      'ExternalIP 203.0.113.7',
      'InternalIP 10.7.0.1',
      'InternalIP 10.9.0.1',
      'InternalIP 10.20.0.5',
      'InternalIP fd00::5',
      'ExternalIP 198.51.100.1',
      'ExternalIP 2001:db8::1',
      'Hostname node-a.example',
    ]);
  });

  it('adds a subport to a network the server is in as well', () => {
    const addresses = { net: [fixed('10.0.0.1')] };
    assert.deepEqual(words(server({ addresses }), { ...none, subports: [{ network: 'net', address: '10.0.0.2' }] }), [
      'InternalIP 10.0.0.1',
      'InternalIP 10.0.0.2',
    ]);
  });
});
