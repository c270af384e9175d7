import assert from 'node:assert/strict';
import { readFile, writeFile } from 'node:fs/promises';
import { it } from 'node:test';
import type { LifeStage } from '../life/life-stage.ts';
import { lifeSuite } from '../life/life-suite.ts';
import { keyFile } from './fake/configuration.ts';
import { type GceLife, openGceLife } from './life-cloud.ts';

lifeSuite('a fake Compute Engine', [openGceLife], { services: true, own });

function own(stage: () => LifeStage<GceLife>): void {
  it('check fails, and names the permission that is missing', async () => {
    const { clouds, controller } = stage();
    const { fake } = clouds[0]!;
    fake.denied.add('compute.instances.list');
    const check = await controller.command('check');
    fake.denied.clear();
    assert.equal(check.code, 1, check.output);
    assert.match(check.output, /missing in project proj: compute\.instances\.list/);
  });

  it('uses another key as soon as its file has it, without a restart', async () => {
    const { clouds, controller, wait } = stage();
    const { fake, keyPath, url } = clouds[0]!;
    const { private_key: _, ...rest } = JSON.parse(keyFile(fake, url));
    await writeFile(
      keyPath,
      JSON.stringify({ ...rest, private_key: fake.identity.privateKey, private_key_id: 'key-2' }),
    );
    const kid = (assertion: string) => Buffer.from(assertion.split('.')[0] ?? '', 'base64url').toString();
    await wait('the new key signs', async () =>
      fake.calls.some(
        ({ path, text }) =>
          path === '/token' && kid(new URLSearchParams(text).get('assertion') ?? '').includes('key-2'),
      ),
    );
    await wait('it is in use', async () =>
      (await readFile(controller.logFile, 'utf8')).includes('the new credential is in use'),
    );
  });
}
