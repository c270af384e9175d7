import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { location } from '../../../../test/clouds/azure/fake/fake-state.ts';
import { internalFields, type Json, network, type Part, withWorld } from '../../../../test/clouds/azure/scene.ts';
import { port } from '../../../../test/clouds/suite/desired.ts';
import { baseName } from './names.ts';

describe('load balancers of Azure, written as a whole', () => {
  it('take what many Services ask for at once in few writes, and lose nothing', () =>
    withWorld(async ({ world, service, writes, partsOf }) => {
      const all = Array.from({ length: 20 }, (_, at) => service({ ports: [port(8000 + (at % 2), 30000 + at)] }));
      const { loadBalancers } = await world.open();
      await world.during(loadBalancers!.observeAll(world.cluster));
      loadBalancers!.declare(all, true, new Set());
      const plans = all.map((desired) => loadBalancers!.plan(desired));
      const save = async () => {};
      await world.during(Promise.all(plans.map((plan) => loadBalancers!.apply(plan, { permit() {}, save }))));
      assert.equal(partsOf('loadBalancers', 'kubernetes', 'frontendIPConfigurations').length, 20);
      // Public addresses are made one by one, so the first write goes before the last of them is there.
      assert.ok(writes('loadBalancers') <= 3, `${writes('loadBalancers')} writes`);
      assert.ok(writes('networkSecurityGroups') <= 3, `${writes('networkSecurityGroups')} writes`);
    }));

  it('keep every field of others as it is', () =>
    withWorld(async ({ service, ensure, remove, network: cloud, resource, partsOf, set }) => {
      const ref = (list: string, name: string) => ({ id: `${network}/loadBalancers/kubernetes/${list}/${name}` });
      const address = cloud.add('publicIPAddresses', 'egress', { location, properties: {} });
      const theirs = {
        frontendIPConfigurations: [{ name: 'egress', properties: { publicIPAddress: { id: address.id }, unknown: 1 } }],
        backendAddressPools: [{ name: 'egress', properties: { drainPeriodInSeconds: 10 } }],
        outboundRules: [
          {
            name: 'out',
            properties: {
              protocol: 'All',
              frontendIPConfigurations: [ref('frontendIPConfigurations', 'egress')],
              backendAddressPool: ref('backendAddressPools', 'egress'),
            },
          },
        ],
      };
      const tags = { team: 'net' };
      cloud.add('loadBalancers', 'kubernetes', { location, sku: { name: 'Standard' }, tags, properties: theirs });
      const desired = service();
      await ensure(desired);
      const own = ({ name }: Part) => name.startsWith('egress') || name === 'out';
      const left = () =>
        Object.fromEntries(
          Object.keys(theirs).map((list) => [list, partsOf('loadBalancers', 'kubernetes', list).filter(own)]),
        );
      assert.deepEqual(left(), theirs);
      set('loadBalancers', 'kubernetes', { unknownField: { kept: true } });
      await ensure({ ...desired, ports: [port(81, 30081)] });
      assert.deepEqual((resource('loadBalancers', 'kubernetes')!.body['properties'] as Json)['unknownField'], {
        kept: true,
      });
      await remove(desired);
      assert.deepEqual(left(), theirs);
      assert.deepEqual(resource('loadBalancers', 'kubernetes')!.body['tags'], tags);
      assert.deepEqual(
        partsOf('loadBalancers', 'kubernetes', 'backendAddressPools').map(({ name }) => name),
        ['egress'],
      );
    }));

  it('finds a load balancer by its name in any case', () =>
    withWorld(
      async ({ service, ensure, network: cloud, partsOf }) => {
        const address = cloud.add('publicIPAddresses', 'egress', { location, properties: {} });
        const frontend = { name: 'egress', properties: { publicIPAddress: { id: address.id } } };
        const properties = { frontendIPConfigurations: [frontend] };
        cloud.add('loadBalancers', 'shared', { location, sku: { name: 'Standard' }, properties });
        const desired = service();
        await ensure(desired);
        assert.deepEqual(
          partsOf('loadBalancers', 'shared', 'frontendIPConfigurations').map(({ name }) => name),
          ['egress', baseName(desired.owner.service)],
        );
        const { refusals } = await ensure({ ...desired, ports: [port(81, 30081)] });
        assert.deepEqual([refusals, partsOf('loadBalancers', 'shared', 'loadBalancingRules').length], [[], 1]);
      },
      { json: { loadBalancerName: 'Shared' } },
    ));

  it('keeps everything in a load balancer that a list does not show', () =>
    withWorld(async ({ world, service, ensure, network: cloud, partsOf }) => {
      const address = cloud.add('publicIPAddresses', 'egress', { location, properties: {} });
      const frontend = { name: 'egress', properties: { publicIPAddress: { id: address.id } } };
      const properties = { frontendIPConfigurations: [frontend] };
      cloud.add('loadBalancers', 'kubernetes', { location, sku: { name: 'Standard' }, properties });
      world.fake.fault = ({ method, path, headers }) => {
        if (method === 'GET' && path.endsWith('/loadBalancers')) return { status: 200, body: { value: [] } };
        // As an API that does not know the header.
        delete (headers as Record<string, unknown>)['if-none-match'];
        return undefined;
      };
      const desired = service();
      await ensure(desired);
      assert.deepEqual(
        partsOf('loadBalancers', 'kubernetes', 'frontendIPConfigurations').map(({ name }) => name),
        ['egress', baseName(desired.owner.service)],
      );
    }));

  it('keep what a frontend has beside its address', () =>
    withWorld(async ({ world, service, ensure, partsOf, set }) => {
      const desired = service(internalFields);
      await ensure(desired);
      const [frontend] = partsOf('loadBalancers', 'kubernetes-internal', 'frontendIPConfigurations');
      const own = {
        privateIPAllocationMethod: 'Dynamic',
        privateIPAddressVersion: 'IPv4',
        gatewayLoadBalancer: { id: `${network}/loadBalancers/gw` },
      };
      const properties = { ...frontend!.properties, ...own };
      const zoned = { ...frontend, properties, zones: ['1', '2', '3'] };
      set('loadBalancers', 'kubernetes-internal', { frontendIPConfigurations: [zoned] });
      const sent: { zones?: unknown; properties: Json }[] = [];
      world.fake.fault = ({ method, path, body }) => {
        const written = (body as { properties?: Json } | undefined)?.properties?.['frontendIPConfigurations'];
        if (method === 'PUT' && path.includes('/loadBalancers/')) sent.push(...(written as typeof sent));
        return undefined;
      };
      await ensure({ ...desired, ports: [port(81, 30081)] });
      assert.deepEqual(
        sent.map((one) => [
          one.zones,
          one.properties['gatewayLoadBalancer'],
          one.properties['privateIPAddressVersion'],
        ]),
        [[zoned.zones, own.gatewayLoadBalancer, own.privateIPAddressVersion]],
      );
    }));

  it('obey throttling, other operations and changed versions', () =>
    withWorld(async ({ world, service, ensure, set, partsOf }) => {
      const first = service();
      await ensure(first);
      const refusals = [
        { status: 429, headers: { 'retry-after': '5' }, body: { error: { code: 'TooManyRequests', message: 'no' } } },
        { status: 409, body: { error: { code: 'AnotherOperationInProgress', message: 'wait' } } },
        { status: 412, body: { error: { code: 'PreconditionFailed', message: 'etag' } } },
      ];
      let edits = 0;
      world.fake.fault = ({ method, path }) => {
        if (method !== 'PUT' || !path.includes('/loadBalancers/')) return undefined;
        edits += 1;
        // A person writes between our read and our write.
        if (edits === 4) set('loadBalancers', 'kubernetes', { byHand: true });
        return refusals.shift();
      };
      const second = service();
      await ensure(second);
      assert.equal(edits, 5);
      const names = partsOf('loadBalancers', 'kubernetes', 'frontendIPConfigurations').map(({ name }) => name);
      assert.deepEqual(
        names,
        [first, second].map(({ owner }) => baseName(owner.service)),
      );
    }));

  it('writes a load balancer again after an operation that has failed', () =>
    withWorld(async ({ world, service, ensure, resource }) => {
      const desired = service(internalFields);
      await ensure(desired);
      const found = resource('loadBalancers', 'kubernetes-internal')!;
      found.failed = true;
      const { calls } = await ensure(desired);
      assert.deepEqual([calls, found.failed], [1, false]);
      world.fake.failNext = { code: 'InternalServerError', message: 'try again' };
      const { observed } = await ensure({ ...desired, ports: [port(81, 30081)] });
      assert.deepEqual([observed?.state, found.failed], ['active', false]);
    }));

  it('fail as their operation says, also where a create that failed leaves nothing', () =>
    withWorld(async ({ world, service, ensure }) => {
      const full = { code: 'PublicIPCountLimitReached', message: 'Cannot create more than 10 public IP addresses' };
      const refused = { kind: 'QuotaExceeded', message: /more than 10 public IP addresses/ };
      world.fake.failNext = full;
      await assert.rejects(ensure(service()), refused);
      const missing = { status: 404, body: { error: { code: 'ResourceNotFound', message: 'not found' } } };
      world.fake.fault = ({ method, path }) =>
        method === 'GET' && path.includes('/publicIPAddresses/') ? missing : undefined;
      world.fake.failNext = full;
      await assert.rejects(ensure(service()), refused);
    }));

  it('sends a write again after a failure that the role may not read', () =>
    withWorld(async ({ world, service, ensure }) => {
      await ensure(service());
      let writes = 0;
      world.fake.fault = ({ method, path }) => {
        if (path.includes('/operations/')) return { status: 403 };
        if (method === 'PUT' && path.includes('/publicIPAddresses/')) writes += 1;
        return undefined;
      };
      world.fake.failNext = { code: 'InternalServerError', message: 'try again' };
      const { observed } = await ensure(service());
      assert.deepEqual([writes, observed?.state], [2, 'active']);
    }));

  it('sends a write again when another one has taken its place', () =>
    withWorld(async ({ world, service, ensure, resource, partsOf }) => {
      const first = service();
      await ensure(first);
      const before = resource('loadBalancers', 'kubernetes')!.body;
      let writes = 0;
      world.fake.fault = ({ method, path }) => {
        if (!path.includes('/loadBalancers/')) return undefined;
        if (method === 'PUT') writes += 1;
        const there = resource('loadBalancers', 'kubernetes')!;
        if (method === 'GET' && writes === 1 && there.operation !== undefined)
          Object.assign(there, { body: before, operation: undefined, version: there.version + 1 });
        return undefined;
      };
      const second = service();
      await ensure(second);
      assert.equal(writes, 2);
      const names = partsOf('loadBalancers', 'kubernetes', 'frontendIPConfigurations').map(({ name }) => name);
      assert.deepEqual(
        names,
        [first, second].map(({ owner }) => baseName(owner.service)),
      );
    }));

  it('wait for an operation that takes many minutes, and see its end', () =>
    withWorld(async ({ world, service, ensure, resource }) => {
      const desired = service(internalFields);
      await ensure(desired);
      world.fake.operationMs = 10 * 60_000;
      world.fake.failNext = { code: 'InternalServerError', message: 'try again' };
      await ensure({ ...desired, ports: [port(81, 30081)] });
      assert.equal(resource('loadBalancers', 'kubernetes-internal')!.failed, false);
    }));
});
