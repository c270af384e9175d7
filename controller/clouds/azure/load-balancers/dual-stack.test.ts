import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { AzureWorldOptions } from '../../../../test/clouds/azure/azure-world.ts';
import { annotated, internal, network, type Part, withWorld } from '../../../../test/clouds/azure/scene.ts';
import { port } from '../../../../test/clouds/suite/desired.ts';
import { baseName } from './names.ts';

const both = ['IPv4', 'IPv6'] as const;
const sixAndFour = (members: string): AzureWorldOptions => {
  return { kinds: ['alone'], families: both, json: { loadBalancerBackendPoolConfigurationType: members } };
};
const withSet = (members: string): AzureWorldOptions => ({ ...sixAndFour(members), kinds: ['alone', 'uniform'] });
const namesOf = (parts: readonly Part[]) => parts.map(({ name }) => name);

describe('Services with addresses of IPv6', () => {
  for (const members of ['nodeIP', 'nodeIPConfiguration'])
    it(`makes a frontend, rules, a pool and a public address of each family, with ${members}`, () =>
      withWorld(async ({ world, service, ensure, remove, partsOf, rules, network }) => {
        const desired = service({
          families: both,
          sourceRanges: ['192.0.2.0/24', '2001:db8::/33', '2001:db8:8000::/33'],
        });
        const base = baseName(desired.owner.service);
        const { observed, refusals } = await ensure(desired);
        assert.deepEqual(refusals, []);
        assert.match(observed!.ingress.map(({ ip }) => ip).join(), /^203\.0\.113\.\d+,2001:db8:ab::\w+$/);
        const of = (list: string) => namesOf(partsOf('loadBalancers', 'kubernetes', list));
        assert.deepEqual(of('frontendIPConfigurations'), [base, `${base}-IPv6`]);
        assert.deepEqual(of('loadBalancingRules'), [`${base}-TCP-80`, `${base}-TCP-80-IPv6`]);
        assert.deepEqual(of('probes'), [`${base}-TCP-10256`, `${base}-TCP-10256-IPv6`]);
        assert.deepEqual(of('backendAddressPools'), ['kubernetes', 'kubernetes-IPv6']);
        assert.deepEqual(
          rules().map(({ properties }) => properties['sourceAddressPrefix']),
          ['192.0.2.0/24', '2001:db8::/32'],
        );
        assert.equal((await ensure(desired)).calls, 0);
        const configurations = [...world.fake.vms.values()].flatMap((vm) => vm.interfaces[0]!.configurations);
        if (members === 'nodeIPConfiguration')
          for (const { family, pools } of configurations)
            assert.match(pools!.join(), family === 'IPv6' ? /kubernetes-IPv6$/ : /\/kubernetes$/);
        await remove(desired);
        assert.deepEqual(
          [...network.resources.values()].map(({ type }) => type),
          ['networkSecurityGroups'],
        );
        assert.ok(configurations.every(({ pools = [] }) => pools.length === 0));
      }, sixAndFour(members)));

  for (const members of ['nodeIP', 'nodeIPConfiguration'])
    for (const own of [{}, internal])
      it(`get the second family, and lose it with consent alone, with ${members} ${JSON.stringify(own)}`, () =>
        withWorld(async ({ world, service, ensure, partsOf, rules }) => {
          const document = own === internal ? 'kubernetes-internal' : 'kubernetes';
          const desired = service({ annotations: annotated(own) });
          const lists = ['frontendIPConfigurations', 'loadBalancingRules', 'probes', 'backendAddressPools'];
          const parts = () => lists.map((list) => namesOf(partsOf('loadBalancers', document, list)));
          const memberships = () => [
            ...[...world.fake.sets.values()].map(({ pools }) => pools),
            ...[...world.fake.vms.values()].flatMap(({ interfaces }) =>
              interfaces[0]!.configurations.map(({ pools = [] }) => pools),
            ),
          ];
          const first = await ensure(desired);
          const alone = [parts(), memberships()];
          const second = await ensure({ ...desired, families: both });
          assert.deepEqual(second.observed?.ingress[0], first.observed?.ingress[0]);
          assert.equal(second.observed?.ingress.length, 2);
          const standing = [parts(), memberships(), rules()];
          const kept = await ensure(desired);
          assert.deepEqual([kept.calls, kept.observed?.ingress], [0, second.observed?.ingress]);
          assert.deepEqual(
            kept.refusals.map(({ reason, message }) => [reason, message]),
            [['AddressWouldChange', `${baseName(desired.owner.service)}-IPv6: its IPv6 address would be deleted`]],
          );
          assert.deepEqual([parts(), memberships(), rules()], standing);
          await ensure({ ...desired, ports: [port(81, 30081)], members: desired.members.slice(1) });
          assert.deepEqual(
            parts()[1],
            ['TCP-81', 'TCP-81-IPv6'].map((end) => `${baseName(desired.owner.service)}-${end}`),
          );
          const back = await ensure({ ...desired, mayChangeAddress: true });
          assert.deepEqual([back.refusals, back.observed?.ingress], [[], first.observed?.ingress]);
          assert.deepEqual([parts(), memberships()], alone);
        }, withSet(members)));

  it('keeps the frontend of one family where a subnet or a prefix is named like the other family', () =>
    withWorld(async ({ service, ensure, remove, partsOf, network: cloud }) => {
      const inside = service({ annotations: annotated({ ...internal, 'load-balancer-internal-subnet': 'apps-ipv6' }) });
      const prefix = `${network}/publicIPPrefixes/web-ipv6`;
      const outside = service({ annotations: annotated({ 'pip-prefix-id': prefix }) });
      for (const desired of [inside, outside]) {
        const first = await ensure(desired);
        assert.deepEqual(first.refusals, []);
        const again = await ensure({ ...desired, ports: [port(81, 30081)] });
        assert.deepEqual([again.refusals, again.observed?.ingress], [[], first.observed?.ingress]);
      }
      const [frontend] = partsOf('loadBalancers', 'kubernetes-internal', 'frontendIPConfigurations');
      assert.match(frontend?.name ?? '', /-apps-ipv6$/);
      for (const desired of [inside, outside]) await remove(desired);
      assert.deepEqual(
        [...cloud.resources.values()].map(({ type }) => type),
        ['networkSecurityGroups'],
      );
    }, sixAndFour('nodeIP')));

  for (const [before, after] of [
    [['IPv6'], ['IPv6', 'IPv4']],
    [['IPv6', 'IPv4'], ['IPv6']],
  ] as const)
    it(`keep everything where ${before.join(' and ')} would become ${after.join(' and ')}, and say so`, () =>
      withWorld(async ({ service, ensure, resource }) => {
        const desired = service({ families: before });
        const first = await ensure(desired);
        const { version } = resource('loadBalancers', 'kubernetes')!;
        const { observed, refusals, calls } = await ensure({ ...desired, families: after, mayChangeAddress: true });
        assert.equal(calls, 0);
        assert.match(refusals[0]?.message ?? '', /^spec.ipFamilies: .* expected /);
        assert.deepEqual(observed?.ingress, first.observed?.ingress);
        assert.equal(resource('loadBalancers', 'kubernetes')!.version, version);
      }, sixAndFour('nodeIP')));

  it('names IPv6 without a suffix where it is alone, and leads to node ports inside of the network', () =>
    withWorld(async ({ service, ensure, partsOf }) => {
      const desired = service({ families: ['IPv6'], annotations: annotated(internal), ports: [port(80, 30080)] });
      const { observed } = await ensure(desired);
      assert.match(observed?.ingress[0]?.ip ?? '', /^fd00:240::/);
      const [frontend] = partsOf('loadBalancers', 'kubernetes-internal', 'frontendIPConfigurations');
      assert.equal(frontend?.name, baseName(desired.owner.service));
      assert.equal(frontend.properties['privateIPAddressVersion'], 'IPv6');
      const [rule] = partsOf('loadBalancers', 'kubernetes-internal', 'loadBalancingRules');
      assert.deepEqual([rule?.properties['enableFloatingIP'], rule?.properties['backendPort']], [false, 30080]);
      assert.deepEqual(namesOf(partsOf('loadBalancers', 'kubernetes-internal', 'backendAddressPools')), [
        'kubernetes-IPv6',
      ]);
      assert.equal((await ensure(desired)).calls, 0);
    }, sixAndFour('nodeIP')));

  const rulesIn = (parts: readonly Part[]) =>
    parts.map(({ name, properties }) => [
      /-IPv6$/.test(name) ? 6 : 4,
      properties['protocol'],
      properties['backendPort'],
    ]);

  it('let everybody in by IPv4 and IPv6 where an internal Service asks for 0.0.0.0/0, also with deny-all', () =>
    withWorld(async ({ service, ensure }) => {
      const annotations = annotated({ ...internal, 'deny-all-except-load-balancer-source-ranges': 'true' });
      const { refusals } = await ensure(service({ families: both, annotations, asksForEverybody: true }));
      assert.deepEqual(refusals, []);
    }));

  it('refuse source ranges for internal ones: rules see the nodes; IPv4 gets them, and what stands goes on', () =>
    withWorld(async ({ service, ensure, partsOf, rules }) => {
      const desired = service({ families: both, annotations: annotated(internal) });
      const rulesOf = () => rulesIn(partsOf('loadBalancers', 'kubernetes-internal', 'loadBalancingRules'));
      const before = await ensure(desired);
      const annotations = annotated({ ...internal, 'deny-all-except-load-balancer-source-ranges': 'true' });
      const sourceRanges = ['192.0.2.0/24', '2001:db8:1::/48'];
      const ranged = { ...desired, sourceRanges, annotations, ports: [port(81, 30081)] };
      const { observed, refusals } = await ensure(ranged);
      assert.deepEqual(
        refusals.map(({ reason, message, ports }) => [reason, message, ports?.[0]?.port]),
        [
          [
            'Unsupported',
            'source ranges, service tags and deny-all: expected none for an internal address of IPv6: ' +
              'rules see the addresses of nodes',
            81,
          ],
        ],
      );
      assert.deepEqual(observed?.ingress, before.observed?.ingress);
      assert.deepEqual(rulesOf(), [
        [4, 'Tcp', 81],
        [6, 'Tcp', 30081],
      ]);
      const fresh = await ensure(service({ ...ranged, owner: service().owner }));
      assert.deepEqual(fresh.observed?.ingress.length, 1);
      assert.ok(rules().length === 2 && rules().every(({ name }) => /_IPv4/.test(name)));
      const open = { ...ranged, sourceRanges: ['0.0.0.0/0', '::/0'], annotations: annotated(internal) };
      assert.deepEqual((await ensure(open)).refusals, []);
    }, sixAndFour('nodeIP')));

  it('makes a rule for each port of IPv6 instead of high availability ports, and says so', () =>
    withWorld(async ({ service, ensure, partsOf }) => {
      const own = { ...internal, 'load-balancer-enable-high-availability-ports': 'true' };
      const { refusals } = await ensure(service({ families: both, annotations: annotated(own) }));
      assert.deepEqual(
        refusals.map(({ message }) => message),
        [
          'service.beta.kubernetes.io/azure-load-balancer-enable-high-availability-ports: "true", ' +
            'expected false without floating IP, as for IPv6',
        ],
      );
      assert.deepEqual(rulesIn(partsOf('loadBalancers', 'kubernetes-internal', 'loadBalancingRules')), [
        [4, 'All', 0],
        [6, 'Tcp', 30080],
      ]);
    }, sixAndFour('nodeIP')));

  it('refuse ports without node ports inside of the network, where IPv4 serves them', () =>
    withWorld(async ({ service, ensure, partsOf }) => {
      const ports = [port(80, 0), port(81, 30081)];
      const { refusals } = await ensure(service({ families: both, annotations: annotated(internal), ports }));
      assert.deepEqual(
        refusals.map(({ message, ports: some }) => [message, some?.[0]?.port]),
        [['spec.ports: TCP 80, expected a node port', 80]],
      );
      assert.deepEqual(rulesIn(partsOf('loadBalancers', 'kubernetes-internal', 'loadBalancingRules')), [
        [4, 'Tcp', 80],
        [4, 'Tcp', 81],
        [6, 'Tcp', 30081],
      ]);
      const none = await ensure(
        service({ families: ['IPv6'], annotations: annotated(internal), ports: [port(80, 0)] }),
      );
      assert.deepEqual([none.calls, none.refusals.length], [0, 1]);
    }, sixAndFour('nodeIP')));
});
