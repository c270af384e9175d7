import assert from 'node:assert/strict';
import { cp, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { startFakeController } from '../../agent/testing/fake-controller.ts';
import { type FirmwareFiles, registryOfMachine } from '../../agent/testing/registry-output.ts';
import { systemClock } from '../../common/process/clock.ts';
import { createHttp } from '../../common/process/http.ts';
import { testCa } from '../../common/testing/certificates.ts';
import { version } from '../../common/version.ts';
import { names } from '../../common/well-known.ts';
import { openWine, type Wine } from './wine.ts';

const { WINE: program = '', AGENT: agent = '' } = process.env;
const fixtures = join(import.meta.dirname, '../../agent');
const machines: Readonly<Record<string, { readonly cloud: string | null; readonly files: FirmwareFiles }>> = JSON.parse(
  await readFile(join(fixtures, 'fixtures/dmi.json'), 'utf8'),
);
const serverId = '5c1d9d1e-1111-4222-8333-944444444444';
const uuid = '5c1d9d1e-1111-4222-8333-955555555555';

/** With a UUID, so that none is left of another one in the registry. */
function machineOf(cloud: string): FirmwareFiles {
  const { files } = Object.values(machines).find((machine) => machine.cloud === cloud)!;
  return { product_uuid: uuid, ...files };
}

describe('the program for Windows, run by Wine', () => {
  let folder: string;
  let wine: Wine;
  let drive: string;
  before(async () => {
    folder = await mkdtemp(join(tmpdir(), 'mooring-wine-'));
    await cp(agent, join(folder, 'mooring-agent.exe'));
    await cp(join(fixtures, 'metadata/fixtures/config-drive'), join(folder, 'drive'), { recursive: true });
    drive = `--config-drive=Z:${join(folder, 'drive')}`;
    wine = await openWine(program, folder);
  });
  after(async () => {
    await wine?.stop();
    await rm(folder, { recursive: true, force: true, maxRetries: 10, retryDelay: 500 });
  });
  const run = (...args: readonly string[]) => wine.run([join(folder, 'mooring-agent.exe'), ...args]);

  it('says its version', async () => {
    assert.deepEqual(await run('--version'), { code: 0, stdout: `mooring-agent ${version}\n`, stderr: '' });
  });

  for (const cloud of ['aws', 'azure', 'gce', 'hetzner', 'openstack', 'vsphere'])
    it(`shows the firmware of a machine of ${cloud} from the registry, as reg.exe prints it`, async () => {
      await wine.setRegistry(registryOfMachine(machineOf(cloud), 42));
      const { code, stdout, stderr } = await run('show', '--cloud=openstack', drive, '-o', 'json');
      assert.equal(code, 0, stderr);
      const { firmware, host } = JSON.parse(stdout);
      const { sys_vendor, product_name, product_uuid, chassis_asset_tag } = machineOf(cloud);
      assert.deepEqual(
        [firmware.sysVendor, firmware.productName, firmware.productUuid, firmware.chassisAssetTag ?? ''],
        [sys_vendor, product_name, product_uuid?.toLowerCase(), chassis_asset_tag ?? ''],
      );
      assert.equal(host.bootId, '42');
    });

  it('detects the cloud by the firmware, and prints the providerID alone', async () => {
    await wine.setRegistry(registryOfMachine(machineOf('openstack')));
    const ended = await run('provider-id', drive);
    assert.deepEqual(ended, { code: 0, stdout: `openstack:///${serverId}\n`, stderr: '' });
  });

  it('reports to a controller with UUID and boot id, and serves its health', async () => {
    const ca = await testCa();
    const controller = await startFakeController(await ca.issue({ dnsNames: [names.serverName] }));
    const { http, close } = createHttp({ clock: systemClock() });
    await writeFile(join(folder, 'ca.crt'), ca.caPem);
    await writeFile(join(folder, 'token'), 'token-1');
    const running = wine.start([
      join(folder, 'mooring-agent.exe'),
      'run',
      drive,
      `--controller-url=${controller.url}`,
      `--ca-file=Z:${join(folder, 'ca.crt')}`,
      `--token-file=Z:${join(folder, 'token')}`,
      '--health-address=127.0.0.1:0',
    ]);
    try {
      await controller.received(1);
      const { body, headers } = controller.reports[0]!;
      assert.equal(headers.authorization, 'Bearer token-1');
      assert.deepEqual(
        [body.instance?.id, body.smbiosUuid, body.bootId],
        [serverId, machineOf('openstack')['product_uuid'], '23'],
      );
      const [, health = ''] = await running.says(/"address":"(http:[^"]+)"/);
      assert.equal((await http({ url: `${health}/livez`, timeoutMs: 5000 })).status, 200);
    } finally {
      await running.kill();
      close();
      await controller.close();
    }
  });
});
