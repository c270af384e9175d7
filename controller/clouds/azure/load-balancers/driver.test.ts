import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { location } from '../../../../test/clouds/azure/fake/fake-state.ts';
import { annotated, internal, type Json, network, type Part, withWorld } from '../../../../test/clouds/azure/scene.ts';
import { memberOf, newOwner, port } from '../../../../test/clouds/suite/desired.ts';
import { ensure as ensureService } from '../../../../test/clouds/suite/drive.ts';
import type { AdoptionProof, DesiredLoadBalancer } from '../../load-balancers.ts';
import { portPrefix, prefix } from '../annotations.ts';
import { baseName } from './names.ts';

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

  it('are sent again after a failure that the role may not read', () =>
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

  it('are sent again when another write has taken the place of theirs', () =>
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

  it('probe a port without a node port by the usual health check, and say so', () =>
    withWorld(async ({ service, ensure, partsOf }) => {
      const ports = [port(80, 0), port(81, 30081)];
      const annotations = annotated({ 'load-balancer-health-probe-protocol': 'tcp' });
      const { remarks, refusals } = await ensure(service({ ports, annotations }));
      assert.deepEqual([remarks, refusals], [['port 80 has no node port: the usual health check is its probe'], []]);
      assert.deepEqual(
        partsOf('loadBalancers', 'kubernetes', 'probes').map(({ properties }) => properties['port']),
        [10256, 30081],
      );
      const named = { [`${portPrefix}81_health-probe_port`]: 'p80' };
      const bad = await ensure(service({ ports, annotations: named }));
      assert.match(bad.refusals[0]?.message ?? '', /port_81_health-probe_port: "p80", expected /);
    }));

  it('lose the probe of a port whose annotation comes later, and get it back without', () =>
    withWorld(async ({ service, ensure, partsOf }) => {
      const plain = service({ ports: [port(80, 30080), port(81, 30081)] });
      const own = annotated({ 'load-balancer-health-probe-protocol': 'http' });
      const probed = () =>
        partsOf('loadBalancers', 'kubernetes', 'loadBalancingRules').map(
          ({ properties }) => properties['probe'] !== undefined,
        );
      for (const annotations of [own, {}]) {
        const all = { ...plain, annotations };
        const one = { ...plain, annotations: { ...annotations, [`${portPrefix}81_no_probe_rule`]: 'true' } };
        await ensure(all);
        assert.deepEqual(probed(), [true, true]);
        await ensure(one);
        assert.deepEqual(probed(), [true, false]);
        assert.equal((await ensure(one)).calls, 0);
        await ensure(all);
        assert.deepEqual(probed(), [true, true]);
      }
    }));

  it('have no rule, no probe or another probe for a port whose annotations say so', () =>
    withWorld(async ({ service, ensure, partsOf }) => {
      const ports = [80, 81, 82, 83].map((number) => port(number, 30000 + number));
      const annotations = {
        [`${portPrefix}80_no_lb_rule`]: 'true',
        [`${portPrefix}81_no_probe_rule`]: 'true',
        [`${portPrefix}82_health-probe_port`]: '9000',
        [`${portPrefix}82_health-probe_protocol`]: 'http',
      };
      const desired = service({ ports, annotations });
      const probes = () => {
        const rules = partsOf('loadBalancers', 'kubernetes', 'loadBalancingRules');
        return rules.map(({ properties }) => {
          const id = (properties['probe'] as { id: string } | undefined)?.id.split('/').at(-1);
          const probe = partsOf('loadBalancers', 'kubernetes', 'probes').find(({ name }) => name === id);
          return [properties['frontendPort'], probe?.properties['port']];
        });
      };
      await ensure(desired);
      assert.deepEqual(probes(), [
        [81, undefined],
        [82, 9000],
        [83, 10256],
      ]);
      // Nodes without endpoints have to be told apart.
      await ensure({ ...desired, trafficPolicy: 'Local', healthCheck: { port: 32000, path: '/healthz' } });
      assert.deepEqual(probes(), [
        [81, undefined],
        [82, 9000],
        [83, 32000],
      ]);
    }));

  it('refuse ports that are not served, and serve the rest', () =>
    withWorld(async ({ service, ensure }) => {
      const ports = [port(80, 30080), port(9000, 30900, { protocol: 'SCTP' })];
      const { refusals, observed } = await ensure(service({ ports }));
      assert.deepEqual(
        refusals.map(({ message, ports: some }) => [message, some?.[0]?.port]),
        [['spec.ports: SCTP 9000, expected TCP or UDP', 9000]],
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

  it('keep a node of which a new process knows the providerID alone', () =>
    withWorld(async ({ world, vms, service, ensure, partsOf }) => {
      const desired = service();
      await ensure(desired);
      const members = vms.map((vm, at) => ({ ...memberOf(vm), ...(at === 0 ? { addresses: [], node: '' } : {}) }));
      assert.equal((await ensure({ ...desired, members })).calls, 0);
      const more = memberOf(await world.createVm());
      await ensure({ ...desired, members: [...members, more] });
      const [pool] = partsOf('loadBalancers', 'kubernetes', 'backendAddressPools');
      assert.equal((pool!.properties['loadBalancerBackendAddresses'] as readonly Part[]).length, 3);
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
});

const internalFields = { annotations: annotated(internal) };

describe('load balancers of the classic controller', () => {
  const proof = (...addresses: readonly string[]): AdoptionProof => ({ addresses, clusterName: 'kubernetes' });
  const untagged = (resource: { body: Json; version: number } | undefined) => {
    const { tags, ...body } = resource!.body;
    const left = Object.entries((tags ?? {}) as Json).filter(([name]) => !name.startsWith('mooring.dev'));
    Object.assign(resource!, { body: { ...body, tags: Object.fromEntries(left) }, version: resource!.version + 1 });
  };

  it('have their public addresses in the resource group of the nodes, and are taken over there', () =>
    withWorld(
      async ({ world, service, ensure, network: cloud, resource }) => {
        world.fake.groups.add('lbs');
        const desired = service();
        const { observed } = await ensure(desired);
        const name = `kubernetes-${baseName(desired.owner.service)}`;
        const balancer = cloud.resources.get(
          `${network}/loadBalancers/kubernetes`.replace('/rg/', '/lbs/').toLowerCase(),
        );
        for (const one of [balancer, resource('publicIPAddresses', name)]) untagged(one);
        const changed = { ...desired, ports: [port(81, 30081)] };
        const after = await ensure(changed, proof(observed!.ingress[0]!.ip!));
        assert.deepEqual([after.refusals, after.observed?.ingress], [[], observed!.ingress]);
        const ids = [...cloud.resources.values()].flatMap(({ type, id }) => (type === 'publicIPAddresses' ? [id] : []));
        assert.deepEqual(ids, [`${network}/publicIPAddresses/${name}`]);
      },
      { json: { loadBalancerResourceGroup: 'lbs' } },
    ));

  it('get source ranges where nothing of the load balancer itself has to change', () =>
    withWorld(async ({ service, ensure, resource, rules }) => {
      const desired = service(internalFields);
      const { observed } = await ensure(desired);
      untagged(resource('loadBalancers', 'kubernetes-internal'));
      await ensure({ ...desired, sourceRanges: ['192.0.2.0/24'] }, proof(observed!.ingress[0]!.ip!));
      assert.equal(rules().length, 1);
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

  it('are deleted in the version that was just read, and stay where another Service has them since', () =>
    withWorld(async ({ world, service, ensure, remove, network: cloud, resource }) => {
      const [first, second] = [service(), service()];
      const nameOf = ({ owner }: typeof first) => `kubernetes-${baseName(owner.service)}`;
      for (const desired of [first, second]) await ensure(desired);
      const sent: (string | undefined)[] = [];
      world.fake.fault = ({ method, path, headers }) => {
        if (method === 'DELETE' && path.endsWith(nameOf(first))) sent.push(headers['if-match']);
        if (method === 'DELETE' || !path.endsWith(nameOf(second)) || isTaken) return undefined;
        // Between our list and our removal.
        const there = resource('publicIPAddresses', nameOf(second))!;
        const tags = { ...(there.body['tags'] as Json), 'mooring.dev-service-uid': 'another' };
        Object.assign(there, { body: { ...there.body, tags }, version: there.version + 1 });
        isTaken = true;
        return undefined;
      };
      let isTaken = true;
      await remove(first);
      assert.match(sent.join(), /^W\/"/);
      isTaken = false;
      await remove(second);
      assert.equal([...cloud.resources.values()].filter(({ type }) => type === 'publicIPAddresses').length, 1);
    }));

  it('that no list has shown yet are not overwritten', () =>
    withWorld(async ({ world, service, ensure, network: cloud, resource }) => {
      const desired = service();
      const name = `kubernetes-${baseName(desired.owner.service)}`;
      cloud.add('publicIPAddresses', name, { location, tags: { team: 'net' }, properties: {} });
      const sent: (string | undefined)[] = [];
      world.fake.fault = ({ method, path, headers }) => {
        if (method === 'PUT' && path.endsWith(name)) sent.push(headers['if-none-match']);
        return method === 'GET' && path.endsWith('/publicIPAddresses')
          ? { status: 200, body: { value: [] } }
          : undefined;
      };
      await assert.rejects(ensure(desired));
      assert.ok(sent.length > 0 && sent.every((one) => one === '*'));
      assert.deepEqual(resource('publicIPAddresses', name)!.body['tags'], { team: 'net' });
    }));

  it('have tags whose names compare without case', () =>
    withWorld(async ({ service, ensure, resource }) => {
      const desired = service({ annotations: annotated({ 'pip-tags': 'Team=web' }) });
      await ensure(desired);
      const there = resource('publicIPAddresses', `kubernetes-${baseName(desired.owner.service)}`)!;
      const upper = Object.entries(there.body['tags'] as Json).map(([name, value]) => [name.toUpperCase(), value]);
      Object.assign(there, { body: { ...there.body, tags: Object.fromEntries(upper) }, version: there.version + 1 });
      assert.equal((await ensure(desired)).calls, 0);
      await ensure({ ...desired, annotations: annotated({ 'pip-tags': 'Team=db' }) });
      const { Team, TEAM } = there.body['tags'] as Json;
      assert.deepEqual([Team, TEAM], ['db', undefined]);
    }));

  it('need no right in the resource group of the nodes where none is made there', () =>
    withWorld(
      async ({ world, service, ensure }) => {
        world.fake.groups.add('lbs');
        const error = { code: 'AuthorizationFailed', message: 'no right' };
        world.fake.fault = ({ path }) =>
          /\/resourceGroups\/rg\/.*publicIPAddresses/i.test(path) ? { status: 403, body: { error } } : undefined;
        assert.deepEqual((await ensure(service(internalFields))).refusals, []);
        await assert.rejects(ensure(service()), { kind: 'Forbidden' });
      },
      { json: { loadBalancerResourceGroup: 'lbs' } },
    ));

  it('that were made in the resource group of the load balancers are found there', () =>
    withWorld(
      async ({ world, service, ensure, remove, network: cloud }) => {
        world.fake.groups.add('lbs');
        const tags = { 'mooring.dev-attachable-by': `${world.cluster}/default` };
        const { id } = cloud.add('publicIPAddresses', 'former', { location, tags, properties: {} }, 'lbs');
        const desired = service({ annotations: annotated({ 'pip-name': 'former' }) });
        assert.deepEqual((await ensure(desired)).refusals, []);
        await remove(desired);
        assert.ok(cloud.resources.has(id.toLowerCase()));
      },
      { json: { loadBalancerResourceGroup: 'lbs' } },
    ));

  it('and load balancers are made with the tags of the configuration, under ours', () =>
    withWorld(
      async ({ world, service, ensure, resource }) => {
        const desired = service({ annotations: annotated({ 'pip-tags': 'team=web' }) });
        await ensure(desired);
        const tagsOf = (type: string, name: string) => resource(type, name)!.body['tags'] as Json;
        const balancer = tagsOf('loadBalancers', 'kubernetes');
        const address = tagsOf('publicIPAddresses', `kubernetes-${baseName(desired.owner.service)}`);
        assert.deepEqual([balancer['Team'], balancer['cost']], ['net', '7']);
        assert.deepEqual([address['team'], address['Team'], address['cost']], ['web', undefined, '7']);
        assert.equal(balancer['mooring.dev-cluster'], world.cluster);
        assert.equal((await ensure(desired)).calls, 0);
      },
      { json: { tags: 'Team=net,cost=7', tagsMap: { 'mooring.dev-cluster': 'other' } } },
    ));

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
