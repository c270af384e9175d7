import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { mkdir, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { buildTypes } from './build-types.ts';

const root = join(import.meta.dirname, '..');

const good = `
/** @typedef {import('mooring/cloud').OutOfTreeModule} OutOfTreeModule */

exports.contractVersion = /** @type {const} */ (1);

/** @type {OutOfTreeModule['createCloud']} */
exports.createCloud = (kit) => ({
  open: async (file, context) => {
    context.log.info('opened', { cloud: kit.name });
    if (file === undefined) return { reportOnly: 'no file' };
    throw kit.error({ kind: 'Invalid', operation: 'open', message: 'no key' });
  },
});
`;

/** A module in plain JavaScript, far from a checkout. */
describe('the package of types for clouds that are no part of Mooring', () => {
  let folder: string;
  before(async () => {
    folder = await mkdtemp(join(tmpdir(), 'mooring-types-'));
    await buildTypes(join(folder, 'node_modules/mooring'));
    await mkdir(join(folder, 'node_modules/@types'));
    await symlink(join(root, 'node_modules/@types/node'), join(folder, 'node_modules/@types/node'));
    await symlink(join(root, 'node_modules/undici-types'), join(folder, 'node_modules/undici-types'));
  });
  after(() => rm(folder, { recursive: true }));

  async function tsc(text: string, name: string, options: readonly string[]) {
    await writeFile(join(folder, name), text);
    const args = ['--noEmit', '--types', 'node', ...options, name];
    return new Promise<{ code: number; output: string }>((resolve) => {
      execFile(join(root, 'node_modules/.bin/tsc'), args, { cwd: folder }, (error, stdout, stderr) =>
        resolve({ code: error === null ? 0 : Number(error.code ?? 1), output: stdout + stderr }),
      );
    });
  }
  const checked = ['--allowJs', '--checkJs'];

  for (const [what, options] of [
    ['as Node resolves it', ['--module', 'nodenext', '--strict']],
    ['as bundlers resolve it, without strict', ['--module', 'preserve', '--moduleResolution', 'bundler']],
    ['with the declarations checked, too', ['--module', 'nodenext', '--strict', '--skipLibCheck', 'false']],
  ] as const)
    it(`checks a module in JavaScript ${what}`, async () => {
      const { code, output } = await tsc(good, 'cloud.cjs', [...checked, ...options]);
      assert.equal(code, 0, output);
    });

  it('finds what is not as the contract has it', async () => {
    const options = [...checked, '--module', 'nodenext', '--strict'];
    for (const [from, to] of [
      ['kit.name', 'kit.title'],
      ["kind: 'Invalid'", "kind: 'Wrong'"],
      ["reportOnly: 'no file'", 'reportOnly: 7'],
    ] as const) {
      const { code, output } = await tsc(good.replace(from, to), 'wrong.cjs', options);
      assert.notEqual(code, 0, to);
      assert.match(output, /wrong\.cjs/);
    }
  });
});
