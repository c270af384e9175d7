import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { AzureWorldOptions } from '../../../../test/clouds/azure/azure-world.ts';
import { location } from '../../../../test/clouds/azure/fake/fake-state.ts';
import { annotated, internal, type Json, network, withWorld } from '../../../../test/clouds/azure/scene.ts';
import { newOwner, port } from '../../../../test/clouds/suite/desired.ts';
import { ensure as ensureService, type ServiceRecord } from '../../../../test/clouds/suite/drive.ts';
import type { BalancerPlace } from '../config.ts';
import { baseName } from './names.ts';
import { isFilledByOthers } from './pool.ts';

const byInterfaces = { loadBalancerBackendPoolConfigurationType: 'nodeIPConfiguration' };
const of = (...kinds: NonNullable<AzureWorldOptions['kinds']>): AzureWorldOptions => ({ kinds, json: byInterfaces });
const pool = (balancer = 'kubernetes', name = 'kubernetes') =>
  `${network}/loadBalancers/${balancer}/backendAddressPools/${name}`;

describe('backend pools of network interfaces', () => {
  it('get the nodes by their interfaces, instances and scale sets, and lose all of them in the end', () =>
    withWorld(
      async ({ world, service, ensure, remove, partsOf }) => {
        const desired = service();
        await ensure(desired);
        const members = () =>
          [...world.fake.vms.values()].map(({ interfaces }) => interfaces[0]!.configurations[0]!.pools);
        const models = () => [...world.fake.sets.values()].map(({ pools }) => pools);
        assert.deepEqual(members(), [[pool()], [pool()]]);
        assert.deepEqual(models(), [[pool()], []]);
        assert.deepEqual(partsOf('loadBalancers', 'kubernetes', 'backendAddressPools'), [
          { name: 'kubernetes', properties: {} },
        ]);
        const inside = service({ annotations: annotated(internal) });
        await ensure(inside);
        assert.deepEqual(members()[1], [pool(), pool('kubernetes-internal')]);
        await remove(desired);
        assert.deepEqual(
          [members(), models()[0]],
          [Array(2).fill([pool('kubernetes-internal')]), [pool('kubernetes-internal')]],
        );
        await remove(inside);
        assert.deepEqual(
          [members(), models()],
          [
            [[], []],
            [[], []],
          ],
        );
        assert.deepEqual(
          [...world.fake.network.resources.values()].map(({ type }) => type),
          ['networkSecurityGroups'],
        );
      },
      of('alone', 'uniform'),
    ));

  for (const [what, has] of [
    ['nodes', true],
    ['a scale set without nodes', false],
  ] as const)
    it(`go with a load balancer that its last Service leaves, after ${what}`, () =>
      withWorld(
        async ({ world, service, ensure, resource }) => {
          const desired = service({ annotations: annotated(internal) });
          await ensure(desired);
          const members = has ? desired.members : [];
          await ensure({ ...desired, members });
          const { refusals } = await ensure({ ...desired, members, annotations: {}, mayChangeAddress: true });
          assert.deepEqual([refusals, resource('loadBalancers', 'kubernetes-internal')], [[], undefined]);
          const left = [...world.fake.sets.values()].flatMap(({ pools }) => pools);
          assert.ok(left.every((one) => one === pool()));
        },
        of('alone', 'uniform'),
      ));

  it('stay where Azure refuses to delete one that is named elsewhere, and stop no other Service', () =>
    withWorld(
      async ({ world, service, ensure, partsOf }) => {
        const [both, other] = [service({ families: ['IPv4', 'IPv6'] }), service()];
        await ensure(both);
        await ensure(other);
        const error = { code: 'InUseBackendAddressPoolCannotBeDeleted', message: 'A model names it.' };
        let refused = 0;
        world.fake.fault = ({ method, path, body }) => {
          if (method !== 'PUT' || !/loadbalancers\/kubernetes$/i.test(path)) return undefined;
          if (JSON.stringify((body['properties'] as Json)['backendAddressPools']).includes('-IPv6"')) return undefined;
          refused += 1;
          return { status: 400, body: { error } };
        };
        const { loadBalancers } = await world.open();
        const driving = { world, balancers: loadBalancers!, record: { id: undefined } };
        await ensureService({ ...driving, desired: { ...both, families: ['IPv4'], mayChangeAddress: true } });
        await ensureService({ ...driving, record: { id: undefined }, desired: { ...other, ports: [port(81, 30081)] } });
        assert.equal(refused, 1);
        const names = (list: string) => partsOf('loadBalancers', 'kubernetes', list).map(({ name }) => name);
        assert.deepEqual(names('backendAddressPools'), ['kubernetes', 'kubernetes-IPv6']);
        assert.deepEqual(names('loadBalancingRules'), [
          `${baseName(both.owner.service)}-TCP-80`,
          `${baseName(other.owner.service)}-TCP-81`,
        ]);
      },
      { ...of('alone'), families: ['IPv4', 'IPv6'] },
    ));

  for (const [which, isNew] of [
    ['is planned', false],
    ['is planned first after a restart', true],
  ] as const)
    it(`keep the nodes while a Service of another load balancer ${which}`, () =>
      withWorld(async ({ world, service }) => {
        const all = [service(), service({ annotations: annotated(internal) })];
        const records = all.map((): ServiceRecord => ({ id: undefined }));
        const pools = () =>
          [...world.fake.vms.values()].map(({ interfaces }) => interfaces[0]!.configurations[0]!.pools);
        let balancers = (await world.open()).loadBalancers!;
        const declare = () =>
          balancers.declare(
            all.map((one) => ({ ...one, members: [], areMembersKnown: false })),
            true,
            new Set(),
          );
        const ensureAt = (at: number) => ensureService({ world, balancers, desired: all[at]!, record: records[at]! });
        declare();
        await ensureAt(0);
        await ensureAt(1);
        const both = [pool(), pool('kubernetes-internal')];
        assert.deepEqual(pools(), [both, both]);
        if (isNew) balancers = (await world.open()).loadBalancers!;
        await world.during(balancers.observeAll(world.cluster));
        declare();
        const { calls } = await ensureAt(1);
        assert.equal(calls, 0);
        assert.deepEqual(pools(), [both, both]);
      }, of('alone')));

  it('writes an interface with its version and every field, and keeps its other pools', () =>
    withWorld(async ({ world, service, ensure, remove, network: cloud }) => {
      const properties = { backendAddressPools: [{ name: 'theirs', properties: {} }] };
      cloud.add('loadBalancers', 'kubernetes', { location, sku: { name: 'Standard' }, tags: {}, properties });
      const [vm] = [...world.fake.vms.values()];
      const configuration = vm!.interfaces[0]!.configurations[0]!;
      configuration.pools = [pool('kubernetes', 'theirs')];
      const sent: { etag: string | undefined; body: Json }[] = [];
      let isStale = true;
      world.fake.fault = ({ method, path, body, headers }) => {
        if (method !== 'PUT' || !path.toLowerCase().includes('/networkinterfaces/')) return undefined;
        sent.push({ etag: headers['if-match'], body });
        // Another one writes between the read and the write.
        if (isStale) vm!.interfaces[0]!.version += 1;
        isStale = false;
        return undefined;
      };
      const desired = service();
      await ensure(desired);
      assert.deepEqual(configuration.pools, [pool('kubernetes', 'theirs'), pool()]);
      assert.ok(
        sent.every(({ etag, body }) => etag !== undefined && (body['properties'] as Json)['enableIPForwarding']),
      );
      await remove(desired);
      assert.deepEqual(configuration.pools, [pool('kubernetes', 'theirs')]);
    }, of('alone')));

  it('keep the members that they have, whatever the configuration says of new ones', () =>
    withWorld(
      async ({ world, service, ensure, set, partsOf, vms }) => {
        const desired = service();
        await ensure(desired);
        const [ours] = partsOf('loadBalancers', 'kubernetes', 'backendAddressPools');
        set('loadBalancers', 'kubernetes', { backendAddressPools: [{ name: ours!.name, properties: {} }] });
        for (const { interfaces } of world.fake.vms.values()) interfaces[0]!.configurations[0]!.pools = [pool()];
        const { calls, observed } = await ensure(desired);
        assert.equal(calls, 0);
        assert.deepEqual(
          observed?.members.map(({ providerID }) => providerID),
          vms.map(({ providerID }) => providerID),
        );
        const { loadBalancers } = await world.open();
        await world.during(loadBalancers!.observeAll(world.cluster));
        assert.deepEqual(loadBalancers!.plan(desired).remarks, [
          'backend pool kubernetes of kubernetes keeps its interfaces: ' +
            'loadBalancerBackendPoolConfigurationType is for new ones',
        ]);
      },
      { kinds: ['alone'] },
    ));

  it('leave out a node that is behind another load balancer, name it, and serve with the others', () =>
    withWorld(async ({ world, service, vms, network: cloud }) => {
      const properties = { backendAddressPools: [{ name: 'p', properties: {} }] };
      cloud.add('loadBalancers', 'other', { location, sku: { name: 'Standard' }, tags: {}, properties });
      const configurations = [...world.fake.vms.values()].map(({ interfaces }) => interfaces[0]!.configurations[0]!);
      configurations[0]!.pools = [pool('other', 'p')];
      const { loadBalancers } = await world.open();
      const desired = service();
      const driving = { world, balancers: loadBalancers!, desired, record: { id: undefined } };
      const { observed } = await ensureService(driving);
      assert.deepEqual(
        observed?.members.map(({ providerID }) => providerID),
        [vms[1]!.providerID],
      );
      const { steps, remarks } = loadBalancers!.plan(desired);
      assert.deepEqual(
        [steps, remarks],
        [[], ['node-1 is not in backend pool kubernetes: it is behind other already']],
      );
      configurations[0]!.pools = [];
      await world.pass(6 * 60_000);
      await ensureService(driving);
      assert.deepEqual(
        configurations.map(({ pools }) => pools),
        [[pool()], [pool()]],
      );
    }, of('alone')));

  it('keep the instances of a scale set that are no Nodes yet, and nodes of others in a pool that stood before', () =>
    withWorld(async ({ world, service, ensure }) => {
      const desired = service();
      await ensure(desired);
      const set = [...world.fake.sets.values()][0]!;
      const booting = world.fake.addVm('', { set });
      booting.created = new Date(world.clock.now()).toISOString();
      assert.equal((await ensure(desired)).calls, 0);
      await world.pass(16 * 60_000);
      assert.equal((await ensure(desired)).calls, 1);
      assert.deepEqual(booting.interfaces[0]!.configurations[0]!.pools, []);
      const balancer = [...world.fake.network.resources.values()].find(({ type }) => type === 'loadBalancers')!;
      const { 'mooring.dev-pool-kubernetes': holder } = balancer.body['tags'] as Record<string, string>;
      assert.equal(holder, world.cluster);
      balancer.body = {
        ...balancer.body,
        tags: { ...(balancer.body['tags'] as Json), 'mooring.dev-pool-kubernetes': `${holder}/shared` },
      };
      booting.interfaces[0]!.configurations[0]!.pools = [pool()];
      assert.equal((await ensure(desired)).calls, 0);
    }, of('uniform')));

  it('keep the nodes whose interfaces could not be read for a while', () =>
    withWorld(async ({ world, service, ensure }) => {
      const desired = service();
      await ensure(desired);
      const { loadBalancers } = await world.open();
      let isDenied = true;
      const written: string[] = [];
      world.fake.fault = ({ method, path }) => {
        if (method === 'PUT') written.push(path);
        const isRead = method === 'GET' && /\/networkinterfaces(\/|$)/i.test(path);
        const error = { code: 'AuthorizationFailed', message: 'The role is not known here yet.' };
        return isDenied && isRead ? { status: 403, body: { error } } : undefined;
      };
      const driving = { world, balancers: loadBalancers!, desired, record: { id: undefined } };
      await ensureService(driving);
      isDenied = false;
      await world.pass(60_000);
      assert.equal((await ensureService(driving)).calls, 0);
      assert.deepEqual(written, []);
      const configurations = [...world.fake.vms.values()].map(({ interfaces }) => interfaces[0]!.configurations[0]!);
      assert.ok(configurations.every(({ pools }) => pools?.join() === pool()));
    }, of('alone')));

  it('leave out a node that the role does not reach, and name it', () =>
    withWorld(async ({ world, service, vms }) => {
      const [first] = [...world.fake.vms.values()];
      const own = first!.interfaces[0]!.id.toLowerCase();
      const error = { code: 'ScopeLocked', message: 'A lock keeps it as it is.' };
      world.fake.fault = ({ method, path }) =>
        method === 'PUT' && path.toLowerCase() === own ? { status: 409, body: { error } } : undefined;
      const { loadBalancers } = await world.open();
      const desired = service();
      const { observed } = await ensureService({
        world,
        balancers: loadBalancers!,
        desired,
        record: { id: undefined },
      });
      assert.deepEqual(
        observed?.members.map(({ providerID }) => providerID),
        [vms[1]!.providerID],
      );
      assert.match(
        loadBalancers!.plan(desired).remarks?.join() ?? '',
        /^node-1 is not in backend pool kubernetes: .*ScopeLocked/,
      );
    }, of('alone')));

  it('fail as a whole where the role reaches no node', () =>
    withWorld(async ({ world, service, ensure }) => {
      const error = { code: 'AuthorizationFailed', message: 'The role may not write.' };
      world.fake.fault = ({ method, path }) =>
        method === 'PUT' && /\/networkinterfaces\//i.test(path) ? { status: 403, body: { error } } : undefined;
      await assert.rejects(ensure(service()), /role may not write/);
    }, of('alone')));

  it('keeps a pool while inbound NAT rules of others lead to it', () =>
    withWorld(async ({ service, ensure, remove, set, partsOf }) => {
      const desired = service();
      await ensure(desired);
      const [own] = partsOf('loadBalancers', 'kubernetes', 'backendAddressPools');
      const inboundNatRules = [{ id: `${network}/loadBalancers/kubernetes/inboundNatRules/ssh` }];
      const backendAddressPools = [{ ...own!, properties: { ...own!.properties, inboundNatRules } }];
      const rule = { name: 'ssh', properties: { protocol: 'Tcp', backendAddressPool: { id: pool() } } };
      set('loadBalancers', 'kubernetes', { backendAddressPools, inboundNatRules: [rule] });
      await remove(desired);
      assert.deepEqual(
        partsOf('loadBalancers', 'kubernetes', 'backendAddressPools').map(({ name }) => name),
        ['kubernetes'],
      );
    }, of('alone')));

  it('refuses the pool of another cluster of the same name, and leaves it as it is', () =>
    withWorld(async ({ service, ensure, partsOf, resource }) => {
      await ensure(service());
      const before = resource('loadBalancers', 'kubernetes')!.version;
      const foreign = service({ owner: newOwner('00000000-0000-4000-8000-0000000000ff') });
      const { refusals, calls } = await ensure(foreign);
      assert.equal(calls, 0);
      assert.match(
        refusals[0]?.message ?? '',
        /backend pool kubernetes of load balancer kubernetes has the nodes of cluster /,
      );
      assert.match(refusals[0]?.message ?? '', /give each cluster its own --cluster-name/);
      assert.equal(resource('loadBalancers', 'kubernetes')!.version, before);
      assert.equal(partsOf('loadBalancers', 'kubernetes', 'frontendIPConfigurations').length, 1);
    }));

  it('leaves pools to others where the configuration says so', () =>
    withWorld(
      async ({ world, service, ensure, partsOf }) => {
        const desired = service({ ports: [port(80, 30080)] });
        await ensure(desired);
        assert.equal((await ensure(desired)).calls, 0);
        assert.deepEqual(
          [...world.fake.vms.values()].map((vm) => vm.interfaces[0]!.configurations[0]!.pools),
          [[], []],
        );
        const [rule] = partsOf('loadBalancers', 'kubernetes', 'loadBalancingRules');
        assert.equal(rule?.name, `${baseName(desired.owner.service)}-TCP-80`);
      },
      { json: { ...byInterfaces, preConfiguredBackendPoolLoadBalancerTypes: 'external' } },
    ));

  for (const kind of ['interfaces', 'addresses'])
    for (const isMade of [true, false])
      it(`keeps the ${kind} of others in a pool after the last Service, ${isMade ? 'with' : 'without'} our mark`, () =>
        withWorld(
          async ({ world, service, ensure, remove, partsOf, network: cloud, set, resource }) => {
            const own = { loadBalancerBackendAddresses: [{ name: 'theirs', properties: { ipAddress: '10.9.9.9' } }] };
            const filled = [{ name: 'kubernetes', properties: kind === 'addresses' ? own : {} }];
            const desired = service();
            if (isMade) await ensure(desired);
            else cloud.add('loadBalancers', 'kubernetes', { location, sku: { name: 'Standard' }, properties: {} });
            set('loadBalancers', 'kubernetes', { backendAddressPools: filled });
            const configurations = [...world.fake.vms.values()].map((vm) => vm.interfaces[0]!.configurations[0]!);
            const pools = kind === 'interfaces' ? [pool()] : [];
            for (const one of configurations) one.pools = pools;
            await ensure({ ...desired, ports: [port(81, 30081)] });
            await remove(desired);
            assert.deepEqual(partsOf('loadBalancers', 'kubernetes', 'backendAddressPools'), filled);
            assert.deepEqual(
              configurations.map((one) => one.pools),
              [pools, pools],
            );
            assert.ok(!JSON.stringify(resource('loadBalancers', 'kubernetes')!.body).includes('mooring.dev-pool'));
          },
          { kinds: ['alone'], json: { ...byInterfaces, preConfiguredBackendPoolLoadBalancerTypes: 'all' } },
        ));
});

describe('pools that others fill', () => {
  const isPreconfigured = { internal: false, external: true };
  for (const [name, document, isOthers] of [
    [undefined, 'kubernetes', true],
    [undefined, 'kubernetes-internal', false],
    ['prod-internal', 'prod-internal', true],
    ['prod-internal', 'Prod-Internal-internal', false],
  ] as const)
    it(`takes ${document} of ${name ?? 'the cluster'} for ${isOthers ? 'filled by others' : 'ours'}`, () => {
      assert.equal(isFilledByOthers({ isPreconfigured, name } as BalancerPlace, document), isOthers);
    });
});
