import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { type AzureWorld, type AzureWorldOptions, azureWorld } from '../../../../test/clouds/azure/azure-world.ts';
import { location, subscription } from '../../../../test/clouds/azure/fake/fake-state.ts';
import { desiredFor, memberOf, newOwner, port } from '../../../../test/clouds/suite/desired.ts';
import { ensure as ensureService, remove, type ServiceRecord } from '../../../../test/clouds/suite/drive.ts';
import type { CloudVm } from '../../../../test/clouds/suite/world.ts';
import type { AdoptionProof, DesiredLoadBalancer } from '../../load-balancers.ts';
import { prefix } from '../annotations.ts';
import { baseName } from './names.ts';

type Json = Record<string, unknown>;
interface Part {
  readonly name: string;
  readonly properties: Json;
}

const network = `/subscriptions/${subscription}/resourceGroups/rg/providers/Microsoft.Network`;
const annotated = (own: Readonly<Record<string, string>>) =>
  Object.fromEntries(Object.entries(own).map(([name, value]) => [prefix + name, value]));
const internal = { 'load-balancer-internal': 'true' };

async function withWorld(
  work: (scene: Awaited<ReturnType<typeof sceneOf>>) => Promise<void>,
  options?: AzureWorldOptions,
): Promise<void> {
  const scene = await sceneOf(azureWorld(options));
  await work(scene);
  await scene.world.close();
}

async function sceneOf(world: AzureWorld) {
  const vms: readonly CloudVm[] = [await world.createVm(), await world.createVm()];
  const records = new Map<string, ServiceRecord>();
  const { resources } = world.fake.network;

  async function drivingOf(desired: DesiredLoadBalancer) {
    const { loadBalancers } = await world.open();
    const record = records.get(desired.owner.service) ?? { id: undefined };
    records.set(desired.owner.service, record);
    return { world, balancers: loadBalancers!, desired, record };
  }
  const resource = (type: string, name: string) => resources.get(`${network}/${type}/${name}`.toLowerCase());
  const partsOf = (type: string, name: string, list: string) =>
    ((resource(type, name)?.body['properties'] as Json | undefined)?.[list] ?? []) as readonly Part[];
  return {
    ...{ world, vms, resource, partsOf, network: world.fake.network },
    service: (fields: Partial<DesiredLoadBalancer> = {}) => desiredFor(newOwner(world.cluster), vms, fields),
    ensure: async (desired: DesiredLoadBalancer, adopt?: AdoptionProof) =>
      ensureService({ ...(await drivingOf(desired)), adopt }),
    remove: async (desired: DesiredLoadBalancer) => remove(await drivingOf(desired)),
    rules: () =>
      partsOf('networkSecurityGroups', 'nodes', 'securityRules').filter(({ name }) => name.startsWith('k8s')),
    writes: (type: string) =>
      world.fake.calls.filter(({ method, path }) => method === 'PUT' && path.includes(`/${type}/`)).length,
    set(type: string, name: string, properties: Json): void {
      const found = resource(type, name)!;
      found.body = { ...found.body, properties: { ...(found.body['properties'] as Json), ...properties } };
      found.version += 1;
    },
  };
}

describe('load balancers of Azure', () => {
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
              ...{ protocol: 'All', frontendIPConfigurations: [ref('frontendIPConfigurations', 'egress')] },
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

  it('are found by their names in any case', () =>
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

  it('that a list does not show keep everything in them', () =>
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
      const own = { privateIPAllocationMethod: 'Dynamic', gatewayLoadBalancer: { id: `${network}/loadBalancers/gw` } };
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
        sent.map((one) => [one.zones, one.properties['gatewayLoadBalancer']]),
        [[zoned.zones, own.gatewayLoadBalancer]],
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

  it('are written again after an operation that has failed', () =>
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

  it('change between public and internal addresses with consent alone, and serve until the other one does', () =>
    withWorld(async ({ service, ensure, remove, partsOf, network: cloud, rules }) => {
      const desired = service();
      const before = await ensure(desired);
      const moved = { ...desired, annotations: annotated(internal), ports: [port(80, 30080), port(81, 30081)] };
      const refused = await ensure(moved);
      assert.deepEqual(
        refused.refusals.map(({ reason }) => reason),
        ['AddressWouldChange'],
      );
      assert.deepEqual(refused.observed?.ingress, before.observed?.ingress);
      // The other port is served at the old address.
      assert.equal(partsOf('loadBalancers', 'kubernetes', 'loadBalancingRules').length, 2);
      const done = await ensure({ ...moved, mayChangeAddress: true });
      assert.deepEqual(done.refusals, []);
      assert.match(done.observed?.ingress[0]?.ip ?? '', /^10\.240\.0\./);
      const left = [...cloud.resources.values()].map(({ type, name }) => `${type} ${name}`).sort();
      assert.deepEqual(left, ['loadBalancers kubernetes-internal', 'networkSecurityGroups nodes']);
      assert.deepEqual(rules(), []);
      const back = await ensure({ ...desired, mayChangeAddress: true });
      assert.match(back.observed?.ingress[0]?.ip ?? '', /^203\.0\.113\./);
      await remove(desired);
      assert.deepEqual(
        [...cloud.resources.values()].map(({ type }) => type),
        ['networkSecurityGroups'],
      );
    }));

  it('keep everything as it is while an annotation cannot be read', () =>
    withWorld(async ({ service, ensure }) => {
      const desired = service({ sourceRanges: ['192.0.2.0/24'] });
      const before = await ensure(desired);
      const bad = { ...desired, annotations: annotated({ 'load-balancer-mode': 'pool' }), ports: [port(81, 30081)] };
      const { calls, refusals, observed } = await ensure(bad);
      assert.deepEqual([calls, refusals.map(({ reason }) => reason)], [0, ['Unsupported']]);
      assert.deepEqual(observed?.ingress, before.observed?.ingress);
      const nothing = await ensure(service({ annotations: annotated({ 'load-balancer-mode': 'pool' }) }));
      assert.deepEqual([nothing.calls, nothing.observed], [0, undefined]);
    }));

  it('tell which annotations have no effect', () =>
    withWorld(async ({ service, world }) => {
      await world.freeAddress!(world.cluster);
      const own = { ...internal, 'pip-tags': 'a=b', 'load-balancer-health-probe-request-path': '/ready' };
      const { loadBalancers } = await world.open();
      const { remarks } = loadBalancers!.plan(service({ annotations: annotated(own) }));
      assert.deepEqual(remarks, [
        `${prefix}pip-tags has no effect`,
        `${prefix}load-balancer-health-probe-request-path without http or https has no effect`,
      ]);
    }));

  it('probe what their annotations and ports say, each TCP port at its node port', () =>
    withWorld(async ({ service, ensure, partsOf }) => {
      const ports = [port(80, 30080), port(443, 30443, { appProtocol: 'HTTPS' }), port(53, 30053, { protocol: 'UDP' })];
      const own = { 'load-balancer-health-probe-protocol': 'Http', 'load-balancer-health-probe-interval': '15' };
      await ensure(service({ ports, annotations: annotated(own) }));
      const probes = partsOf('loadBalancers', 'kubernetes', 'probes').map(({ properties }) => properties);
      const numbers = { intervalInSeconds: 15, probeThreshold: 2, requestPath: '/' };
      assert.deepEqual(probes, [
        { protocol: 'Http', port: 30080, ...numbers },
        { protocol: 'Https', port: 30443, ...numbers },
      ]);
      const rules = partsOf('loadBalancers', 'kubernetes', 'loadBalancingRules');
      assert.deepEqual(
        rules.map(({ properties }) => properties['probe'] !== undefined),
        [true, true, false],
      );
    }));

  it('refuse ports and families that are not served, and serve the rest', () =>
    withWorld(async ({ service, ensure }) => {
      const ports = [port(80, 30080), port(9000, 30900, { protocol: 'SCTP' })];
      const { refusals, observed } = await ensure(service({ ports, families: ['IPv4', 'IPv6'] }));
      assert.deepEqual(
        refusals.map(({ message, ports: some }) => [message, some?.[0]?.port]),
        [
          ['spec.ports: SCTP 9000, expected TCP or UDP', 9000],
          ['spec.ipFamilies: "IPv6", expected IPv4 alone', undefined],
        ],
      );
      assert.equal(observed?.state, 'active');
    }));

  it('have the nodes of the cluster behind them, whichever Service is worked on first', () =>
    withWorld(async ({ world, vms, service, partsOf }) => {
      const addresses = () =>
        (partsOf('loadBalancers', 'kubernetes', 'backendAddressPools')[0]?.properties['loadBalancerBackendAddresses'] ??
          []) as Part[];
      const { loadBalancers } = await world.open();
      const more = await world.createVm();
      const all = [service(), service({ members: [...vms, more].map((vm) => memberOf(vm)) })];
      const driving = (desired: DesiredLoadBalancer) => ({
        ...{ world, balancers: loadBalancers!, desired },
        record: { id: undefined },
      });
      loadBalancers!.declare(all, true, new Set());
      for (const desired of all) await ensureService(driving(desired));
      assert.deepEqual(
        addresses()
          .map(({ name }) => name)
          .sort(),
        [...vms, more].map(({ name }) => name).sort(),
      );
      for (const desired of all) await ensureService(driving({ ...desired, members: [memberOf(vms[0]!)] }));
      assert.deepEqual(
        addresses().map(({ name }) => name),
        [vms[0]!.name],
      );
    }));

  it('name each node once, when another node gets its former address', () =>
    withWorld(async ({ service, ensure, partsOf }) => {
      const nodes = (...addresses: readonly string[]) =>
        addresses.map((address, at) => ({
          ...{ node: `node-${at}`, providerID: `azure:///${at}`, addresses: [address] },
          ...{ zone: '', draining: false },
        }));
      const desired = service({ members: nodes('10.240.1.4', '10.240.1.5') });
      await ensure(desired);
      await ensure({ ...desired, members: nodes('10.240.1.6', '10.240.1.4') });
      const [pool] = partsOf('loadBalancers', 'kubernetes', 'backendAddressPools');
      const addresses = pool!.properties['loadBalancerBackendAddresses'] as readonly Part[];
      assert.deepEqual(
        addresses.map(({ name, properties }) => [name, properties['ipAddress']]),
        [
          ['node-0', '10.240.1.6'],
          ['node-1', '10.240.1.4'],
        ],
      );
    }));

  it('leave a pool of network interfaces to the scale sets, and say so', () =>
    withWorld(async ({ service, ensure, set, partsOf }) => {
      const desired = service();
      await ensure(desired);
      const [pool] = partsOf('loadBalancers', 'kubernetes', 'backendAddressPools');
      const properties = { backendIPConfigurations: [{ id: `${network}/networkInterfaces/n/ipConfigurations/c` }] };
      set('loadBalancers', 'kubernetes', { backendAddressPools: [{ name: pool!.name, properties }] });
      const { calls } = await ensure(desired);
      assert.equal(calls, 0);
    }));
});

const internalFields = { annotations: annotated(internal) };

describe('load balancers of the classic controller', () => {
  const proof = (...addresses: readonly string[]): AdoptionProof => ({ addresses, clusterName: 'kubernetes' });
  const untagged = (resource: { body: Json; version: number } | undefined) => {
    const { tags, ...body } = resource!.body;
    const left = Object.entries((tags ?? {}) as Json).filter(([name]) => !name.startsWith('mooring.dev'));
    Object.assign(resource!, { body: { ...body, tags: Object.fromEntries(left) }, version: resource!.version + 1 });
  };

  it('get source ranges where nothing of the load balancer itself has to change', () =>
    withWorld(async ({ service, ensure, resource, rules }) => {
      const desired = service(internalFields);
      const { observed } = await ensure(desired);
      untagged(resource('loadBalancers', 'kubernetes-internal'));
      await ensure({ ...desired, sourceRanges: ['192.0.2.0/24'] }, proof(observed!.ingress[0]!.ip!));
      assert.equal(rules().length, 1);
    }));

  it('keep their frontends and rules of IPv6', () =>
    withWorld(async ({ service, ensure, remove, resource, partsOf, set, network: cloud }) => {
      const desired = service();
      const { observed } = await ensure(desired);
      const base = baseName(desired.owner.service);
      const { id: six } = cloud.add('publicIPAddresses', `kubernetes-${base}-IPv6`, {
        ...{ location, tags: resource('publicIPAddresses', `kubernetes-${base}`)!.body['tags'] },
        properties: { ipAddress: '2001:db8::1', publicIPAddressVersion: 'IPv6' },
      });
      const ref = (list: string, name: string) => ({ id: `${network}/loadBalancers/kubernetes/${list}/${name}` });
      const refs = {
        frontendIPConfiguration: ref('frontendIPConfigurations', `${base}-IPv6`),
        ...{
          backendAddressPool: ref('backendAddressPools', 'kubernetes-IPv6'),
          probe: ref('probes', `${base}-80-IPv6`),
        },
      };
      const theirs = {
        frontendIPConfigurations: [{ name: `${base}-IPv6`, properties: { publicIPAddress: { id: six } } }],
        backendAddressPools: [{ name: 'kubernetes-IPv6', properties: {} }],
        loadBalancingRules: [
          {
            name: `${base}-TCP-80-IPv6`,
            properties: { ...refs, protocol: 'Tcp', frontendPort: 80, backendPort: 30080 },
          },
        ],
        probes: [{ name: `${base}-80-IPv6`, properties: { protocol: 'Tcp', port: 30080 } }],
      };
      const all = Object.entries(theirs).map(([list, parts]) => {
        return [list, [...partsOf('loadBalancers', 'kubernetes', list), ...parts]];
      });
      set('loadBalancers', 'kubernetes', Object.fromEntries(all));
      untagged(resource('loadBalancers', 'kubernetes'));
      untagged(resource('publicIPAddresses', `kubernetes-${base}`));
      untagged(resource('publicIPAddresses', `kubernetes-${base}-IPv6`));
      const both = proof(observed!.ingress[0]!.ip!, '2001:db8::1');
      const left = () =>
        Object.fromEntries(
          Object.keys(theirs).map((list) => {
            return [list, partsOf('loadBalancers', 'kubernetes', list).filter(({ name }) => name.endsWith('-IPv6'))];
          }),
        );
      const { refusals } = await ensure({ ...desired, families: ['IPv4', 'IPv6'], ports: [port(81, 30081)] }, both);
      assert.deepEqual(
        refusals.map(({ reason }) => reason),
        ['Unsupported'],
      );
      assert.deepEqual(left(), theirs);
      assert.ok(resource('publicIPAddresses', `kubernetes-${base}-IPv6`));
      await remove(desired);
      assert.deepEqual(left(), theirs);
    }));
});

describe('public addresses of Azure', () => {
  it('are taken by name or by address with the consent of their tags, and stay when the Service goes', () =>
    withWorld(async ({ service, ensure, remove, world, resource, network: cloud }) => {
      const ip = await world.freeAddress!(`${world.cluster}/default`);
      const [free] = [...cloud.resources.values()].filter(({ type }) => type === 'publicIPAddresses');
      const desired = service({ annotations: annotated({ 'pip-name': free!.name.toUpperCase() }) });
      const { observed } = await ensure(desired);
      assert.equal(observed?.ingress[0]?.ip, ip);
      const other = await ensure(service({ address: ip }));
      assert.deepEqual(
        other.refusals.map(({ reason, message }) => [reason, message]),
        [['Conflict', `public address ${ip} is in use already`]],
      );
      await remove(desired);
      assert.ok(resource('publicIPAddresses', free!.name));
      const missing = await ensure(service({ annotations: annotated({ 'pip-name': 'none' }) }));
      assert.match(
        missing.refusals[0]?.message ?? '',
        /azure-pip-name: "none", expected a public address of resource group rg/,
      );
    }));

  it('are made in another resource group, with tags, IP tags, a prefix and a DNS label', () =>
    withWorld(async ({ service, ensure, remove, world, network: cloud }) => {
      world.fake.groups.add('other');
      const prefixId = `${network}/publicIPPrefixes/block`;
      const own = {
        ...{ 'load-balancer-resource-group': 'Other', 'pip-tags': 'team=web,tier=1', 'pip-prefix-id': prefixId },
        ...{ 'pip-ip-tags': 'RoutingPreference=Internet', 'dns-label-name': 'shop' },
      };
      const desired = service({ annotations: annotated(own) });
      await ensure(desired);
      const find = () => [...cloud.resources.values()].find(({ type }) => type === 'publicIPAddresses');
      const { id, name, body } = find()!;
      assert.match(id, /resourceGroups\/other\//);
      assert.equal(name, `kubernetes-${baseName(desired.owner.service)}-block`);
      const { ipTags, publicIPPrefix, dnsSettings } = body['properties'] as Json;
      assert.deepEqual(ipTags, [{ ipTagType: 'RoutingPreference', tag: 'Internet' }]);
      assert.deepEqual([publicIPPrefix, dnsSettings], [{ id: prefixId }, { domainNameLabel: 'shop' }]);
      assert.equal((body['tags'] as Json)['team'], 'web');
      const { calls } = await ensure({ ...desired, annotations: annotated({ ...own, 'dns-label-name': '' }) });
      assert.deepEqual([calls, (find()!.body['properties'] as Json)['dnsSettings']], [1, undefined]);
      await remove(desired);
      assert.equal(find(), undefined);
    }));

  it('of a resource group that cannot be read stop the Service alone that names it', () =>
    withWorld(async ({ world, service, ensure }) => {
      const { loadBalancers } = await world.open();
      const named = service({ annotations: annotated({ 'load-balancer-resource-group': 'none' }) });
      const driving = (desired: DesiredLoadBalancer) => ({
        world,
        balancers: loadBalancers!,
        desired,
        record: { id: undefined },
      });
      await assert.rejects(ensureService(driving(named)));
      const { refusals } = await ensureService(driving(service()));
      assert.deepEqual(refusals, []);
      assert.equal((await ensure(service())).observed?.state, 'active');
    }));

  it('alone are retained, and serve the same namespace of the cluster again', () =>
    withWorld(async ({ service, ensure, remove, network: cloud }) => {
      const desired = service({ retain: true });
      const { observed } = await ensure(desired);
      await remove(desired);
      const left = [...cloud.resources.values()].map(({ type }) => type).sort();
      assert.deepEqual(left, ['networkSecurityGroups', 'publicIPAddresses']);
      const address = observed!.ingress[0]!.ip!;
      const { refusals } = await ensure(service({ address, owner: newOwner('another-cluster') }));
      assert.deepEqual(
        refusals.map(({ reason }) => reason),
        ['ForeignLoadBalancer'],
      );
      const again = await ensure(service({ address }));
      assert.deepEqual([again.refusals, again.observed?.ingress], [[], observed!.ingress]);
    }));

  it('that the subscription has no room for are told as a quota', () =>
    withWorld(async ({ service, ensure, network: cloud }) => {
      cloud.maxAddresses = 0;
      await assert.rejects(ensure(service()), { kind: 'QuotaExceeded' });
    }));
});

describe('rules of the security group', () => {
  const destinationsOf = ({ properties }: Part) =>
    [properties['destinationAddressPrefix'] ?? properties['destinationAddressPrefixes']].flat();

  it('are shared by Services with the same ports and sources, and keep the others when one goes', () =>
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

  it('and public addresses are written again after an operation that has failed', () =>
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

  it('are left alone where the annotation says so, and told where no security group is named', () =>
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

  it('of a security group that is not there are an error that names it', () =>
    withWorld(
      async ({ service, ensure }) => {
        await assert.rejects(ensure(service()), { kind: 'Invalid', message: /securityGroupName: "gone" is not in rg/ });
      },
      { json: { securityGroupName: 'gone' } },
    ));
});
