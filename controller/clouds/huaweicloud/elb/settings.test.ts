import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { createBalancerHarness } from '../../../../test/clouds/huawei/balancer-harness.ts';
import { desiredFor, newOwner, port } from '../../../../test/clouds/suite/desired.ts';
import { type AnnotationName, annotationTable, prefix } from '../annotations.ts';
import { noOptions, type Options, readOptions } from '../options.ts';
import { settingsOf } from './settings.ts';

function settings(annotations: Record<string, string>, options: Options = noOptions, seconds?: number) {
  const keys = Object.entries(annotations).map(([name, value]) => [prefix + name, value]);
  const desired = desiredFor(newOwner('11111111-2222-4333-8444-555555555555'), [], {
    annotations: Object.fromEntries(keys),
    sessionAffinity: seconds === undefined ? undefined : { timeoutSeconds: seconds },
  });
  return settingsOf(desired, options);
}
const optionsOf = (json: object | string) =>
  readOptions('options', async (path) =>
    path !== 'options' ? undefined : typeof json === 'string' ? json : JSON.stringify(json),
  );

describe('annotations of Huawei Cloud', () => {
  it('supports each annotation, ignores it with a remark, or refuses it with a line', () => {
    for (const name of Object.keys(annotationTable) as AnnotationName[]) {
      const { problems, remarks } = settings({ [name]: ' not a value ' });
      const [values] = annotationTable[name];
      const said = values === 'ignored' ? remarks : problems;
      const start = values === 'ignored' ? `${prefix}${name} has no` : `${prefix}${name}: " not a value ", expected`;
      assert.ok(
        said.some((one) => one.startsWith(start)),
        `${name}: ${said}`,
      );
    }
  });

  it('refuses the classes that are not served, and a load balancer that is not its own', async () => {
    for (const kind of ['dnat', 'elasticity'])
      assert.match(settings({ class: kind }).problems.join(), /elb.class: ".*", expected dedicated or shared/);
    const harness = await createBalancerHarness();
    const id = await harness.world.createForeignLoadBalancer('theirs', undefined);
    const { refusals } = await harness.settle({ annotations: { id } });
    assert.match(refusals[0]!.message, /elb.id: ".*", expected that of its own load balancer/);
    assert.equal(harness.balancer().id, id);
    await harness.world.close();
  });

  it('chooses the protocol by certificate and header, in the words of the class', () => {
    const of = (annotations: Record<string, string>) => settings(annotations).protocolOf(port(443, 30_443));
    assert.equal(of({}), 'TCP');
    assert.equal(of({ 'x-forwarded-host': 'true' }), 'HTTP');
    assert.equal(of({ 'default-tls-container-ref': 'cert1' }), 'HTTPS');
    assert.equal(of({ 'default-tls-container-ref': 'cert1', class: 'shared' }), 'TERMINATED_HTTPS');
    const udp = port(53, 30_053, { protocol: 'UDP' });
    assert.equal(settings({ 'default-tls-container-ref': 'cert1' }).protocolOf(udp), 'UDP');
  });

  it('makes clients stay with their node, for minutes as the cloud counts them', () => {
    const { persistenceOf, remarks } = settings({}, noOptions, 10_800);
    assert.deepEqual(persistenceOf('TCP'), { type: 'SOURCE_IP', persistence_timeout: 60 });
    assert.deepEqual(persistenceOf('HTTP'), { type: 'HTTP_COOKIE', persistence_timeout: 60 });
    assert.deepEqual(remarks, ['a client stays with its node for 60 minutes at most']);
    assert.equal(settings({}).persistenceOf('TCP'), null);
    const chosen = settings({
      'session-affinity-flag': 'on',
      'session-affinity-option': '{"type":"APP_COOKIE","cookie_name":"id"}',
    });
    assert.deepEqual(chosen.persistenceOf('HTTP'), { type: 'APP_COOKIE', cookie_name: 'id' });
    assert.deepEqual(chosen.persistenceOf('TCP'), { type: 'SOURCE_IP' });
  });

  it('requires all of a new EIP, or the id of a shared bandwidth', () => {
    const eip = (json: object) => settings({ 'eip-auto-create-option': JSON.stringify(json) });
    assert.deepEqual(eip({ bandwidth_size: 5 }).eip, {
      type: '5_bgp',
      bandwidth: { share_type: 'PER', size: 5, charge_mode: 'traffic' },
    });
    assert.deepEqual(eip({ ip_type: '5_sbgp', share_type: 'WHOLE', share_id: 'b1' }).eip, {
      type: '5_sbgp',
      bandwidth: { share_type: 'WHOLE', id: 'b1' },
    });
    for (const bad of [{}, { bandwidth_size: 0 }, { share_type: 'WHOLE' }, { bandwidth_size: 5, other: 1 }])
      assert.equal(eip(bad).problems.length, 1, JSON.stringify(bad));
  });
});

describe('the ConfigMap loadbalancer-config of Huawei Cloud', () => {
  it('gives defaults, which an annotation wins over', async () => {
    const options = await optionsOf({
      'lb-algorithm': 'LEAST_CONNECTIONS',
      'keep-eip': true,
      'idle-timeout': 60,
      'request-timeout': 0,
      'health-check-option': { delay: 9, timeout: 4, max_retries: 2 },
      'business-name': 'shop',
    });
    const { algorithm, keepEip, check, listenerOf, problems } = settings({ 'keep-eip': 'false' }, options);
    assert.deepEqual([algorithm, keepEip, problems], ['LEAST_CONNECTIONS', false, []]);
    assert.deepEqual(check, { delay: 9, timeout: 4, max_retries: 2 });
    assert.equal(listenerOf('HTTP')['keepalive_timeout'], 60);
    assert.equal(options.businessName, 'shop');
  });

  it('names the files beside it that have no effect', async () => {
    const files = new Map([
      ['/etc/lb/loadBalancerOption', '{}'],
      ['/etc/lb/networkingOption', '{"public-network-name":["net"]}'],
      ['/etc/lb/metadataOption', '{ }'],
    ]);
    const { warnings } = await readOptions('/etc/lb/loadBalancerOption', async (path) => files.get(path));
    assert.equal(warnings.length, 1);
    assert.match(warnings[0]!, /^networkingOption has no effect: addresses are those of the interfaces/);
  });

  it('warns of options without effect, and names one whose value it cannot read', async () => {
    const { warnings } = await optionsOf({ 'lb-provider': 'vlb', next: 1 });
    assert.deepEqual(warnings, ['lb-provider has no effect: there is no other than vlb', 'unknown key next']);
    const { problems } = settings({}, await optionsOf({ 'lb-algorithm': 'FAST' }));
    assert.match(problems.join(), /^ConfigMap loadbalancer-config: lb-algorithm: "FAST", expected ROUND_ROBIN/);
    await assert.rejects(optionsOf('{'), /options: it is no JSON/);
    await assert.rejects(optionsOf([]), /options: expected a JSON object/);
  });

  it('warns where the file that the variable names is missing, and goes without it', async () => {
    const { warnings, ...rest } = await readOptions('/etc/lb/loadBalancerOption', async () => undefined);
    assert.match(warnings.join(), /^HUAWEICLOUD_LOADBALANCER_OPTION: no file \/etc\/lb\/loadBalancerOption/);
    assert.deepEqual({ ...rest, warnings: [] }, noOptions);
  });
});
