import assert from 'node:assert/strict';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { systemClock } from '../../../common/process/clock.ts';
import { silentLog } from '../../../common/process/log.ts';
import { fakeClock } from '../../../common/testing/fake-clock.ts';
import { createReloadingCloud, type ReloadResult } from '../../../controller/app/reload/reloading-cloud.ts';
import { type CloudConfigFile, identified } from '../../../controller/clouds/cloud.ts';
import { cloudModule } from '../../../controller/clouds/openstack/index.ts';
import { active, password, startFakeOpenStack, uuid } from './fake/fake-openstack.ts';

test('OpenStack takes a new password of clouds.yaml once Keystone accepts it', async (t) => {
  const fake = await startFakeOpenStack();
  const folder = await mkdtemp(join(tmpdir(), 'mooring-reload-'));
  t.after(async () => {
    await fake.close();
    await rm(folder, { recursive: true });
  });
  const file = join(folder, 'clouds.yaml');
  const write = (secret: string) =>
    writeFile(
      file,
      JSON.stringify({
        clouds: {
          mine: {
            region_name: 'RegionOne',
            auth: { auth_url: fake.authUrl, user_id: 'u1', password: secret, project_id: 'p1' },
          },
        },
      }),
    );
  await write(password);
  fake.servers.set(uuid(1), active(1));
  const context = {
    clock: systemClock(),
    random: Math.random,
    log: silentLog,
    onCall: () => {},
    env: { OS_CLOUD: 'mine', OS_CLIENT_CONFIG_FILE: file },
  };
  const open = async (config?: CloudConfigFile) => {
    const one = await cloudModule.open(config, context);
    return 'reportOnly' in one ? one : identified(one);
  };
  const opened = await open();
  assert.ok('scope' in opened);
  assert.deepEqual(opened.files, [file]);
  const clock = fakeClock();
  const results: ReloadResult[] = [];
  let answered = () => {};
  const cloud = await createReloadingCloud(
    { cloud: opened, config: undefined, open },
    {
      clock,
      random: () => 0.5,
      log: silentLog,
      readFile: (path: string) => readFile(path),
      onReload(_, result) {
        results.push(result);
        answered();
      },
    },
  );
  t.after(() => cloud.close());
  /** The files and Keystone take time of the machine's own. */
  async function change(secret: string): Promise<void> {
    const told = new Promise<void>((resolve) => {
      answered = resolve;
    });
    await write(secret);
    await clock.advance(10_000);
    await told;
  }
  const providerID = `openstack:///${uuid(1)}`;
  const state = async () => (await cloud.instances.lookup([{ by: 'providerID', providerID }])).get(providerID)?.state;
  assert.equal(await state(), 'found');
  await change('not-the-password');
  assert.deepEqual(results, ['refused']);
  assert.equal(await state(), 'found');
  await change(`${password}, renewed`);
  assert.deepEqual(results, ['refused', 'ok']);
  assert.equal(await state(), 'found');
  assert.equal(cloud.scope, opened.scope);
});
