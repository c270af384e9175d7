import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { CloudConfigError } from '../cloud.ts';
import { parseGcfg } from '../gcfg.ts';
import { type OpenStackConfig, readConfig } from './config.ts';
import { loadBalancerConfigOf } from './load-balancer-config.ts';

const uuid = (n: number) => `00000000-0000-4000-8000-00000000000${n}`;
const read = (text: string) => loadBalancerConfigOf(parseGcfg(text, 'cloud.conf'));

describe('the configuration of load balancers', () => {
  it("takes upstream's defaults where nothing is said", () => {
    assert.deepEqual(read(''), {
      config: {
        enabled: true,
        provider: 'amphora',
        method: 'ROUND_ROBIN',
        placement: {},
        classes: new Map(),
        internal: false,
        monitor: { create: false, delaySeconds: 5, timeoutSeconds: 3, maxRetries: 1, maxRetriesDown: 3 },
        manageSecurityGroups: false,
        nodeSelector: [],
        cascadeDelete: true,
        flavorId: undefined,
        availabilityZone: undefined,
        ingressHostnameSuffix: undefined,
        maxShared: 2,
        defaultTlsContainerRef: undefined,
        barbican: true,
        serialCalls: false,
      },
      warnings: [],
    });
  });

  it('takes every key', () => {
    const { config, warnings } = read(`[LoadBalancer]
enabled = false
lb-version = v2
lb-provider = octavia
lb-method = LEAST_CONNECTIONS
subnet-id = ${uuid(1)}
network-id = ${uuid(2)}
member-subnet-id = ${uuid(3)}
floating-network-id = ${uuid(4)}
floating-subnet-id = ${uuid(5)}
floating-subnet = "~public-.*"
floating-subnet-tags = "&a,b"
internal-lb = true
create-monitor = yes
monitor-delay = 1m
monitor-timeout = 2500ms
monitor-max-retries = 2
monitor-max-retries-down = 10
manage-security-groups = on
node-selector = role=ingress, gpu, zone=
cascade-delete = false
flavor-id = ${uuid(6)}
availability-zone = az1
enable-ingress-hostname = true
ingress-hostname-suffix = example.net
max-shared-lb = 4
default-tls-container-ref = https://barbican/v1/containers/c1
container-store = external
provider-requires-serial-api-calls = 1
`);
    assert.deepEqual(warnings, []);
    assert.deepEqual(config, {
      enabled: false,
      provider: 'octavia',
      method: 'LEAST_CONNECTIONS',
      placement: {
        floatingNetworkId: uuid(4),
        floatingSubnetId: uuid(5),
        floatingSubnet: '~public-.*',
        floatingSubnetTags: '&a,b',
        networkId: uuid(2),
        subnetId: uuid(1),
        memberSubnetId: uuid(3),
      },
      classes: new Map(),
      internal: true,
      monitor: { create: true, delaySeconds: 60, timeoutSeconds: 2, maxRetries: 2, maxRetriesDown: 10 },
      manageSecurityGroups: true,
      nodeSelector: [
        { key: 'role', value: 'ingress' },
        { key: 'gpu', value: undefined },
        { key: 'zone', value: undefined },
      ],
      cascadeDelete: false,
      flavorId: uuid(6),
      availabilityZone: 'az1',
      ingressHostnameSuffix: 'example.net',
      maxShared: 4,
      defaultTlsContainerRef: 'https://barbican/v1/containers/c1',
      barbican: false,
      serialCalls: true,
    });
  });

  it('reads classes by name', () => {
    const { config } = read(`[LoadBalancerClass "internet"]
floating-network-id = ${uuid(7)}
[loadbalancerclass "inside"]
subnet-id = ${uuid(8)}
network-id = ${uuid(9)}
member-subnet-id = ${uuid(0)}
`);
    assert.deepEqual(
      [...config.classes],
      [
        ['internet', { floatingNetworkId: uuid(7) }],
        ['inside', { networkId: uuid(9), subnetId: uuid(8), memberSubnetId: uuid(0) }],
      ],
    );
  });

  it('knows the only method of ovn', () => {
    assert.equal(read('[LoadBalancer]\nlb-provider=ovn\n').config.method, 'SOURCE_IP_PORT');
  });

  it('warns of a provider it does not know, and goes on', () => {
    assert.deepEqual(read('[LoadBalancer]\nlb-provider=acme\n').warnings, [
      '[LoadBalancer] lb-provider: "acme" is none of amphora, octavia, amphorav2, ovn, f5',
    ]);
  });

  it('warns of a store of containers it does not know, and takes its references as they are', () => {
    const { config, warnings } = read('[LoadBalancer]\ncontainer-store=vault\n');
    assert.deepEqual(warnings, ['[LoadBalancer] container-store: "vault" is none of barbican, external']);
    assert.equal(config.barbican, false);
  });

  const bad: [string, RegExp][] = [
    ['lb-version = v1', /cloud\.conf line 2: \[LoadBalancer\] lb-version: "v1", expected v2/],
    ['lb-method = round_robin', /lb-method: "round_robin", expected one of ROUND_ROBIN, LEAST_CONNECTIONS/],
    [
      'lb-provider = ovn\nlb-method = ROUND_ROBIN',
      /lb-method: "ROUND_ROBIN", expected SOURCE_IP_PORT with lb-provider ovn/,
    ],
    ['monitor-delay = 5', /monitor-delay: "5", expected a duration such as 5s/],
    ['monitor-timeout = 200ms', /monitor-timeout: "200ms", expected at least 1s/],
    ['monitor-max-retries = 11', /monitor-max-retries: "11", expected a whole number from 1 to 10/],
    ['max-shared-lb = 0', /max-shared-lb: "0", expected a whole number from 1 to 1000/],
    ['max-shared-lb = two', /max-shared-lb: "two", expected a whole number/],
    ['enabled = maybe', /enabled: "maybe", expected true or false/],
    ...['subnet-id', 'network-id', 'member-subnet-id', 'floating-network-id', 'floating-subnet-id', 'flavor-id'].map(
      (key): [string, RegExp] => [
        `${key} = public`,
        new RegExp(`${key}: "public", expected a UUID such as [0-9a-f-]{36}$`),
      ],
    ),
    ['node-selector = =x', /node-selector: "=x", expected labels such as role=ingress,gpu/],
  ];
  for (const [lines, message] of bad) {
    it(`refuses ${lines.replace('\n', ', ')}`, () => {
      assert.throws(
        () => read(`[LoadBalancer]\n${lines}\n`),
        (error) => error instanceof CloudConfigError && message.test(error.message),
      );
    });
  }

  it('refuses an id that is none in a class, and as the router', async () => {
    assert.throws(
      () => read('[LoadBalancerClass "a"]\nsubnet-id = public\n'),
      /cloud\.conf line 2: \[LoadBalancerClass "a"\] subnet-id: "public", expected a UUID/,
    );
    const text = '[Global]\nauth-url=https://k\nuser-id=u\npassword=pw\ntenant-id=p\n[Route]\nrouter-id = main\n';
    await assert.rejects(
      readConfig({ path: 'cloud.conf', text }, {}, async () => undefined),
      /cloud\.conf line 7: \[Route\] router-id: "main", expected a UUID/,
    );
  });

  it('refuses a class without a name', () => {
    assert.throws(
      () => read('[LoadBalancerClass]\nsubnet-id=x\n'),
      /expected a name, as in \[LoadBalancerClass "internal"\]/,
    );
  });
});

describe('the whole cloud.conf', () => {
  const config = async (text: string, files: Readonly<Record<string, string>> = {}): Promise<OpenStackConfig> => {
    const found = await readConfig({ path: 'cloud.conf', text }, {}, async (path) => files[path]);
    assert.ok(!('reportOnly' in found));
    return found;
  };
  const global = '[Global]\nauth-url=https://k:5000\nuser-id=u\npassword=pw\ntenant-id=p\n';

  it('names what it does not know in any section of ours, and leaves those of others alone', async () => {
    const { warnings, routerId } = await config(`${global}[Route]
router-id = ${uuid(1)}
router = r2
[LoadBalancer]
lb-provder = ovn
[LoadBalancerClass "x"]
vip = 1
[BlockStorage]
bs-version = v3
[Nonsense]
a = b
`);
    assert.equal(routerId, uuid(1));
    assert.deepEqual(warnings, [
      'unknown in the cloud config: [route] router, [loadbalancer] lb-provder, [loadbalancerclass] vip, [nonsense]',
    ]);
  });

  it('reads the example without a warning, its commented lines included', async () => {
    const path = join(import.meta.dirname, '../../../deploy/examples/openstack/cloud.conf');
    const text = await readFile(path, 'utf8');
    const certificates = { '/etc/cloud-config/ca.pem': '' };
    const { warnings, credential, loadBalancer } = await config(text, certificates);
    assert.deepEqual([warnings, credential.method, loadBalancer.monitor.create], [[], 'application_credential', true]);
    // What is commented out is good, too.
    const whole = await config(text.replaceAll(/^# ([\w-]+ = )/gm, '$1'), certificates);
    assert.deepEqual([whole.warnings, whole.routerId?.length], [[], 36]);
  });

  it('refuses a search order that it does not know', async () => {
    await assert.rejects(
      config(`${global}[Metadata]\nsearch-order = floppy\n`),
      /search-order: "floppy", expected configDrive, metadataService/,
    );
    await config(`${global}[Metadata]\nsearch-order = configDrive,metadataService\n`);
  });

  it('tells every file it was put together from', async () => {
    const files = {
      '/c/clouds.yaml':
        'clouds:\n  lab:\n    profile: v\n    auth: {username: k, project_id: p, user_domain_name: D}\n    cacert: ' +
        '/ca.pem\n',
      '/c/clouds-public.yaml': 'public-clouds:\n  v:\n    auth: {auth_url: "https://v"}\n',
      '/c/secure.yaml': 'clouds:\n  lab:\n    auth: {password: x}\n',
      '/ca.pem': '',
      '/c.pem': '',
      '/k.pem': '',
    };
    const { files: read } = await config(
      '[Global]\nuse-clouds=true\nclouds-file=/c/clouds.yaml\ncert-file=/c.pem\nkey-file=/k.pem\n',
      files,
    );
    assert.deepEqual(read, [
      '/c/clouds.yaml',
      '/c/clouds-public.yaml',
      '/c/secure.yaml',
      '/ca.pem',
      '/c.pem',
      '/k.pem',
    ]);
    assert.deepEqual((await config(global)).files, []);
  });
});
