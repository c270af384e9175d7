import assert from 'node:assert/strict';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { silentLog } from '../../../common/process/log.ts';
import { advanceDuring, fakeClock } from '../../../common/testing/fake-clock.ts';
import { CloudConfigError, type CloudContext } from '../../clouds/cloud.ts';
import { loadCloudModule } from './load-cloud-module.ts';

describe('a module of --cloud-module', () => {
  let folder: string;
  const clock = fakeClock();
  const context: CloudContext = { clock, random: () => 0.5, log: silentLog, env: {}, onCall: () => {} };

  before(async () => {
    folder = await mkdtemp(join(tmpdir(), 'mooring-module-'));
  });
  after(() => rm(folder, { recursive: true }));

  async function file(name: string, text: string): Promise<string> {
    const path = join(folder, name);
    await mkdir(dirname(path), { recursive: true });
    await writeFile(path, text);
    return path;
  }
  /** The cloud that `open` answers, as text of a module. */
  const answering = (opened: string) =>
    `exports.contractVersion = 1;\nexports.createCloud = (kit) => ({ open: async () => (${opened}) });\n`;
  const reportOnly = answering("{ reportOnly: 'no credential for ' + kit.name }");
  const refusal = (flag: string, message: RegExp) => (error: unknown) => {
    assert.ok(error instanceof CloudConfigError);
    assert.ok(error.message.startsWith(`--cloud-module: "${flag}": `), error.message);
    assert.match(error.message, message);
    return true;
  };

  it('loads a module that is CommonJS, an ES module, TypeScript, or a package', async () => {
    const es = reportOnly.replaceAll('exports.', 'export const ');
    const typed = `import type { CloudKit } from 'mooring/cloud';\n${es.replace('(kit)', '(kit: CloudKit)')}`;
    await file('packaged/package.json', '{"name":"packaged","main":"lib/cloud.mjs"}');
    await file('packaged/lib/cloud.mjs', es);
    const paths = [await file('a.cjs', reportOnly), await file('b.mjs', es), await file('c.mts', typed)];
    for (const path of [...paths, join(folder, 'packaged')]) {
      const opened = await loadCloudModule('example', path).open(undefined, context);
      assert.deepEqual(opened, { reportOnly: 'no credential for example', retryable: false }, path);
    }
  });

  for (const [what, text, message] of [
    ['is not there', undefined, /it cannot be loaded: Cannot find module/],
    ['cannot be read', 'exports.createCloud = (;', /it cannot be loaded: Unexpected token/],
    ['throws when it is loaded', "throw new Error('no licence')", /it cannot be loaded: no licence/],
    ['has an await at its top level', undefined, /it cannot be loaded: .*top-level await/],
    ['names no contract', 'exports.createCloud = () => {}', /contractVersion: missing, expected 1/],
    ['exports nothing at all', 'module.exports = null', /contractVersion: missing, expected 1/],
    ['is of another contract', 'exports.contractVersion = 2', /contractVersion: 2, expected 1/],
    ['has no factory', 'exports.contractVersion = 1', /createCloud: missing, expected a function/],
    [
      'has a factory that throws',
      "exports.contractVersion = 1; exports.createCloud = () => { throw 'no' }",
      /createCloud: no$/,
    ],
    [
      'creates no cloud',
      'exports.contractVersion = 1; exports.createCloud = () => 7',
      /createCloud: open: missing, expected a function/,
    ],
  ] as const)
    it(`refuses a module that ${what}`, async () => {
      const isAwaiting = what.includes('await');
      if (isAwaiting) await file('waiting.mjs', 'export const contractVersion = await 1;');
      const path =
        text === undefined ? join(folder, isAwaiting ? 'waiting.mjs' : 'nowhere.js') : await file(`${what}.cjs`, text);
      assert.throws(() => loadCloudModule('example', path), refusal(`example=${path}`, message));
    });

  const parts = 'identify() {}, accepts() {}, check() {}, close() {}';
  for (const [what, opened, message] of [
    [
      'throws',
      "(() => { throw new Error('token: missing, expected a text') })()",
      /open: token: missing, expected a text$/,
    ],
    ['answers nothing', 'undefined', /open: missing, expected a cloud$/],
    ['answers a cloud without lookups', `{ ${parts} }`, /open: .*expected a function$/],
    ['answers a part of a cloud', '{ identify() {} }', /open: accepts: undefined, expected a function$/],
    [
      'answers no batch size',
      `{ ${parts}, instances: { lookup() {}, batchSize: 0 } }`,
      /instances.batchSize: 0, expected/,
    ],
    ['gives no reason', '{ reportOnly: 1 }', /reportOnly: number, expected a text$/],
    [
      'answers an incomplete driver',
      `{ ${parts}, instances: { lookup() {}, batchSize: 1 }, loadBalancerDriver: { kinds: [] } }`,
      /loadBalancerDriver.readers: expected a list of readers/,
    ],
    ['never ends', 'new Promise(() => {})', /open: .*did not answer within 60 s$/],
  ] as const)
    it(`refuses a module whose open ${what}`, async () => {
      const path = await file(`open ${what}.cjs`, answering(opened));
      const opening = advanceDuring(clock, loadCloudModule('example', path).open(undefined, context), 1000);
      await assert.rejects(opening, refusal(`example=${path}`, message));
    });
});
