import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { annotated, internal, type Part, withWorld } from '../../../../test/clouds/azure/scene.ts';
import { memberOf, port } from '../../../../test/clouds/suite/desired.ts';
import { ensure as ensureService } from '../../../../test/clouds/suite/drive.ts';
import type { DesiredLoadBalancer } from '../../load-balancers.ts';
import { portPrefix, prefix } from '../annotations.ts';

describe('load balancers of Azure', () => {
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

  it('makes no rule, no probe or another probe for a port whose annotations say so', () =>
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

  it('puts the nodes of the cluster behind a load balancer, whichever Service is worked on first', () =>
    withWorld(async ({ world, vms, service, partsOf }) => {
      const addresses = () =>
        (partsOf('loadBalancers', 'kubernetes', 'backendAddressPools')[0]?.properties['loadBalancerBackendAddresses'] ??
          []) as Part[];
      const { loadBalancers } = await world.open();
      const more = await world.createVm();
      const all = [service(), service({ members: [...vms, more].map((vm) => memberOf(vm)) })];
      const driving = (desired: DesiredLoadBalancer) => ({
        world,
        balancers: loadBalancers!,
        desired,
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

  it('name each node once, when another node gets its former address', () =>
    withWorld(async ({ service, ensure, partsOf }) => {
      const nodes = (...addresses: readonly string[]) =>
        addresses.map((address, at) => ({
          node: `node-${at}`,
          providerID: `azure:///${at}`,
          addresses: [address],
          zone: '',
          draining: false,
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
