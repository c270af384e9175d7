import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { desired, machine, plainConfig } from '../../../../test/clouds/aws/fake/machine.ts';
import { keys } from '../load-balancer-annotations.ts';

describe('invalid values of a classic load balancer', () => {
  const typos: readonly [good: Readonly<Record<string, string>>, key: string, bad: string][] = [
    [{ [keys.securityGroups]: 'sg-persons' }, keys.securityGroups, 'sg-persons,sg_2'],
    [{ [keys.extraSecurityGroups]: 'sg-persons' }, keys.extraSecurityGroups, 'sg-persons,sg_2'],
    [{ [keys.subnets]: 'subnet-a' }, keys.subnets, 'subnet-a,subnet-a'],
    [{ [keys.crossZone]: 'true' }, keys.crossZone, 'yes'],
    [{ [keys.sslCertificate]: 'arn:aws:acm:eu-west-1:1:certificate/a' }, keys.sslCertificate, 'arn:aws:acm-typo'],
    [{ [keys.sslCertificate]: 'arn:aws:acm:eu-west-1:1:certificate/a', [keys.sslPorts]: '80' }, keys.sslPorts, '81'],
    [
      { [keys.sslCertificate]: 'arn:aws:acm:eu-west-1:1:certificate/a', [keys.backendProtocol]: 'http' },
      keys.backendProtocol,
      'htttp',
    ],
    [{ [keys.scheme]: 'internal' }, keys.scheme, 'private'],
    [{}, keys.subnets, '\t'],
    [{ [keys.additionalTags]: 'a=b' }, keys.additionalTags, 'aws:a=b'],
    [{ [keys.healthProtocol]: 'TCP' }, keys.healthProtocol, 'TCPP'],
    [{ [keys.healthPort]: '8080' }, keys.healthPort, 'http'],
    [{ [keys.healthPath]: '/up' }, keys.healthPath, 'up'],
    [{ [keys.healthyThreshold]: '3' }, keys.healthyThreshold, 'three'],
    [{ [keys.unhealthyThreshold]: '3' }, keys.unhealthyThreshold, '11'],
    [{ [keys.healthTimeout]: '4' }, keys.healthTimeout, '4s'],
    [{ [keys.healthInterval]: '20' }, keys.healthInterval, '20s'],
    [{ [keys.accessLogEnabled]: 'true', [keys.accessLogBucket]: 'logs' }, keys.accessLogEnabled, 'on'],
    [{ [keys.accessLogEnabled]: 'true', [keys.accessLogBucket]: 'logs' }, keys.accessLogBucket, ''],
    [
      { [keys.accessLogEnabled]: 'true', [keys.accessLogBucket]: 'logs', [keys.accessLogEmitInterval]: '5' },
      keys.accessLogEmitInterval,
      '7',
    ],
    [{ [keys.proxyProtocol]: '*' }, keys.proxyProtocol, 'v2'],
    [{ [keys.drainingEnabled]: 'true', [keys.drainingTimeout]: '60' }, keys.drainingEnabled, 'on'],
    [{ [keys.drainingEnabled]: 'true', [keys.drainingTimeout]: '60' }, keys.drainingTimeout, '1m'],
    [{ [keys.idleTimeout]: '300' }, keys.idleTimeout, '5m'],
  ];
  for (const [good, key, bad] of typos) {
    it(`refuses an invalid value of ${key}, and sends nothing`, async () => {
      for (const healthProbe of [undefined, { mode: 'ServiceNodePort' } as const]) {
        const { ensure } = machine({ config: { ...plainConfig, healthProbe } });
        await ensure(desired({ annotations: good }));
        const { sent, refusals } = await ensure(desired({ annotations: { ...good, [key]: bad } }));
        assert.equal(refusals.length, 1);
        assert.deepEqual(sent, []);
      }
    });
  }
});
