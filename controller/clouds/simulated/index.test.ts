import assert from 'node:assert/strict';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { systemClock } from '../../../common/process/clock.ts';
import { silentLog } from '../../../common/process/log.ts';
import { seededRandom } from '../../../common/process/random.ts';
import { startCloud } from '../../../test/kit/cloud/start-cloud.ts';
import { cloudModule } from './index.ts';

async function workplace(t: TestContext) {
  const clock = systemClock();
  const sandbox = await startCloud({ clock, random: seededRandom(4) });
  const folder = await mkdtemp(join(tmpdir(), 'mooring-simulated-'));
  t.after(async () => {
    await sandbox.stop();
    await rm(folder, { recursive: true });
  });
  const context = { clock, random: seededRandom(1), log: silentLog, env: {}, onCall: () => {} };
  const open = (more: string) => {
    const text = `endpoint: ${sandbox.url}\nproject: demo\nregion: sim-1\n${more}`;
    return cloudModule.open({ path: join(folder, 'cloud.yaml'), text }, context);
  };
  return { sandbox, folder, context, open };
}

test('a configured cloud answers lookups and closes its connections', async (t) => {
  const { sandbox, open } = await workplace(t);
  const { id } = sandbox.model.create();
  const cloud = await open(`credential: ${sandbox.credential}`);
  assert.ok('instances' in cloud);
  const providerID = `simulated://sim-1/${id}`;
  const answers = await cloud.instances.lookup([{ by: 'providerID', providerID }]);
  assert.equal(answers.get(providerID)?.state, 'found');
  cloud.close();
});

test('opens report-only without a file or a credential, and says why', async (t) => {
  const { context, open } = await workplace(t);
  assert.match(JSON.stringify(await cloudModule.open(undefined, context)), /reportOnly.*--cloud-config/);
  assert.match(JSON.stringify(await open('')), /reportOnly.*neither credential nor credentialFile/);
});

test('a credential file is found beside the configuration, and named as a file to watch', async (t) => {
  const { sandbox, folder, open } = await workplace(t);
  await writeFile(join(folder, 'secret'), `${sandbox.credential}\n`);
  const cloud = await open('credentialFile: secret');
  assert.ok('check' in cloud);
  t.after(() => cloud.close());
  assert.deepEqual(cloud.files, [join(folder, 'secret')]);
  await cloud.ping?.();
  sandbox.credentials.setMode(sandbox.credential, 'unauthorized');
  await assert.rejects(async () => cloud.ping?.(), { kind: 'Unauthorized' });
});

test('a credential file that cannot be read stops the start', async (t) => {
  const { open } = await workplace(t);
  await assert.rejects(open('credentialFile: missing'), {
    name: 'CloudConfigError',
    message: /credentialFile: .*missing: expected a file/,
  });
});
