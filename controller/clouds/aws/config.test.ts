import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { CloudConfigError } from '../cloud.ts';
import { parseAwsConfig, regionOfZone } from './config.ts';

const parse = (text: string) => parseAwsConfig({ path: 'aws.conf', text });

describe('parseAwsConfig', () => {
  it('has defaults without a file', () => {
    assert.deepEqual(parseAwsConfig(undefined), {
      vpc: undefined,
      subnetId: undefined,
      routeTableId: undefined,
      clusterId: undefined,
      allowUntagged: false,
      legacyClusterTag: false,
      disableSecurityGroupIngress: false,
      elbSecurityGroup: undefined,
      managedNlbSecurityGroups: false,
      healthProbe: undefined,
      topologyTypes: /^(hpc|trn|p)[0-9]+[a-z]*(-[a-z0-9]+)?(\.[0-9a-z]*)$/,
      region: undefined,
      roleArn: undefined,
      sourceArn: undefined,
      nodeIpFamilies: ['ipv4'],
      serviceOverrides: [],
      unknown: [],
    });
  });

  it('reads what concerns nodes, Zone before Region', () => {
    const config = parse(`[Global]
Zone = eu-west-1b
Region = us-east-1
VPC = vpc-1
RoleARN = arn:aws:iam::123456789012:role/ccm
SourceARN = arn:aws:eks:eu-west-1:123456789012:cluster/one
NodeIPFamilies = ipv6
NodeIPFamilies = ipv4
[ServiceOverride "1"]
Service = EC2
Region = eu-west-1
URL = https://ec2.example
SigningRegion = eu-west-1
`);
    assert.deepEqual(config.region, { name: 'eu-west-1', from: 'Zone of the cloud config' });
    assert.equal(config.roleArn, 'arn:aws:iam::123456789012:role/ccm');
    assert.deepEqual(config.nodeIpFamilies, ['ipv6', 'ipv4']);
    assert.equal(config.serviceOverrides[0]?.url, 'https://ec2.example');
    assert.deepEqual(config.unknown, []);
  });

  it('tolerates what it does not know, and names it', () => {
    assert.deepEqual(parse('[Global]\nRegoin = x\n[Other]\na = b\n').unknown, ['[global] regoin', '[other]']);
  });

  const override = (lines: string) => `[ServiceOverride "1"]\nService=EC2\nRegion=eu-west-1\n${lines}`;
  const bad: [string, string, RegExp][] = [
    ['a zone without a region', '[Global]\nZone = nova', /aws.conf line 2: \[Global\] zone: "nova"/],
    ['another address family', '[Global]\nNodeIPFamilies = ipv5', /nodeipfamilies: "ipv5", expected ipv4 or ipv6/],
    ['a role that is none', '[Global]\nRoleARN = admin', /rolearn: "admin", expected arn:/],
    ['SourceARN alone', '[Global]\nSourceARN = arn:aws:x', /sourcearn: has no meaning without RoleARN/],
    ['an override without URL', override('SigningRegion=eu-west-1'), /\[ServiceOverride "1"\] url: is missing/],
    [
      'an override with a bad URL',
      override('SigningRegion=r\nURL=ec2.example'),
      /url: "ec2.example", expected an http/,
    ],
    [
      'two overrides for one service and region',
      `${override('SigningRegion=r\nURL=http://a\n')}${override('SigningRegion=r\nURL=http://b').replace('"1"', '"2"')}`,
      /has two overrides for eu-west-1/,
    ],
  ];
  for (const [name, text, message] of bad) {
    it(`refuses ${name}`, () => {
      assert.throws(
        () => parse(text),
        (error) => error instanceof CloudConfigError && message.test(error.message),
      );
    });
  }
});

describe('regionOfZone', () => {
  it('cuts what follows the number', () => {
    assert.equal(regionOfZone('us-west-2a'), 'us-west-2');
    assert.equal(regionOfZone('us-west-2-lax-1a'), 'us-west-2');
    assert.equal(regionOfZone('us-gov-west-1b'), 'us-gov-west-1');
    assert.equal(regionOfZone('nova'), undefined);
  });
});
