import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { machine, managedConfig, member, network, port } from '../../../../test/clouds/aws/fake/machine.ts';
import { group } from '../../../../test/clouds/aws/fake/network-facts.ts';
import { keys } from '../load-balancer-annotations.ts';

describe('a value that cannot be read changes nothing that stands', () => {
  const good = {
    [keys.sslCertificate]: 'arn:aws:acm:eu-west-1:123456789012:certificate/1',
    [keys.sslPorts]: '443',
    [keys.backendProtocol]: 'ssl',
    [keys.targetType]: 'ip',
    [keys.healthPort]: '9000',
    [keys.healthInterval]: '20',
    [keys.healthProtocol]: 'HTTPS',
    [keys.healthyThreshold]: '4',
    [keys.crossZone]: 'true',
    [keys.healthPath]: '/ok',
    [keys.targetGroupAttributes]: 'proxy_protocol_v2.enabled=true',
    [keys.additionalTags]: 'a=b',
    [keys.subnets]: 'subnet-a,subnet-b',
    [keys.eipAllocations]: 'eipalloc-1,eipalloc-2',
    [keys.accessLogEnabled]: 'true',
    [keys.accessLogBucket]: 'logs',
    [keys.securityGroups]: 'sg-allowed',
    [keys.unhealthyThreshold]: '4',
    [keys.healthTimeout]: '8',
    [keys.scheme]: 'internet-facing',
  };
  const bad: Readonly<Record<string, string>> = {
    [keys.sslCertificate]: 'arn:aws:acm:x, arn:aws:acm:y',
    [keys.sslPorts]: '8443',
    [keys.backendProtocol]: 'tls',
    [keys.targetType]: 'IP',
    [keys.healthPort]: 'http',
    [keys.healthInterval]: '20s',
    [keys.healthProtocol]: 'x',
    [keys.healthyThreshold]: '99',
    [keys.crossZone]: 'on',
    [keys.healthPath]: 'ok',
    [keys.additionalTags]: 'aws:a=b',
    [keys.targetGroupAttributes]: 'proxy',
    [keys.subnets]: 'subnet-a,subnet-a',
    [keys.eipAllocations]: 'eip-1',
    [keys.accessLogEnabled]: 'on',
    [keys.accessLogBucket]: '',
    [keys.securityGroups]: 'sg-allowed,sg_2',
    [keys.unhealthyThreshold]: '0',
    [keys.healthTimeout]: '1',
    [keys.scheme]: 'private',
  };
  for (const key of Object.keys(good)) {
    it(`refuses an unreadable ${key}, and changes the members alone`, async () => {
      const m = machine({ config: managedConfig, more: [group('sg-allowed')] });
      const ports = [port(80), port(443)];
      const members = [1, 2].map((one) => member(one, { addresses: [`10.0.0.${one}`] }));
      const first = await m.ensure(network({ ports, members, annotations: good }));
      assert.deepEqual(first.refusals, []);
      const typo = network({ ports, members, annotations: { ...good, [key]: bad[key]! }, mayChangeAddress: true });
      const { sent, refusals } = await m.ensure(typo);
      assert.ok(refusals.length > 0);
      assert.deepEqual(sent, []);
      const after = await m.ensure({ ...typo, members: [members[0]!, member(3, { addresses: ['10.0.0.3'] })] });
      assert.equal(after.observed?.members.length, 2);
      assert.deepEqual(new Set(after.sent), new Set(['v2 RegisterTargets', 'v2 DeregisterTargets']));
    });
  }
});
