import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { ensure, managed, summaries } from '../../../../test/clouds/aws/fake/nlb/driven.ts';
import { desired, member, port } from '../../../../test/clouds/aws/fake/nlb/example.ts';
import { createRecordingCalls } from '../../../../test/clouds/aws/fake/nlb/recording-calls.ts';
import { keys } from '../load-balancer-annotations.ts';
import { planNlb } from './plan.ts';

describe('a value that cannot be read changes nothing that stands', () => {
  const good = {
    ...{ [keys.sslCertificate]: 'arn:aws:acm:eu-west-1:123456789012:certificate/1', [keys.sslPorts]: '443' },
    ...{
      [keys.backendProtocol]: 'ssl',
      [keys.targetType]: 'ip',
      [keys.healthPort]: '9000',
      [keys.healthInterval]: '20',
    },
    ...{
      [keys.healthProtocol]: 'HTTPS',
      [keys.healthyThreshold]: '4',
      [keys.crossZone]: 'true',
      [keys.healthPath]: '/ok',
    },
    ...{ [keys.targetGroupAttributes]: 'proxy_protocol_v2.enabled=true', [keys.additionalTags]: 'a=b' },
    ...{ [keys.subnets]: 'subnet-a,subnet-b', [keys.eipAllocations]: 'eipalloc-1,eipalloc-2' },
    ...{ [keys.accessLogEnabled]: 'true', [keys.accessLogBucket]: 'logs', [keys.securityGroups]: 'sg-allowed' },
    ...{ [keys.unhealthyThreshold]: '4', [keys.healthTimeout]: '8', [keys.scheme]: 'internet-facing' },
  };
  const bad: Readonly<Record<string, string>> = {
    ...{
      [keys.sslCertificate]: 'arn:aws:acm:x, arn:aws:acm:y',
      [keys.sslPorts]: '8443',
      [keys.backendProtocol]: 'tls',
    },
    ...{
      [keys.targetType]: 'IP',
      [keys.healthPort]: 'http',
      [keys.healthInterval]: '20s',
      [keys.healthProtocol]: 'x',
    },
    ...{
      [keys.healthyThreshold]: '99',
      [keys.crossZone]: 'on',
      [keys.healthPath]: 'ok',
      [keys.additionalTags]: 'aws:a=b',
    },
    ...{ [keys.targetGroupAttributes]: 'proxy', [keys.subnets]: 'subnet-a,subnet-a', [keys.eipAllocations]: 'eip-1' },
    ...{ [keys.accessLogEnabled]: 'on', [keys.accessLogBucket]: '', [keys.securityGroups]: 'sg-allowed,sg_2' },
    ...{ [keys.unhealthyThreshold]: '0', [keys.healthTimeout]: '1', [keys.scheme]: 'private' },
  };
  for (const key of Object.keys(good)) {
    it(key, async () => {
      const calls = createRecordingCalls();
      const ports = [port(80, 30080), port(443, 30443)];
      const first = await ensure(calls, desired({ ports, annotations: good }));
      assert.deepEqual(first.refusals, []);
      const typo = desired({ ports, annotations: { ...good, [key]: bad[key]! }, mayChangeAddress: true });
      const plan = planNlb(typo, calls.later(first.observed), managed);
      assert.ok(plan.refusals.length > 0);
      assert.deepEqual(
        plan.steps.map(({ summary }) => summary),
        [],
      );
      const members = [member(1), member(3)];
      const after = await ensure(calls, { ...typo, members }, calls.later(first.observed));
      assert.equal(after.observed?.members.length, 2);
      assert.deepEqual([...new Set(summaries(after))], ['update targets']);
    });
  }
});
