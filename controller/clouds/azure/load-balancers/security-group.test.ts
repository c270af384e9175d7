import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { location } from '../../../../test/clouds/azure/fake/fake-state.ts';
import { annotated, internal, type Part, withWorld } from '../../../../test/clouds/azure/scene.ts';
import { baseName } from './names.ts';

describe('rules of the security group', () => {
  const destinationsOf = ({ properties }: Part) =>
    [properties['destinationAddressPrefix'] ?? properties['destinationAddressPrefixes']].flat();

  it('shares a rule among Services with the same ports and sources, and keeps it when one goes', () =>
    withWorld(async ({ service, ensure, remove, rules, partsOf }) => {
      const all = [service(), service(), service({ sourceRanges: ['192.0.2.0/24'] })];
      for (const desired of all) await ensure(desired);
      assert.deepEqual(
        rules().map((rule) => [destinationsOf(rule).length, rule.properties['priority']]),
        [
          [2, 501],
          [1, 502],
        ],
      );
      await remove(all[0]!);
      assert.deepEqual(
        rules().map((rule) => destinationsOf(rule).length),
        [1, 1],
      );
      for (const desired of all.slice(1)) await remove(desired);
      assert.deepEqual(
        partsOf('networkSecurityGroups', 'nodes', 'securityRules').map(({ name }) => name),
        ['ssh'],
      );
    }));

  it('keep destinations that are not ours, and are put right after a change by hand', () =>
    withWorld(async ({ service, ensure, remove, rules, set, partsOf }) => {
      const desired = service();
      await ensure(desired);
      const [rule] = rules();
      const byHand = { ...rule!.properties, destinationAddressPrefix: undefined, access: 'Deny' };
      const properties = { ...byHand, destinationAddressPrefixes: [...destinationsOf(rule!), '198.51.100.7'] };
      const others = partsOf('networkSecurityGroups', 'nodes', 'securityRules').filter(({ name }) => name === 'ssh');
      set('networkSecurityGroups', 'nodes', { securityRules: [...others, { name: rule!.name, properties }] });
      assert.equal((await ensure(desired)).calls, 1);
      assert.deepEqual([rules()[0]!.properties['access'], destinationsOf(rules()[0]!).length], ['Allow', 2]);
      await remove(desired);
      assert.deepEqual(destinationsOf(rules()[0]!), ['198.51.100.7']);
    }));

  it('writes a security group and a public address again after an operation that has failed', () =>
    withWorld(async ({ service, ensure, resource }) => {
      const desired = service();
      await ensure(desired);
      const address = resource('publicIPAddresses', `kubernetes-${baseName(desired.owner.service)}`)!;
      const group = resource('networkSecurityGroups', 'nodes')!;
      for (const found of [group, address]) {
        found.failed = true;
        const { calls } = await ensure(desired);
        assert.deepEqual([calls, found.failed], [1, false], found.type);
      }
    }));

  it('get back the direction that makes them allow anything', () =>
    withWorld(async ({ service, ensure, set, rules, partsOf }) => {
      const desired = service();
      await ensure(desired);
      const turned = partsOf('networkSecurityGroups', 'nodes', 'securityRules').map((rule) =>
        rule.name === 'ssh'
          ? rule
          : { ...rule, properties: { ...rule.properties, direction: 'Outbound', priority: 500 } },
      );
      set('networkSecurityGroups', 'nodes', { securityRules: turned });
      await ensure(desired);
      assert.deepEqual([rules()[0]!.properties['direction'], rules()[0]!.properties['priority']], ['Inbound', 501]);
    }));

  it('let in everybody beside service tags, and to an internal address, where a Service asks for everybody', () =>
    withWorld(async ({ service, ensure, remove, rules }) => {
      const tags = { 'allowed-service-tags': 'AzureFrontDoor.Backend,Microsoft.ContainerInstance/containerGroups' };
      const ofTags = tags['allowed-service-tags'].split(',');
      for (const [own, asksForEverybody, sources] of [
        [{}, true, ['Internet']],
        [internal, false, []],
        [internal, true, ['Internet', '0.0.0.0/0']],
        [tags, false, ofTags],
        [tags, true, [...ofTags, '0.0.0.0/0']],
        [{ ...internal, ...tags }, true, [...ofTags, '0.0.0.0/0']],
      ] as const) {
        const desired = service({ annotations: annotated(own), ...(asksForEverybody && { asksForEverybody }) });
        assert.deepEqual((await ensure(desired)).refusals, []);
        assert.deepEqual(
          rules().map(({ properties }) => properties['sourceAddressPrefix'] ?? properties['sourceAddressPrefixes']),
          sources,
          JSON.stringify([own, asksForEverybody]),
        );
        await remove(desired);
      }
    }));

  it('deny everything else last, where a Service asks for it', () =>
    withWorld(async ({ service, ensure, rules }) => {
      const annotations = annotated({ 'deny-all-except-load-balancer-source-ranges': 'true' });
      await ensure(service({ annotations, sourceRanges: ['192.0.2.0/24'] }));
      const { access, priority, protocol } = rules()[1]!.properties;
      assert.deepEqual(
        [rules()[1]!.name, access, priority, protocol],
        ['k8s-azure-lb_deny-all_IPv4', 'Deny', 4095, '*'],
      );
    }));

  for (const [what, before, after] of [
    ['an internal address', internal, { ...internal, 'load-balancer-ipv4': '10.240.0.77' }],
    ['an address of a subnet', internal, { ...internal, 'load-balancer-internal-subnet': 'apps' }],
    ['a public address of its own', {}, { 'pip-name': 'first' }],
    ['an existing public address', { 'pip-name': 'first' }, { 'pip-name': 'second' }],
  ] as const)
    it(`lose ${what} after its frontend has got another one, and keep it where Azure refuses that`, () =>
      withWorld(async ({ world, service, ensure, remove, rules, partsOf, network: cloud }) => {
        const tags = { 'mooring.dev-attachable-by': `${world.cluster}/default` };
        for (const name of ['first', 'second'])
          cloud.add('publicIPAddresses', name, { location, tags, properties: {} });
        const denies = { 'deny-all-except-load-balancer-source-ranges': 'true' };
        const ranged = service({ sourceRanges: ['192.0.2.0/24'], annotations: annotated({ ...before, ...denies }) });
        const { observed } = await ensure(ranged);
        const old = observed!.ingress[0]!.ip;
        const isNamed = () => rules().some((rule) => destinationsOf(rule).includes(old));
        const moved = { ...ranged, annotations: annotated({ ...after, ...denies }), mayChangeAddress: true };
        const error = { code: 'PrivateIPAddressInUse', message: 'it is taken' };
        let writes = 0;
        world.fake.fault = ({ method, path }) => {
          if (method === 'PUT') writes += 1;
          return method === 'PUT' && path.includes('/loadBalancers/') ? { status: 400, body: { error } } : undefined;
        };
        await assert.rejects(ensure(moved), /it is taken/);
        assert.ok(isNamed() && writes <= 2, String(writes));
        world.fake.fault = undefined;
        const done = await ensure(moved);
        assert.deepEqual(done.refusals, []);
        const [now] = done.observed!.ingress;
        assert.notEqual(now!.ip, old);
        assert.deepEqual(rules().map(destinationsOf), [[now!.ip], [now!.ip]]);
        assert.equal((await ensure(moved)).calls, 0);
        await remove(moved);
        assert.deepEqual(
          partsOf('networkSecurityGroups', 'nodes', 'securityRules').map(({ name }) => name),
          ['ssh'],
        );
      }));

  it('leaves rules alone where the annotation says so, and tells where no security group is named', () =>
    withWorld(
      async ({ service, ensure, world }) => {
        const { refusals, observed } = await ensure(service({ sourceRanges: ['192.0.2.0/24'] }));
        assert.match(refusals[0]?.message ?? '', /source ranges: azure\.json names no securityGroupName/);
        assert.equal(observed?.state, 'active');
        const { loadBalancers } = await world.open();
        assert.match(loadBalancers!.plan(service()).remarks?.join() ?? '', /names no securityGroupName/);
        const annotations = annotated({
          'disable-load-balancer-nsg-rule': 'true',
          'disable-load-balancer-floating-ip': 'true',
        });
        assert.deepEqual((await ensure(service({ annotations }))).refusals, []);
      },
      { json: { securityGroupName: '' } },
    ));

  it('rejects with Invalid where the named security group does not exist', () =>
    withWorld(
      async ({ service, ensure }) => {
        await assert.rejects(ensure(service()), { kind: 'Invalid', message: /securityGroupName: "gone" is not in rg/ });
      },
      { json: { securityGroupName: 'gone' } },
    ));
});
