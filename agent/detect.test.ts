import assert from 'node:assert/strict';
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { detectCloud } from './detect.ts';
import { linuxMachine, readBootId, readDmi } from './dmi.ts';
import { sourceKinds } from './metadata/registry.ts';
import type { SourceKind } from './metadata/source.ts';

interface Machine {
  readonly cloud: string | null;
  readonly files: Readonly<Record<string, string>>;
  readonly hypervisorUuid?: string;
}

const text = await readFile(new URL('fixtures/dmi.json', import.meta.url), 'utf8');
const machines: Readonly<Record<string, Machine>> = JSON.parse(text);

/** A root folder as the kernel would show it. */
async function rootOf({ files, hypervisorUuid }: Machine): Promise<string> {
  const root = await mkdtemp(join(tmpdir(), 'dmi-'));
  await mkdir(join(root, 'sys/class/dmi/id'), { recursive: true });
  for (const [name, content] of Object.entries(files)) {
    await writeFile(join(root, 'sys/class/dmi/id', name), `${content}\n`);
  }
  if (hypervisorUuid !== undefined) {
    await mkdir(join(root, 'sys/hypervisor'), { recursive: true });
    await writeFile(join(root, 'sys/hypervisor/uuid'), `${hypervisorUuid}\n`);
  }
  return root;
}

for (const [name, machine] of Object.entries(machines)) {
  const verdict = machine.cloud === null ? 'no cloud we know' : `${machine.cloud} and nothing else`;
  test(`detects ${verdict} from the firmware of "${name}"`, async (context) => {
    const root = await rootOf(machine);
    context.after(() => rm(root, { recursive: true }));
    const dmi = await readDmi(root);
    const yes = [...sourceKinds.values()].filter((kind) => kind.detect(dmi)).map(({ cloud }) => cloud);
    assert.deepEqual(yes, machine.cloud === null ? [] : [machine.cloud]);
    const detection = detectCloud(sourceKinds.values(), dmi);
    assert.equal(detection.ok, machine.cloud !== null);
    if (detection.ok) assert.equal(detection.kind.cloud, machine.cloud);
  });
}

test('every cloud is known by at least one machine', () => {
  const known = new Set(Object.values(machines).map(({ cloud }) => cloud));
  for (const cloud of sourceKinds.keys()) assert.ok(known.has(cloud), cloud);
});

test('names the facts of the firmware and the flag that decides, without the serial', () => {
  const detection = detectCloud(sourceKinds.values(), {
    sysVendor: 'QEMU',
    productName: 'Standard PC',
    productSerial: 'licence-123',
    productUuid: 'ec2a7d90-5c1e-4f0b-9a33-7b6c5d4e3f21',
  });
  assert.ok(!detection.ok);
  assert.match(detection.message, /no known cloud: sys_vendor="QEMU" product_name="Standard PC"/);
  for (const cloud of sourceKinds.keys())
    assert.match(detection.message, new RegExp(`--cloud \\(.*\\b${cloud}\\b.*\\)`));
  assert.match(detection.message, /"ec2" proves nothing/);
  assert.doesNotMatch(detection.message, /licence/);
});

test('two candidates are an error that names both', () => {
  const kind = (cloud: string): SourceKind => ({ cloud, detect: () => true, open: () => assert.fail() });
  const detection = detectCloud([kind('one'), kind('two')], { sysVendor: 'X' });
  assert.ok(!detection.ok);
  assert.match(detection.message, /fits one and two alike: sys_vendor="X"/);
});

test('reports a machine without DMI', () => {
  for (const [root, where] of [
    ['/', /no DMI in \/sys\/class\/dmi\/id;/],
    ['/host', /no DMI in \/host\/sys\/class\/dmi\/id;/],
  ] as const) {
    const { place } = linuxMachine(root);
    const detection = detectCloud(sourceKinds.values(), {}, { place });
    assert.ok(!detection.ok);
    assert.match(detection.message, where);
  }
});

test('texts are trimmed, UUIDs lower-cased, what is missing or empty is left out', async (context) => {
  const root = await rootOf({
    cloud: null,
    files: { sys_vendor: ' Xen ', product_uuid: 'EC2F58C2-91A7', board_asset_tag: '' },
    hypervisorUuid: 'EC2F',
  });
  context.after(() => rm(root, { recursive: true }));
  assert.deepEqual(await readDmi(root), { sysVendor: 'Xen', productUuid: 'ec2f58c2-91a7', hypervisorUuid: 'ec2f' });
  assert.equal(await readBootId(root), undefined);
  await mkdir(join(root, 'proc/sys/kernel/random'), { recursive: true });
  await writeFile(join(root, 'proc/sys/kernel/random/boot_id'), '3d1219c7-c4c5-404a-aa1f-6d2a48adfda4\n');
  assert.equal(await readBootId(root), '3d1219c7-c4c5-404a-aa1f-6d2a48adfda4');
});

test('takes a machine of no known firmware with a NoCloud volume for nocloud, and none of a cloud', async () => {
  const proxmox = detectCloud(sourceKinds.values(), { sysVendor: 'QEMU' }, { hasSeed: true });
  assert.ok(proxmox.ok && proxmox.kind.cloud === 'nocloud');
  const ovirt = detectCloud(sourceKinds.values(), { sysVendor: 'oVirt' }, { hasSeed: true });
  assert.ok(ovirt.ok && ovirt.kind.cloud === 'ovirt');
});
