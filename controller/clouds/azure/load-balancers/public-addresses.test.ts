import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { location } from '../../../../test/clouds/azure/fake/fake-state.ts';
import { annotated, internalFields, type Json, network, withWorld } from '../../../../test/clouds/azure/scene.ts';
import { newOwner } from '../../../../test/clouds/suite/desired.ts';
import { ensure as ensureService, remove as removeService } from '../../../../test/clouds/suite/drive.ts';
import type { DesiredLoadBalancer } from '../../load-balancers.ts';
import { baseName } from './names.ts';

describe('public addresses of Azure', () => {
  it('takes a named address with the consent of its tags, and keeps it when the Service goes', () =>
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

  it('creates an address in another resource group, with tags, IP tags, a prefix and a DNS label', () =>
    withWorld(async ({ service, ensure, remove, world, network: cloud }) => {
      world.fake.groups.add('other');
      const prefixId = `${network}/publicIPPrefixes/block`;
      const own = {
        'load-balancer-resource-group': 'Other',
        'pip-tags': 'team=web,tier=1',
        'pip-prefix-id': prefixId,
        'pip-ip-tags': 'RoutingPreference=Internet',
        'dns-label-name': 'shop',
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

  it('fails the Service alone that names a resource group that cannot be read', () =>
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

  it('serves the other Services while a resource group with the address of one refuses to be read', () =>
    withWorld(async ({ world, service, ensure, remove, rules, resource, network: cloud }) => {
      world.fake.groups.add('team-a');
      const named = service({ annotations: annotated({ 'load-balancer-resource-group': 'team-a' }) });
      const other = service();
      const ip = (await ensure(named)).observed!.ingress[0]!.ip!;
      await ensure(other);
      const before = (await world.open()).loadBalancers!;
      // The first shows the frontends, and they the resource group.
      for (let audits = 0; audits < 2; audits += 1) await world.during(before.observeAll(world.cluster));
      const error = { code: 'AuthorizationFailed', message: 'no right' };
      world.fake.fault = ({ path }) => (path.includes('/team-a/') ? { status: 403, body: { error } } : undefined);
      const restarted = (await world.open()).loadBalancers!;
      for (const balancers of [before, restarted]) {
        const driving = (desired: DesiredLoadBalancer) => ({ world, balancers, desired, record: { id: undefined } });
        const all = await world.during(balancers.observeAll(world.cluster));
        const [seen] = all.filter(({ owner }) => owner?.service === named.owner.service);
        assert.deepEqual(seen?.ingress, balancers === before ? [{ ip }] : []);
        const changed = { ...other, members: other.members.slice(0, 1) };
        assert.deepEqual((await ensureService(driving(changed))).refusals, []);
        assert.deepEqual((await ensureService(driving(service()))).refusals, []);
        await assert.rejects(ensureService(driving(named)), { kind: 'Forbidden' });
      }
      await assert.rejects(remove(named), { kind: 'Forbidden' });
      await remove(other);
      assert.ok(rules().some(({ properties }) => JSON.stringify(properties).includes(`"${ip}"`)));
      world.fake.fault = undefined;
      assert.equal((await ensure(named)).observed?.ingress[0]?.ip, ip);
      await remove(named);
      assert.ok([...cloud.resources.values()].every(({ id }) => !id.includes('/team-a/')));
      assert.ok(resource('loadBalancers', 'kubernetes'));
    }));

  it('reads no resource group of a Service that is gone', () =>
    withWorld(async ({ world, service }) => {
      world.fake.groups.add('preview');
      const { loadBalancers } = await world.open();
      const driving = (desired: DesiredLoadBalancer) => {
        return { world, balancers: loadBalancers!, desired, record: { id: undefined } };
      };
      const named = driving(service({ annotations: annotated({ 'load-balancer-resource-group': 'preview' }) }));
      await ensureService(named);
      await removeService(named);
      await world.during(loadBalancers!.observeAll(world.cluster));
      const before = world.fake.calls.length;
      await world.during(loadBalancers!.observeAll(world.cluster));
      await ensureService(driving(service()));
      assert.ok(world.fake.calls.slice(before).every(({ path }) => !path.includes('/preview/')));
    }));

  it('retains the public address alone, which serves the same cluster again and no other', () =>
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

  it('deletes an address in the version just read, and keeps it where another Service has it since', () =>
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

  it('overwrites no address that no list has shown yet', () =>
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

  it('compares the names of tags without case', () =>
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

  it('finds an address that was made in the resource group of the load balancers', () =>
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

  it('tags addresses and load balancers as the configuration says, under our own tags', () =>
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

  it('rejects with QuotaExceeded where the subscription has no room for an address', () =>
    withWorld(async ({ service, ensure, network: cloud }) => {
      cloud.maxAddresses = 0;
      await assert.rejects(ensure(service()), { kind: 'QuotaExceeded' });
    }));
});
