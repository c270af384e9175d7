import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { CloudConfigError } from '../cloud.ts';
import { parseAwsConfig, regionOfZone } from './config.ts';

const parse = (text: string) => parseAwsConfig({ path: 'aws.conf', text });

describe('parseAwsConfig', () => {
  it('returns the defaults without a file', () => {
    assert.deepEqual(parseAwsConfig(undefined), {
      vpc: undefined,
      subnetId: undefined,
      routeTableId: undefined,
      clusterId: undefined,
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

  it('reads what concerns routes and load balancers', () => {
    const {
      region: _,
      unknown,
      ...config
    } = parse(`[Global]
Region = eu-west-1
VPC = vpc-1
SubnetID = subnet-1
RouteTableID = rtb-1
KubernetesClusterID = one
DisableSecurityGroupIngress = true
ElbSecurityGroup = sg-1
NLBSecurityGroupMode = Managed
ClusterServiceLoadBalancerHealthProbeMode = Shared
ClusterServiceSharedLoadBalancerHealthProbePort = 10257
SupportedTopologyInstanceTypePattern = ^m5
`);
    assert.deepEqual(config, {
      vpc: 'vpc-1',
      subnetId: 'subnet-1',
      routeTableId: 'rtb-1',
      clusterId: 'one',
      legacyClusterTag: false,
      disableSecurityGroupIngress: true,
      elbSecurityGroup: 'sg-1',
      managedNlbSecurityGroups: true,
      healthProbe: { mode: 'Shared', port: 10257, path: '/healthz' },
      topologyTypes: /^m5/,
      roleArn: undefined,
      sourceArn: undefined,
      nodeIpFamilies: ['ipv4'],
      serviceOverrides: [],
    });
    assert.deepEqual(unknown, []);
  });

  for (const [name, services] of [
    ['EC2', ['EC2']],
    ['ec2', ['EC2']],
    ['Elastic Load Balancing', ['Elastic Load Balancing']],
    ['elastic load balancing v2', ['Elastic Load Balancing v2']],
    ['elasticloadbalancing', ['Elastic Load Balancing', 'Elastic Load Balancing v2']],
    ['sts', ['STS']],
    ['KMS', []],
  ] as const)
    it(`overrides the endpoint of ${services.join(' and ') || 'nothing that is called'} by the name ${name}`, () => {
      const text = `[ServiceOverride "1"]\nService=${name}\nRegion=r\nURL=http://a\nSigningRegion=r\n`;
      assert.deepEqual(
        parse(text).serviceOverrides.map(({ service }) => service),
        services,
      );
    });

  for (const [pattern, expected] of [
    ['(?i)^P5', /^P5/i],
    ['(?is)^(?P<family>p|trn)', /^(?<family>p|trn)/is],
  ] as const)
    it(`reads the pattern ${pattern} as Go does`, () => {
      const { topologyTypes } = parse(`[Global]\nSupportedTopologyInstanceTypePattern = ${pattern}\n`);
      assert.deepEqual(topologyTypes, expected);
    });

  it('takes the legacy cluster tag for the id, and remembers that it is one', () => {
    const legacy = parse('[Global]\nKubernetesClusterTag = one\n');
    assert.deepEqual([legacy.clusterId, legacy.legacyClusterTag], ['one', true]);
    const both = parse('[Global]\nKubernetesClusterTag = one\nKubernetesClusterID = one\n');
    assert.deepEqual([both.clusterId, both.legacyClusterTag], ['one', true]);
  });

  it('tells a health probe of the Service from none', () => {
    const mode = 'ClusterServiceLoadBalancerHealthProbeMode = ServiceNodePort';
    assert.deepEqual(parse(`[Global]\n${mode}\n`).healthProbe, { mode: 'ServiceNodePort' });
    assert.equal(parse('[Global]\n').healthProbe, undefined);
  });

  it('tolerates unknown keys, and names them', () => {
    assert.deepEqual(parse('[Global]\n  Regoin=x\n[Other]\na = b\n').unknown, ['[Global] Regoin', '[other]']);
  });

  const override = (lines: string) => `[ServiceOverride "1"]\nService=EC2\nRegion=eu-west-1\n${lines}`;
  const probe = (mode: string, ...more: readonly string[]) =>
    [
      '[Global]',
      `ClusterServiceLoadBalancerHealthProbe${mode}`,
      ...more.map((line) => `ClusterServiceSharedLoadBalancerHealthProbe${line}`),
    ].join('\n');
  const bad: [string, string, RegExp][] = [
    ['a zone without a region', '[Global]\nZone = nova', /aws.conf line 2: \[Global\] Zone: "nova"/],
    [
      'another address family',
      '[Global]\nNodeIPFamilies = ipv5',
      /\[Global\] NodeIPFamilies: "ipv5", expected ipv4 or ipv6/,
    ],
    ['a role that is none', '[Global]\nRoleARN = admin', /RoleARN: "admin", expected arn:/],
    [
      'SourceARN alone',
      '[Global]\nSourceARN = arn:aws:x',
      /SourceARN: "arn:aws:x" has no meaning alone, expected RoleARN/,
    ],
    [
      'two names of the cluster',
      '[Global]\nKubernetesClusterTag = one\nKubernetesClusterID = two',
      /KubernetesClusterTag: "one", expected KubernetesClusterID two/,
    ],
    [
      'a switch that is none',
      '[Global]\ndisableSecurityGroupIngress = maybe',
      /DisableSecurityGroupIngress: "maybe", expected/,
    ],
    ['a key without a value', '[Global]\nVPC', /\[Global\] VPC: expected a value/],
    ['a VPC that is none', '[Global]\nVPC = my-vpc', /VPC: "my-vpc", expected vpc-<id>/],
    ['a table that is none', '[Global]\nRouteTableID = vpc-1', /RouteTableID: "vpc-1", expected rtb-<id>/],
    ['a mode of security groups', '[Global]\nNLBSecurityGroupMode = Auto', /"Auto", expected Managed, or nothing/],
    ['a mode of health probes', probe('Mode = Own'), /HealthProbeMode: "Own", expected Shared or ServiceNodePort/],
    [
      'a port of health probes',
      probe('Mode = Shared', 'Port = 70000'),
      /SharedLoadBalancerHealthProbePort: "70000", expected a port/,
    ],
    [
      'a path of health probes',
      probe('Mode = Shared', 'Path = healthz'),
      /SharedLoadBalancerHealthProbePath: "healthz", expected a path/,
    ],
    [
      'a pattern that is none',
      '[Global]\nSupportedTopologyInstanceTypePattern = (',
      /SupportedTopologyInstanceTypePattern: "\(", expected a regular expression/,
    ],
    [
      'an override of a service that is none',
      override('URL=http://a\nSigningRegion=r').replace(/Service ?= ?EC2/, 'Service=EC3'),
      /Service: "EC3", expected EC2, Elastic Load Balancing/,
    ],
    ['an override without URL', override('SigningRegion=eu-west-1'), /\[ServiceOverride "1"\] URL: is missing/],
    [
      'an override with a bad URL',
      override('SigningRegion=r\nURL=ec2.example'),
      /URL: "ec2.example", expected an http/,
    ],
    [
      'two overrides for one service and region',
      `${override('SigningRegion=r\nURL=http://a\n')}` +
        `${override('SigningRegion=r\nURL=http://b').replace('"1"', '"2"')}`,
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
  it('cuts the letters behind the number', () => {
    assert.equal(regionOfZone('us-west-2a'), 'us-west-2');
    assert.equal(regionOfZone('us-west-2-lax-1a'), 'us-west-2');
    assert.equal(regionOfZone('us-gov-west-1b'), 'us-gov-west-1');
    assert.equal(regionOfZone('nova'), undefined);
  });
});

describe('the example', () => {
  it('reads every key of the example cloud config', async () => {
    const path = join(import.meta.dirname, '../../../deploy/examples/aws/aws.conf');
    const config = parse(await readFile(path, 'utf8'));
    assert.deepEqual([config.clusterId, config.managedNlbSecurityGroups, config.unknown], ['my-cluster', true, []]);
  });
});
