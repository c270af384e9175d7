import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import ipaddr from 'ipaddr.js';
import type { Cidr } from '../gcfg.ts';
import { chooseAddresses, type GuestAddress } from './addresses.ts';
import type { Role } from './config.ts';

const cidrs = (text = ''): Cidr[] =>
  text
    .split(',')
    .filter(Boolean)
    .map((one) => ipaddr.parseCIDR(one));
const role = (type: Role['type'], subnets?: string, excluded?: string, network?: string): Role => ({
  type,
  subnets: cidrs(subnets),
  excluded: cidrs(excluded),
  network,
});
const on = (network: string, ...addresses: string[]): GuestAddress[] =>
  addresses.map((address) => ({ address, network }));
const roles = (internal: Partial<Role> = {}, external: Partial<Role> = {}): Role[] => [
  { ...role('InternalIP'), ...internal },
  { ...role('ExternalIP'), ...external },
];
const choose = (
  reported: GuestAddress[],
  given: Role[],
  families: ('ipv4' | 'ipv6')[] = ['ipv4'],
  order: string[] = [],
) => chooseAddresses(reported, { families, roles: given, order })?.map(({ type, address }) => `${type} ${address}`);

describe('addresses of a vSphere VM', () => {
  const plain = on(
    'net',
    '127.0.0.6',
    '169.254.1.1',
    '20.30.40.50',
    '10.10.1.22',
    '10.10.1.23',
    '172.15.108.10',
    '172.15.108.11',
  );

  it('takes the first address of each role by subnet, as the classic controller does', () => {
    const given = [role('InternalIP', '10.10.0.0/16'), role('ExternalIP', '172.15.0.0/16')];
    assert.deepEqual(choose(plain, given), ['InternalIP 10.10.1.22', 'ExternalIP 172.15.108.10']);
  });

  it('takes an address of the first subnet that holds any, whatever their own order', () => {
    const given = [role('InternalIP', '172.15.0.0/16,10.10.0.0/16'), role('ExternalIP')];
    assert.deepEqual(choose(plain, given), ['InternalIP 172.15.108.10']);
  });

  it('takes the first address by the name of the network, in any case, where no subnet holds any', () => {
    const reported = [...on('Internal_Net', '127.0.0.6', '10.10.1.22'), ...on('external_net', '172.15.108.10')];
    const given = [role('InternalIP', '', '', 'internal_net'), role('ExternalIP', '192.0.2.0/24', '', 'External_Net')];
    assert.deepEqual(choose(reported, given), ['InternalIP 10.10.1.22', 'ExternalIP 172.15.108.10']);
  });

  it('takes the first address for both roles where nothing else is said', () => {
    assert.deepEqual(choose(plain, roles()), ['InternalIP 20.30.40.50', 'ExternalIP 20.30.40.50']);
  });

  it('takes one address alone where the other is asked for and not there', () => {
    assert.deepEqual(choose(plain, roles({ subnets: cidrs('10.0.0.0/8') })), ['InternalIP 10.10.1.22']);
  });

  it('leaves out addresses of an excluded subnet, for each role by its own', () => {
    const given = roles({ excluded: cidrs('20.0.0.0/8,10.10.1.22/32') }, { excluded: cidrs('0.0.0.0/0') });
    assert.deepEqual(choose(plain, given), ['InternalIP 10.10.1.23']);
  });

  it('follows the order of the families, and finds none where one family has none', () => {
    const reported = on('net', 'fe80::1', 'fd00::1', '10.0.0.1');
    assert.deepEqual(choose(reported, roles(), ['ipv6', 'ipv4']), [
      'InternalIP fd00::1',
      'ExternalIP fd00::1',
      'InternalIP 10.0.0.1',
      'ExternalIP 10.0.0.1',
    ]);
    assert.equal(choose(on('net', '10.0.0.1'), roles(), ['ipv4', 'ipv6']), undefined);
  });

  it('begins with the addresses that the VM was configured with, unlike a floating one of kube-vip', () => {
    assert.deepEqual(choose(plain, roles(), ['ipv4'], ['172.15.108.11', '10.10.1.23']), [
      'InternalIP 172.15.108.11',
      'ExternalIP 172.15.108.11',
    ]);
  });

  it('finds no address where both networks have a name that no interface is in', () => {
    assert.equal(choose(plain, roles({ network: 'a' }, { network: 'b' })), undefined);
    assert.deepEqual(choose(plain, roles({ network: 'a' })), ['InternalIP 20.30.40.50', 'ExternalIP 20.30.40.50']);
  });

  it('chooses reported, not excluded addresses of a family asked for, at most one of each kind and family', () => {
    const address = fc.constantFrom(
      '10.0.0.1',
      '10.1.0.1',
      '192.0.2.9',
      'fd00::1',
      'fd00:1::1',
      '127.0.0.1',
      'fe80::2',
      'x',
    );
    const network = fc.constantFrom('a', 'b');
    const subnet = fc.constantFrom('10.0.0.0/16', '192.0.2.0/24', 'fd00::/32');
    const some = fc.array(subnet, { maxLength: 2 }).map((list) => cidrs(list.join(',')));
    const anyRole = fc.record({ subnets: some, excluded: some, network: fc.option(network, { nil: undefined }) });
    const families = fc.constantFrom<('ipv4' | 'ipv6')[]>(['ipv4'], ['ipv6'], ['ipv4', 'ipv6']);
    fc.assert(
      fc.property(
        fc.array(fc.record({ address, network })),
        anyRole,
        anyRole,
        families,
        (reported, one, two, asked) => {
          const given = roles(one, two);
          const chosen = chooseAddresses(reported, { families: asked, roles: given, order: [] }) ?? [];
          const kinds = chosen.map((found) => `${found.type} ${ipaddr.parse(found.address).kind()}`);
          assert.equal(new Set(kinds).size, kinds.length);
          for (const { type, address: found } of chosen) {
            const ip = ipaddr.parse(found);
            assert.ok(reported.some((one) => one.address === found));
            assert.ok(asked.includes(ip.kind()));
            assert.ok(!['loopback', 'linkLocal'].includes(ip.range()));
            const { excluded } = given.find((each) => each.type === type)!;
            assert.ok(!excluded.some(([range, bits]) => range.kind() === ip.kind() && ip.match(range, bits)));
          }
        },
      ),
    );
  });
});
