import assert from 'node:assert/strict';
import { afterEach, describe, it } from 'node:test';
import { keys } from '../../../controller/clouds/openstack/load-balancers/annotations.ts';
import { port } from '../suite/desired.ts';
import { answerJson } from './fake/answers.ts';
import { type OctaviaHarness, octaviaHarness, reasons } from './octavia-harness.ts';

describe('Octavia load balancers by provider', () => {
  let harness: OctaviaHarness;
  const open = async (config = '') => {
    harness = await octaviaHarness(config);
    return harness;
  };
  afterEach(() => harness.close());

  it('sends provider ovn nothing that it refuses', async () => {
    await open('[LoadBalancer]\nlb-provider = ovn\ncreate-monitor = true\n');
    harness.octavia.providers.add('ovn');
    const udp = port(53, 30053, { protocol: 'UDP' });
    const { refusals } = await harness.ensure({
      ports: [port(80, 30080), udp],
      sessionAffinity: { timeoutSeconds: 60 },
    });
    assert.deepEqual(refusals, []);
    const [balancer] = harness.octavia.balancers.values();
    assert.deepEqual(
      balancer?.pools.map(({ fields }) => fields['lb_algorithm']),
      ['SOURCE_IP_PORT', 'SOURCE_IP_PORT'],
    );
    assert.deepEqual(
      balancer.pools.map(({ monitor }) => monitor?.fields['type']),
      ['TCP', 'UDP-CONNECT'],
    );
    assert.equal((await harness.ensure()).calls, 0);
    assert.deepEqual(
      (await harness.ensure({ trafficPolicy: 'Local', healthCheck: { port: 32_100, path: '/healthz' } })).calls,
      0,
    );
    const { balancers } = await harness.driving();
    assert.equal(balancers.drains, false);
    const closed = await harness.ensure({ sourceRanges: ['192.0.2.0/24'] });
    assert.deepEqual(reasons(closed), ['Unsupported']);
    assert.equal(closed.calls, 0);
  });

  it('serves SCTP without a health monitor by provider ovn, and says so', async () => {
    await open('[LoadBalancer]\nlb-provider = ovn\ncreate-monitor = true\n');
    harness.octavia.providers.add('ovn');
    const sctp = port(38412, 31000, { protocol: 'SCTP' });
    const { refusals } = await harness.ensure({ ports: [port(80, 30080), sctp] });
    const unchecked = 'port SCTP 38412: provider ovn has no health monitor for it; its members are not checked';
    assert.deepEqual(refusals, [{ reason: 'Unsupported', message: unchecked }]);
    const [balancer] = harness.octavia.balancers.values();
    assert.deepEqual(
      balancer?.pools.map(({ monitor }) => monitor?.fields['type']),
      ['TCP', undefined],
    );
    assert.equal((await harness.ensure()).calls, 0);
    const off = await harness.ensure({ annotations: { [keys.healthMonitor]: 'false' } });
    assert.deepEqual(off.refusals, []);
  });

  for (const [provider, configured, method] of [
    ['amphora', 'ovn', 'ROUND_ROBIN'],
    ['ovn', 'amphora', 'SOURCE_IP_PORT'],
  ] as const) {
    it(`keeps the method of provider ${provider} while ${configured} is configured, also when replaced`, async () => {
      await open(`[LoadBalancer]\nlb-provider = ${configured}\n`);
      harness.octavia.providers.add('ovn');
      await harness.ensure();
      const [balancer] = harness.octavia.balancers.values();
      balancer!.fields['provider'] = provider;
      for (const { fields } of balancer!.pools) fields['lb_algorithm'] = method;
      const { refusals } = await harness.ensure({ ports: [port(80, 30080), port(443, 30443)] });
      const methods = ({ pools }: NonNullable<typeof balancer>) => pools.map(({ fields }) => fields['lb_algorithm']);
      assert.deepEqual([refusals, methods(balancer!)], [[], [method, method]]);
      harness.octavia.mayFailOver = provider === 'ovn';
      harness.octavia.breakDown(balancer!.id);
      await harness.ensure();
      const [replaced] = harness.octavia.balancers.values();
      assert.notEqual(replaced?.id, balancer!.id);
      assert.deepEqual([replaced?.fields['provider'], methods(replaced!)], [provider, [method, method]]);
    });
  }

  it('refuses for good what the provider does not support', async () => {
    const { fake } = await open();
    fake.fault = ({ method, path }, response) => {
      if (method !== 'POST' || path !== '/lbaas/loadbalancers') return undefined;
      const faultstring = "Provider 'amphora' does not support a requested option";
      return answerJson(response, 501, { faultcode: 'Server', faultstring, debuginfo: null });
    };
    await assert.rejects(harness.ensure(), { kind: 'Invalid', message: /501 Provider 'amphora' does not support/ });
  });

  it('keeps the method of the provider while one of another provider is refused', async () => {
    await open();
    harness.octavia.providers.add('ovn');
    await harness.ensure();
    const id = await harness.world.createForeignLoadBalancer('shared', undefined);
    harness.octavia.balancers.get(id)!.fields['provider'] = 'ovn';
    const refused = await harness.ensure({ attach: { id, allowed: false } });
    assert.deepEqual([refused.calls, reasons(refused)], [0, ['ForeignLoadBalancer']]);
  });
});
