import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { desired } from '../../../../test/clouds/aws/fake/nlb-example.ts';
import { keys } from '../load-balancer-annotations.ts';
import { type NlbSettings, readNlbSettings } from './settings.ts';

const read = (annotations: Record<string, string>, managed = true): NlbSettings =>
  readNlbSettings(desired({ annotations }), { managed });

describe('annotations of a network load balancer', () => {
  it('reads no annotation as internet-facing, with instances as targets and nothing refused', () => {
    const settings = read({});
    assert.equal(settings.scheme, 'internet-facing');
    assert.equal(settings.targetType, 'instance');
    assert.deepEqual([settings.crossZone, settings.tls, settings.accessLog], [false, undefined, undefined]);
    assert.deepEqual([settings.refusals, settings.notes], [[], []]);
  });

  it('takes any value but false and the empty one for internal', () => {
    assert.equal(read({ [keys.internal]: 'true' }).scheme, 'internal');
    assert.equal(read({ [keys.internal]: '0.0.0.0/0' }).scheme, 'internal');
    assert.equal(read({ [keys.internal]: 'false' }).scheme, 'internet-facing');
    assert.equal(read({ [keys.internal]: '' }).scheme, 'internet-facing');
  });

  it('takes the scheme of the other controller of AWS, and refuses it where the two contradict each other', () => {
    assert.equal(read({ [keys.scheme]: 'internal' }).scheme, 'internal');
    assert.equal(read({ [keys.scheme]: 'internet-facing' }).scheme, 'internet-facing');
    for (const annotations of [
      { [keys.scheme]: 'internal', [keys.internal]: 'false' },
      { [keys.scheme]: 'internet-facing', [keys.internal]: 'true' },
      { [keys.scheme]: 'private' },
    ]) {
      const { refusals, unclear } = read(annotations);
      assert.ok(unclear.has(keys.scheme));
      assert.match(refusals[0]?.message ?? '', /aws-load-balancer-scheme: "/);
    }
  });

  it('tells in one line each what the classic controller passes over, and refuses nothing', () => {
    const settings = read(
      certificate({
        [keys.sslPorts]: '80,8443',
        [keys.backendProtocol]: 'http',
        [keys.securityGroups]: 'sg-1,sg-1',
        [keys.additionalTags]: 'Owner = team a, =x, , Cost=1=2',
      }),
    );
    assert.deepEqual([settings.refusals, settings.notes], [[], []]);
    assert.deepEqual(settings.remarks, [
      `${keys.securityGroups}: "sg-1,sg-1": a group that is named twice is used once`,
      `${keys.sslPorts}: "80,8443": the Service has no port 8443`,
      `${keys.backendProtocol}: "http": without effect on a network load balancer, where ssl or tcp is`,
      `${keys.additionalTags}: "Owner = team a, =x, , Cost=1=2": no key in "=x"`,
    ]);
    assert.deepEqual(settings.tags, { Owner: 'team a', Cost: '1=2' });
    assert.deepEqual(settings.securityGroups, ['sg-1']);
    assert.equal(settings.tls?.toMembers, false);
  });

  it('refuses an empty list of subnets, since none can be meant', () => {
    for (const empty of ['', '\t', ' , ']) {
      const { refusals, unclear } = read({ [keys.subnets]: empty });
      assert.ok(unclear.has(keys.subnets));
      assert.match(refusals[0]?.message ?? '', /expected subnet ids or Name tags, or no annotation/);
    }
  });

  it('ends TLS on all ports, or on those that are named by number or name', () => {
    const arn = 'arn:aws:acm:eu-west-1:123456789012:certificate/1';
    assert.deepEqual(read({ [keys.sslCertificate]: arn }).tls, {
      certificate: arn,
      policy: undefined,
      ports: undefined,
      toMembers: false,
    });
    const { tls } = read({ [keys.sslCertificate]: arn, [keys.sslPorts]: '443, p80', [keys.backendProtocol]: 'SSL' });
    assert.equal(tls?.toMembers, true);
    assert.deepEqual(tls?.ports, new Set(['443', 'p80']));
  });

  it('reads additional tags with and without values', () => {
    assert.deepEqual(read({ [keys.additionalTags]: 'a=1, b=,c' }).tags, { a: '1', b: '', c: '' });
  });

  it('reads target group attributes', () => {
    const value = 'preserve_client_ip.enabled=false,proxy_protocol_v2.enabled=true';
    const { preserveClientIp, proxyProtocol } = read({ [keys.targetGroupAttributes]: value });
    assert.deepEqual([preserveClientIp, proxyProtocol], [false, true]);
  });

  const refused: readonly (readonly [string, Record<string, string>, RegExp])[] = [
    ['a flag that is none', { [keys.crossZone]: 'maybe' }, /expected true or false/],
    ['a threshold out of range', { [keys.healthyThreshold]: '1' }, /2 to 10/],
    ['an interval that is no number', { [keys.healthInterval]: '10s' }, /5 to 300/],
    ['a timeout above the interval', { [keys.healthTimeout]: '8', [keys.healthInterval]: '5' }, /the interval, 5/],
    ['a probe of another protocol', { [keys.healthProtocol]: 'UDP' }, /HTTP, HTTPS or TCP/],
    ['a probe on no port', { [keys.healthPort]: '70000' }, /1 to 65535/],
    ['a path that is none', { [keys.healthPath]: 'healthz' }, /a path/],
    ['a port that the Service has not', certificate({ [keys.sslPorts]: '8443' }), /80, p80/],
    ['a protocol to members that is none', certificate({ [keys.backendProtocol]: 'tls' }), /ssl or tcp/],
    ['no certificate', { [keys.sslCertificate]: 'my-cert' }, /ARN/],
    ['a tag of ours', { [keys.additionalTags]: 'kubernetes.io/service-name=x' }, /key=value/],
    ['an unknown attribute', { [keys.targetGroupAttributes]: 'stickiness.enabled=true' }, /proxy_protocol_v2/],
    ['another type of targets', { [keys.targetType]: 'pod' }, /instance or ip/],
    ['access logs to nowhere', { [keys.accessLogEnabled]: 'true' }, /s3-bucket-name/],
    ['extra groups', { [keys.extraSecurityGroups]: 'sg-1' }, /classic/],
    ['the same Elastic IP twice', { [keys.eipAllocations]: 'eipalloc-1,eipalloc-1' }, /different/],
    [
      'Elastic IPs of an internal one',
      { [keys.eipAllocations]: 'eipalloc-1', [keys.internal]: 'true' },
      /private-ipv4-addresses/,
    ],
    ['private addresses of a public one', { [keys.privateAddresses]: '10.0.0.5' }, /internal/],
    [
      'fewer Elastic IPs than subnets',
      { [keys.eipAllocations]: 'eipalloc-1', [keys.subnets]: 'subnet-1,subnet-2' },
      /as many as the 2/,
    ],
  ];
  for (const [what, annotations, message] of refused) {
    it(`refuses ${what}, by name and value`, () => {
      const { refusals } = read(annotations);
      assert.equal(refusals.length, 1, JSON.stringify(refusals));
      assert.equal(refusals[0]!.reason, 'Unsupported');
      assert.match(refusals[0]!.message, message);
      assert.match(refusals[0]!.message, /service\.beta\.kubernetes\.io\//);
    });
  }

  it('takes security groups only where the cloud config has load balancers carry any', () => {
    assert.deepEqual(read({ [keys.securityGroups]: 'sg-1,sg-2' }).securityGroups, ['sg-1', 'sg-2']);
    assert.match(read({ [keys.securityGroups]: 'sg-1' }, false).refusals[0]!.message, /NLBSecurityGroupMode/);
  });

  it('notes what is of classic load balancers only, and refuses nothing', () => {
    const { refusals, notes } = read({ [keys.proxyProtocol]: '*', [keys.idleTimeout]: '60' });
    assert.deepEqual(refusals, []);
    assert.deepEqual(
      notes.map(({ message }) => message.split(':')[0]),
      [keys.proxyProtocol.split(':')[0], keys.idleTimeout.split(':')[0]],
    );
  });
});

function certificate(more: Record<string, string>): Record<string, string> {
  return { [keys.sslCertificate]: 'arn:aws:acm:eu-west-1:123456789012:certificate/1', ...more };
}
