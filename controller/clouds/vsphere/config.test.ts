import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { configRefusal } from '../testing/config-refusal.ts';
import { readConfig, type VSphereConfig } from './config.ts';

type Env = Record<string, string>;
type Folders = Record<string, Record<string, string>>;

async function read(text: string | undefined, env: Env = {}, folders: Folders = {}) {
  return readConfig(text === undefined ? undefined : { path: 'vsphere.conf', text }, env, {
    readFolder: async (path) => (folders[path] === undefined ? undefined : new Map(Object.entries(folders[path]))),
    readText: async (path) => (path === '/etc/ca.pem' ? 'the CA' : undefined),
  });
}

async function accepted(text: string | undefined, env?: Env, folders?: Folders): Promise<VSphereConfig> {
  const config = await read(text, env, folders);
  assert.ok('vcenters' in config, JSON.stringify(config));
  return config;
}

const refusal = (...args: Parameters<typeof read>) => configRefusal(read(...args));

const ini = `# the classic controller's
[Global]
user = "user"
password = "pass"
port = "443"
insecure-flag = "1"
datacenters = "us-west, us-east"
soap-roundtrip-count = 3
[VirtualCenter "10.0.0.1"]
[VirtualCenter "tenant"]
server = 10.0.0.2
port = 8443
user = other
password = 'another'
datacenters = eu
thumbprint = 44:5D:B8:E3:D7:CF:0E:55:77:0F:83:9B:3D:DA:96:C1:F8:40:B2:73
ca-file = /etc/ca.pem
ip-family = ipv6,ipv4
[Labels]
zone = k8s-zone
region = k8s-region
[Nodes]
internal-network-subnet-cidr = "192.0.3.0/24, fd00::/64"
external-vm-network-name = "External/Outbound Traffic"
exclude-internal-network-subnet-cidr = 192.0.3.9/32
`;
const yaml = `global:
  user: user
  password: pass
  port: 443
  insecureFlag: true
  datacenters: [us-west, us-east]
  soapRoundtripCount: 3
  secretName: ""
vcenter:
  10.0.0.1:
    server: 10.0.0.1
    tenantref: ""
  tenant:
    server: 10.0.0.2
    port: 8443
    user: other
    password: "'another'"
    datacenters:
      - eu
    thumbprint: 44:5D:B8:E3:D7:CF:0E:55:77:0F:83:9B:3D:DA:96:C1:F8:40:B2:73
    caFile: /etc/ca.pem
    ipFamily: [ipv6, ipv4]
labels:
  zone: k8s-zone
  region: k8s-region
nodes:
  internalNetworkSubnetCidr: 192.0.3.0/24, fd00::/64
  externalVmNetworkName: External/Outbound Traffic
  excludeInternalNetworkSubnetCidr: 192.0.3.9/32
`;

describe('the configuration of vSphere', () => {
  it('reads gcfg, with [Global] as the default of every vCenter', async () => {
    const { vcenters, categories, roles, files, warnings } = await accepted(ini);
    assert.deepEqual(vcenters, [
      {
        server: '10.0.0.1',
        port: 443,
        user: 'user',
        password: 'pass',
        datacenters: ['us-west', 'us-east'],
        families: ['ipv4'],
        ca: undefined,
        thumbprint: undefined,
        insecure: true,
      },
      {
        server: '10.0.0.2',
        port: 8443,
        user: 'other',
        password: "'another'",
        datacenters: ['eu'],
        families: ['ipv6', 'ipv4'],
        ca: 'the CA',
        thumbprint: '445DB8E3D7CF0E55770F839B3DDA96C1F840B273',
        insecure: true,
      },
    ]);
    assert.deepEqual(categories, { zone: 'k8s-zone', region: 'k8s-region' });
    assert.deepEqual(
      roles.map(({ type, subnets, excluded, network }) => [type, subnets.length, excluded.length, network]),
      [
        ['InternalIP', 2, 1, undefined],
        ['ExternalIP', 0, 0, 'External/Outbound Traffic'],
      ],
    );
    assert.deepEqual([files, warnings], [['/etc/ca.pem'], []]);
  });

  it('means the same in YAML', async () => {
    assert.deepEqual(await accepted(yaml), await accepted(ini));
  });

  it('reads the example without a warning', async () => {
    const text = await readFile(join(import.meta.dirname, '../../../deploy/examples/vsphere/vsphere.conf'), 'utf8');
    const files = { 'vcenter.example.com.username': 'u', 'vcenter.example.com.password': 'p' };
    const { vcenters, categories, warnings } = await accepted(text, {}, { '/etc/cloud/secrets': files });
    assert.deepEqual([vcenters[0]?.server, vcenters[0]?.datacenters], ['vcenter.example.com', ['DC1']]);
    assert.deepEqual([vcenters.length, categories, warnings], [1, { zone: 'k8s-zone', region: 'k8s-region' }, []]);
  });

  it('reads a vCenter once that both [Global] and a section with another name give', async () => {
    const text = '[Global]\nserver = VC.example.com\nuser = u\npassword = p\n';
    for (const section of [
      '[VirtualCenter "tenant"]\nserver = vc.example.com\n',
      '[VirtualCenter "vc.example.com"]\n',
    ]) {
      const { vcenters } = await accepted(`${text}${section}datacenters = DC1\n`);
      assert.deepEqual(
        vcenters.map(({ server, datacenters }) => [server, datacenters]),
        [['vc.example.com', ['DC1']]],
      );
    }
  });

  it('refuses two sections of one vCenter by name', async () => {
    const sections = '[VirtualCenter "a"]\nserver = vc\n[VirtualCenter "VC"]\n';
    await assert.rejects(accepted(`[Global]\nuser = u\npassword = p\n${sections}`), /server: vc is in two sections/);
  });

  it('takes two vCenters on one host at different ports', async () => {
    const sections = '[VirtualCenter "a"]\nserver = vc\nport = 8443\n[VirtualCenter "b"]\nserver = vc\nport = 9443\n';
    const { vcenters } = await accepted(`[Global]\nuser = u\npassword = p\n${sections}`);
    assert.deepEqual(
      vcenters.map(({ server, port }) => [server, port]),
      [
        ['vc', 8443],
        ['vc', 9443],
      ],
    );
  });

  it('takes the one vCenter of [Global], and the environment before the file', async () => {
    const text = '[Global]\nserver = vc\nuser = u\npassword = p\n';
    const env = {
      VSPHERE_VCENTER: 'fd00::5',
      VSPHERE_PASSWORD: 'q',
      VSPHERE_DATACENTER: 'a,b',
      VSPHERE_INSECURE: 'true',
    };
    const [vcenter] = (await accepted(text, env)).vcenters;
    assert.deepEqual(
      [vcenter?.server, vcenter?.user, vcenter?.password, vcenter?.datacenters, vcenter?.insecure],
      ['fd00::5', 'u', 'q', ['a', 'b'], true],
    );
    const alone = { ...env, VSPHERE_USER: 'u', VSPHERE_LABEL_ZONE: 'z', VSPHERE_LABEL_REGION: 'r' };
    const config = await accepted(undefined, alone);
    assert.deepEqual([config.vcenters.length, config.categories], [1, { zone: 'z', region: 'r' }]);
  });

  it('takes credentials from the files of a Secret, in both forms, before those of the configuration', async () => {
    const text =
      '[Global]\nsecret-name = s\nsecret-namespace = kube-system\nuser = u\npassword = p\n' +
      ['vc1', 'fd00::5', 'vc3'].map((server) => `[VirtualCenter "${server}"]\n`).join('');
    const files = {
      'vc1.username': 'one\n',
      'vc1.password': 'first\n',
      note: '',
      server_a: 'fd00::5',
      username_a: 'two',
      password_a: 'second',
    };
    const config = await accepted(text, {}, { '/etc/cloud/secrets': files });
    assert.deepEqual(
      config.vcenters.map(({ user, password }) => [user, password]),
      [
        ['one', 'first'],
        ['two', 'second'],
        ['u', 'p'],
      ],
    );
    assert.ok(config.files.includes('/etc/cloud/secrets/vc1.password'));
    assert.equal(config.files.length, 5);
    const moved = text.replace('[Global]', '[Global]\nsecrets-directory = /s');
    const [first] = (await accepted(moved, {}, { '/s': files })).vcenters;
    assert.equal(first?.user, 'one');
  });

  it('keeps a password of digits as it is written', async () => {
    const config = await accepted('vcenter:\n  vc:\n    user: 0\n    password: 0123\n');
    assert.deepEqual([config.vcenters[0]?.user, config.vcenters[0]?.password], ['0', '0123']);
  });

  it('opens report-only without a vCenter', async () => {
    assert.match(JSON.stringify(await read(undefined)), /no vCenter: tried --cloud-config and VSPHERE_VCENTER/);
    assert.match(JSON.stringify(await read('')), /no vCenter: tried vsphere.conf/);
  });

  it('names what it leaves to others, and a category without its other', async () => {
    const { warnings } = await accepted(
      `${ini.replace('region = k8s-region\n', '')}[LoadBalancer]\nsize = SMALL\n[Route]\nrouter-path = /p\n`,
    );
    assert.match(warnings.join(), /\[loadbalancer\], \[route\]/);
    assert.match(warnings.join(), /no zones without both/);
    const { warnings: ofYaml } = await accepted(
      `${yaml}loadBalancer:\n  size: SMALL\n  tags: {tag1: x}\nloadBalancerClass:\n  a: {ipPoolName: x}\n`,
    );
    assert.match(ofYaml.join(), /\[loadbalancer\], \[loadbalancerclass\]/);
  });

  it('refuses a bad value with section, key, value and what was expected, and never shows a password', async () => {
    const vc = '[VirtualCenter "vc"]\nuser = u\npassword = hunter2\n';
    for (const [text, expected] of [
      [`${vc}port = x\n`, /vsphere.conf line 4: \[virtualcenter "vc"\] port: "x", expected a whole number up to 65535/],
      [`${vc}ip-family = ipv5\n`, /ip-family: "ipv5", expected ipv4 or ipv6/],
      [`${vc}thumbprint = abc\n`, /thumbprint: "abc", expected a SHA-1 or SHA-256/],
      [`${vc}insecure-flag = maybe\n`, /insecure-flag: "maybe", expected true or false/],
      [
        `${vc}[Nodes]\ninternal-network-subnet-cidr = 10.0.0.0\n`,
        /\[nodes\] internal-network-subnet-cidr: "10.0.0.0", expected a CIDR/,
      ],
      [
        '[VirtualCenter "vc"]\nuser = u\n',
        /\[virtualcenter "vc"\] user: no credential for vc; expected user and password/,
      ],
      [
        '[Global]\nserver = vc\nsecret-name = creds\n',
        /no credential for vc; .* secrets-directory .*: Mooring reads no Secret through the API/,
      ],
      [`${vc}ca-file = /none\n`, /ca-file: "\/none": no such file/],
      ['[Global]\nserver = vc\nsecrets-directory = /nowhere\n', /secrets-directory: "\/nowhere": no such folder/],
      ['global: [hunter2]\n', /global: expected keys and values/],
      ['global:\n  password: {a: hunter2}\n', /global.password: expected a text or a list/],
      ['global:\n  password: "hunter2\n', /vsphere.conf line \d: it is no YAML/],
    ] as const) {
      const message = await refusal(text);
      assert.match(message, expected);
      assert.doesNotMatch(message, /hunter2/);
    }
    const shared = { 'vc.vc-session-manager-url': 'https://x' };
    assert.match(
      await refusal(vc, {}, { '/etc/cloud/secrets': shared }),
      /sessions of a session manager are not supported/,
    );
  });
});
