import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { gzipSync } from 'node:zlib';
import { escapeXml, parseXml } from '../../../common/xml.ts';
import { configuredAddresses } from './guest-metadata.ts';
import { rowsOf } from './soap.ts';
import { readVirtualMachine } from './virtual-machine.ts';

/** As vCenter 8 answers. */
function rowWith(properties: Record<string, string>) {
  const sets = Object.entries(properties).map(
    ([path, value]) => `<propSet><name>${escapeXml(path)}</name>${value}</propSet>`,
  );
  const page = parseXml(
    `<returnval xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance"><objects>
      <obj type="VirtualMachine">vm-7</obj>${sets.join('')}</objects></returnval>`,
  );
  return rowsOf(page)[0]!;
}
const uuid = '<val xsi:type="xsd:string">422E4956-ad22-1139-6d72-59cc8f26bc90</val>';
const rules = {
  families: ['ipv4'] as const,
  roles: [{ type: 'InternalIP', subnets: [], excluded: [], network: undefined } as const],
};
const whole = (more: Record<string, string> = {}) => ({
  'summary.config.uuid': uuid,
  'runtime.powerState': '<val>poweredOn</val>',
  'guest.hostName': '<val>n1</val>',
  'guest.net': `<val xsi:type="ArrayOfGuestNicInfo">
    <GuestNicInfo><network></network><ipAddress>10.244.0.1</ipAddress><deviceConfigId>-1</deviceConfigId></GuestNicInfo>
    <GuestNicInfo><network>VM Network</network><ipAddress>10.0.0.9</ipAddress><ipAddress>10.0.0.7</ipAddress>
      <deviceConfigId>4000</deviceConfigId></GuestNicInfo></val>`,
  ...more,
});

describe('a VM as vCenter describes it', () => {
  it('shows the uuid in lower case, and no addresses of interfaces that the guest made itself', () => {
    const vm = readVirtualMachine(rowWith(whole()), rules);
    assert.equal(vm?.uuid, '422e4956-ad22-1139-6d72-59cc8f26bc90');
    assert.deepEqual(vm.addresses, [
      { type: 'Hostname', address: 'n1' },
      { type: 'InternalIP', address: '10.0.0.9' },
    ]);
  });

  it('begins with the addresses of its guestinfo metadata', () => {
    const text = Buffer.from('network:\n  ethernets:\n    eth0:\n      addresses: [10.0.0.7/24]\n').toString('base64');
    const option = (key: string, value: string) =>
      `<val xsi:type="OptionValue"><key>${key}</key><value xsi:type="xsd:string">${value}</value></val>`;
    const vm = readVirtualMachine(
      rowWith(
        whole({
          'config.extraConfig["guestinfo.metadata"]': option('guestinfo.metadata', text),
          'config.extraConfig["guestinfo.metadata.encoding"]': option('guestinfo.metadata.encoding', 'base64'),
        }),
      ),
      rules,
    );
    assert.equal(vm?.addresses?.[1]?.address, '10.0.0.7');
  });

  it('returns undefined for a VM without a uuid or a power state', () => {
    for (const path of ['summary.config.uuid', 'runtime.powerState']) {
      const { [path]: _, ...rest } = whole() as Record<string, string>;
      assert.equal(readVirtualMachine(rowWith(rest), rules), undefined);
    }
  });

  it('shows the type that the classic controller writes', () => {
    const typeOf = (guestId: string) =>
      readVirtualMachine(
        rowWith(
          whole({
            'summary.config.numCpu': '<val>2</val>',
            'summary.config.memorySizeMB': '<val>4095</val>',
            'summary.config.guestId': `<val>${guestId}</val>`,
          }),
        ),
        rules,
      )?.type;
    // Pairs of its own table.
    for (const [guestId, os] of [
      ['ubuntu64Guest', 'ubuntu'],
      ['rhel7_64Guest', 'rhel7'],
      ['rhel9_64Guest', 'unknown'],
      ['centos64Guest', 'centos64'],
      ['centos7_64Guest', 'centos7'],
      ['sles12_64Guest', 'sles12'],
      ['sles64Guest', 'sles64'],
      ['debian10Guest', 'debian10'],
      ['debian11_64Guest', 'unknown'],
      ['other3xLinux64Guest', 'linux'],
      ['other4xLinux64Guest', 'unknown'],
      ['otherGuest64', 'other'],
      ['coreos64Guest', 'coreos'],
      ['vmwarePhoton64Guest', 'photon'],
      ['windows9Server64Guest', 'win10server'],
      ['oracleLinux7_64Guest', 'oracleLinux7'],
      ['redhatGuest', 'rhel'],
      ['', 'unknown'],
    ] as const)
      assert.equal(typeOf(guestId), `vsphere-vm.cpu-2.mem-3gb.os-${os}`, guestId);
  });
});

describe("the addresses of a VM's own configuration", () => {
  const network =
    'version: 2\nethernets:\n  id0:\n    addresses: [192.168.1.12/24, "fd00::1/64"]\n' +
    '  id1:\n    addresses: [10.0.0.1/8]\n  id2:\n    dhcp4: true\n';
  const expected = ['192.168.1.12', 'fd00::1', '10.0.0.1'];
  const base64 = (text: string | Buffer) => Buffer.from(text).toString('base64');
  const indented = network.replace(/^/gm, '  ');

  it('reads the configured addresses from every encoding', () => {
    const plain = `instance-id: a\nnetwork:\n${indented}`;
    const nested = `network.encoding: gzip+base64\nnetwork: ${base64(gzipSync(network))}\n`;
    const simple = `network.encoding: b64\nnetwork: ${base64(network)}\n`;
    for (const [text, encoding] of [
      [plain, undefined],
      [base64(plain), 'base64'],
      [base64(gzipSync(plain)), 'gz+b64'],
      [base64(nested), 'base64'],
      [base64(simple), 'base64'],
    ] as const)
      assert.deepEqual(configuredAddresses(text, encoding), expected, `${encoding} ${text.slice(0, 20)}`);
  });

  it('reads the configured addresses without a warning of the parser, which would show guest values', async () => {
    const warnings: string[] = [];
    const listen = ({ message }: Error) => warnings.push(message);
    process.on('warning', listen);
    const secret = `instance-id: a\npassword: !hidden x\n? {hidden: key}\n: y\nnetwork:\n${indented}`;
    assert.deepEqual(configuredAddresses(secret, undefined), expected);
    await new Promise((resolve) => setImmediate(resolve));
    process.off('warning', listen);
    assert.deepEqual(warnings, []);
  });

  it('returns no configured addresses where nothing can be read', () => {
    const bomb = base64(gzipSync(Buffer.alloc(8 * 1024 * 1024, 'a')));
    for (const [text, encoding] of [
      [undefined, undefined],
      ['---', undefined],
      ['network: [', undefined],
      ['network: {ethernets: 3}', undefined],
      ['not base64', 'gzip+base64'],
      [bomb, 'gzip+base64'],
    ] as const)
      assert.deepEqual(configuredAddresses(text, encoding), []);
  });
});
