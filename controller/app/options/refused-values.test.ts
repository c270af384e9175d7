import assert from 'node:assert/strict';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { parseFlags } from '../../../common/process/flags.ts';
import { testCa } from '../../../common/testing/certificates.ts';
import { runCommandFlags } from '../../commands/run-command.ts';
import { OptionError } from './options.ts';
import { readRunOptions } from './run-options.ts';

/** Why a command line of `run` is refused before anything is done; undefined when it is not. */
async function refusal(...argv: readonly string[]): Promise<string | undefined> {
  const flags = parseFlags(runCommandFlags, ['--cloud-provider=simulated', ...argv]);
  if (!flags.ok) return flags.message;
  try {
    await readRunOptions(flags.values);
    return undefined;
  } catch (error) {
    assert.ok(error instanceof OptionError, String(error));
    return error.message;
  }
}

describe('a flag of run', () => {
  for (const [argument, value, expected] of [
    ['--attachable-load-balancers=,,', '",,"', 'ids separated by commas'],
    ['--attachable-load-balancers=a,,b', '"a,,b"', 'ids separated by commas'],
    ['--attachable-load-balancers=a, b', '"a, b"', 'ids separated by commas'],
    ['--attachable-load-balancers=a=Shop', '"a=Shop"', 'ID=NAMESPACE or ID=NAMESPACE/NAME'],
    ['--reports-url=https://127.0.0.1:1/reports', '"https://127.0.0.1:1/reports"', '--dry-run beside it'],
    ['--allow-retain=', '""', 'the name of a namespace, class:NAME'],
    ['--allow-retain=shop/web', '"shop/web"', 'the name of a namespace, class:NAME'],
    ['--allow-keep-address=Shop', '"Shop"', 'the name of a namespace, class:NAME'],
    ['--retained-load-balancers-limit=-1', '"-1"', '0'],
    ['--allowed-security-groups=sg-1,,sg-2', '"sg-1,,sg-2"', 'ids sg-… separated by commas'],
    ['--allowed-security-groups=sg-1 sg-2', '"sg-1 sg-2"', 'ids sg-… separated by commas'],
    ['--allowed-security-groups=my-group', '"my-group"', 'ids sg-… separated by commas'],
    ['--load-balancer-class=', '""', 'a class such as'],
    ['--load-balancer-class=example.com/x y', '"example.com/x y"', 'a class such as'],
    ['--cluster-name=a\nb', '"a\\nb"', 'at most 255 printable characters'],
    [`--cluster-name=${'x'.repeat(256)}`, 'xxx', 'at most 255 printable characters'],
    ['--require-attestation=openstack', '"openstack"', 'one of all, aws, gce, azure, simulated'],
    ['--require-attestation=aws', '"aws"', 'one of all, simulated'],
    ['--attestation-trust=file', '"file"', 'NAME=FILE with NAME one of'],
    ['--attestation-trust=openstack=file', '"openstack=file"', 'NAME=FILE with NAME one of'],
    ['--attestation-trust=gce=/nonexistent', '"gce=/nonexistent"', 'a file that can be read'],
    ['--attestation-trust=gce=package.json', '"gce=package.json"', 'a JSON Web Key Set of RSA keys'],
    ['--attestation-trust=aws/eu-west-1=package.json', 'package.json', 'certificates in PEM'],
    ['--attestation-trust=azure=package.json', 'package.json', 'certificates in PEM'],
    ['--attestation-trust=simulated=package.json', 'package.json', 'an Ed25519 public key in PEM'],
    ['--member-drain-time=-5s', '"-5s"', 'at least 0s'],
    ['--node-monitor-period=1ns', '"1ns"', 'at least 100ms'],
    ['--node-status-update-frequency=1ns', '"1ns"', 'at least 1s'],
    ['--load-balancer-audit-period=1ns', '"1ns"', 'at least 1s'],
    ['--leader-elect-retry-period=1ns', '"1ns"', 'at least 100ms'],
    ['--report-advertise-address=host:80', '"host:80"', 'an IP address or a host name, without port'],
    ['--report-advertise-address=https://host', '"https://host"', 'an IP address or a host name'],
    ['--report-advertise-address=0.0.0.0', '"0.0.0.0"', 'an IP address or a host name'],
    ['--report-advertise-address=::', '"::"', 'an IP address or a host name'],
    ['--report-advertise-address=300.1.1.1', '"300.1.1.1"', 'an IP address or a host name'],
    ['--report-audience=', '""', 'an audience'],
    ['--bind-address=300.1.1.1', '"300.1.1.1"', 'an IP address'],
    ['--bind-address=', '""', 'an IP address'],
    ['--leader-elect-resource-name=', '""', 'a name of lower-case letters'],
    ['--leader-elect-resource-name=a/b', '"a/b"', 'a name of lower-case letters'],
    ['--leader-elect-resource-namespace=a/b', '"a/b"', 'a name of lower-case letters'],
    ['--node-deletion-budget=0/1m', '"0/1m"', 'more than 0'],
    ['--announced-deletion-budget=0/1m', '"0/1m"', 'more than 0'],
    ['--announced-deletion-budget=half', '"half"', 'such as 10%/10m'],
    ['--member-removal-budget=0%/1m', '"0%/1m"', 'more than 0'],
    ['--controllers=', '""', 'at least one loop'],
    ['--controllers=-service', '"-service"', 'at least one loop'],
    ['--tags=team', '"team"', 'KEY=VALUE'],
    ['--resources=volume', '"volume"', 'one of instance'],
    ['--tagging-controller-rate-limit=-1', '"-1"', 'at least 0'],
    ['--controllers=*,-pv-label', '"*,-pv-label"', 'in place of pv-label'],
    ['--service-cluster-ip-range=x', '"x"', 'one CIDR'],
    ['--cluster-cidr=10.0.0.0/0', '"10.0.0.0/0"', 'a mask of at least 1'],
    ['--node-selector=a in (b', '"a in (b"', 'key, !key'],
    ['--node-selector=simulated=,a', '",a"', 'key, !key'],
    ['--leader-elect-renew-deadline=20s', '"20s"', 'less than --leader-elect-lease-duration (15s)'],
    ['--leader-elect-retry-period=10s', '"10s"', 'less than --leader-elect-renew-deadline (10s)'],
    ['--leader-elect-lease-duration=15500ms', '"15.5s"', 'whole seconds'],
    ['--tls-cert-file=/a', '/a', '--tls-private-key-file'],
  ] as const) {
    it(`refuses ${argument.slice(0, 60)}, naming flag, value and what was expected`, async () => {
      const message = (await refusal(argument)) ?? 'accepted';
      assert.ok(message.startsWith(argument.slice(0, argument.indexOf('='))), message);
      assert.ok(message.includes(value), message);
      assert.ok(message.includes(expected), message);
      assert.equal(message.split('expected').length, 2, `said once: ${message}`);
    });
  }

  for (const argument of [
    '--attachable-load-balancers=',
    '--attachable-load-balancers=arn:aws:elasticloadbalancing:eu-west-1:1:loadbalancer/net/a/b,lb-2',
    '--attachable-load-balancers=lb-1=shop,lb-2=shop/web',
    '--allow-retain=*',
    '--allow-keep-address=',
    '--allow-keep-address=shop',
    '--allow-retain=class:example.com/internal',
    '--allowed-security-groups=',
    '--allowed-security-groups=sg-0123456789abcdef0,sg-1',
    '--load-balancer-class=example.com/internal',
    '--cluster-name=Zürich 1',
    '--cluster-name=',
    '--member-drain-time=0',
    '--report-advertise-address=2001:db8::1',
    '--report-advertise-address=node-1.example.com',
    '--bind-address=::',
    '--leader-elect-resource-name=a.b-c',
    '--controllers=nodeipam',
    '--service-cluster-ip-range=10.96.0.0/12',
    '--node-selector=simulated=site in (a,b)',
  ]) {
    it(`takes ${argument}`, async () => assert.equal(await refusal(argument), undefined));
  }

  it('refuses routes with CloudAllocator, whose ranges need none, unless routes are off', async () => {
    const ipam = ['--controllers=*,nodeipam', '--allocate-node-cidrs', '--cidr-allocator-type=CloudAllocator'];
    const network = [...ipam, '--cluster-cidr=10.4.0.0/14'];
    assert.match((await refusal(...network)) ?? '', /--configure-cloud-routes: true, expected false/);
    assert.equal(await refusal(...network, '--configure-cloud-routes=false'), undefined);
    assert.equal(await refusal(...network, '--controllers=-route'), undefined);
    assert.match((await refusal(...ipam, '--configure-cloud-routes=false')) ?? '', /--cluster-cidr/);
  });
});

describe('the files of a serving certificate', () => {
  let folder = '';
  const at = (name: string) => join(folder, name);

  before(async () => {
    folder = await mkdtemp(join(tmpdir(), 'mooring-options-'));
    const ca = await testCa();
    const [one, other] = await Promise.all([ca.issue(), ca.issue()]);
    await writeFile(at('one.crt'), one.certPem);
    await writeFile(at('one.key'), one.keyPem);
    await writeFile(at('other.key'), other.keyPem);
    await writeFile(at('text'), 'no PEM');
  });
  after(() => rm(folder, { recursive: true }));

  for (const [certFlag, keyFlag] of [
    ['--tls-cert-file', '--tls-private-key-file'],
    ['--report-tls-cert-file', '--report-tls-private-key-file'],
  ]) {
    it(`refuses files of ${certFlag} that are missing or do not match, with the names of both flags`, async () => {
      const told = (cert: string, key: string) => refusal(`${certFlag}=${at(cert)}`, `${keyFlag}=${at(key)}`);
      assert.equal(await told('one.crt', 'one.key'), undefined);
      for (const [cert, key, why] of [
        ['none.crt', 'one.key', 'ENOENT'],
        ['one.crt', '.', 'EISDIR'],
        ['text', 'one.key', 'a PEM certificate'],
        ['one.crt', 'other.key', 'not the key of'],
      ] as const) {
        const message = (await told(cert, key)) ?? 'accepted';
        for (const part of [certFlag ?? '', keyFlag ?? '', at(cert), at(key), 'expected', why])
          assert.ok(message.includes(part), message);
      }
    });
  }
});
