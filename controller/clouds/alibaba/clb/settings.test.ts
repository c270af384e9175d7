import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { desiredFor, newOwner, port } from '../../../../test/clouds/suite/desired.ts';
import { type AnnotationName, annotationTable, legacyPrefix, prefix } from '../annotations.ts';
import { nodeLabelsOf, settingsOf } from './settings.ts';

const options = { isPublicRefused: false, resourceGroup: undefined };
const tcp80 = port(80, 30_080);

function settings(annotations: Record<string, string>, more: Partial<typeof options> = {}) {
  const desired = desiredFor(newOwner('11111111-2222-4333-8444-555555555555'), [], {
    ports: [tcp80, port(443, 30_443)],
    annotations: Object.fromEntries(Object.entries(annotations).map(([name, value]) => [prefix + name, value])),
  });
  return settingsOf(desired, { ...options, ...more });
}

describe('annotations of Alibaba Cloud', () => {
  it('refuses a bad value of each annotation, or remarks that it is ignored', () => {
    for (const name of Object.keys(annotationTable) as AnnotationName[]) {
      const [values] = annotationTable[name];
      const { problems, remarks } = settings({ [name]: ' not a value ' });
      if (values === 'ignored')
        assert.ok(
          remarks.some((one) => one.includes(prefix + name)),
          name,
        );
      // Any text without a line break may be a tag, a label or a header.
      else if (!['additional-resource-tags', 'backend-label'].includes(name))
        assert.ok(
          problems.some((one) => one.startsWith(`${prefix}${name}: " not a value ", expected`)),
          name,
        );
    }
  });

  it('reads annotations of the former prefix, too, and prefers the present one', () => {
    const desired = desiredFor(newOwner('c'), [], {
      annotations: {
        [`${legacyPrefix}scheduler`]: 'wlc',
        [`${legacyPrefix}spec`]: 'slb.s1.small',
        [`${prefix}spec`]: 'slb.s2.small',
      },
    });
    const { fieldsOf, settings: changes, problems } = settingsOf(desired, options);
    assert.deepEqual(problems, []);
    assert.deepEqual(fieldsOf('tcp'), { Scheduler: 'wlc' });
    assert.deepEqual(changes, { ModifyLoadBalancerInstanceSpec: { LoadBalancerSpec: 'slb.s2.small' } });
  });

  it('choose protocols by port, and HTTPS needs a certificate', () => {
    const { protocolOf, problems } = settings({ 'protocol-port': 'https:443,http:8080' });
    assert.deepEqual([tcp80, port(443, 1), port(8080, 2)].map(protocolOf), ['tcp', 'https', 'http']);
    assert.equal(protocolOf(port(443, 1, { protocol: 'UDP' })), 'udp');
    assert.match(problems.join(), /cert-id: missing, expected it, beside https/);
  });

  it('give each listener the fields of its protocol alone', () => {
    const chosen = { 'proxy-protocol': 'on', 'idle-timeout': '30', 'persistence-timeout': '600', scheduler: 'rr' };
    const { fieldsOf } = settings(chosen);
    assert.deepEqual(fieldsOf('tcp'), { Scheduler: 'rr', PersistenceTimeout: 600, ProxyProtocolV2Enabled: true });
    assert.deepEqual(fieldsOf('udp'), { Scheduler: 'rr', ProxyProtocolV2Enabled: true });
    assert.deepEqual(fieldsOf('http'), { Scheduler: 'rr', IdleTimeout: 30 });
  });

  it('refuses a public address where the operator allows none', () => {
    const refused = { isPublicRefused: true };
    assert.equal(settings({}, refused).fixed['AddressType'], 'intranet');
    assert.match(settings({ 'address-type': 'internet' }, refused).problems.join(), /disablePublicSLB/);
  });

  it('select Nodes by labels', () => {
    assert.deepEqual(nodeLabelsOf({ [`${prefix}backend-label`]: 'pool=web,gpu=' }), [
      { key: 'pool', value: 'web' },
      { key: 'gpu', value: '' },
    ]);
    assert.deepEqual(nodeLabelsOf({}), []);
  });
});
