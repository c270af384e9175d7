import assert from 'node:assert/strict';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { spawnAgent } from '../agent/testing/spawn-agent.ts';
import { bundleAgent } from './bundle.ts';

const folder = await mkdtemp(join(tmpdir(), 'bundle-'));
const outfile = join(folder, 'agent.cjs');
const metafile = await bundleAgent(outfile);
const drive = fileURLToPath(new URL('../agent/metadata/fixtures/config-drive', import.meta.url));

test.after(() => rm(folder, { recursive: true }));

test('the agent carries no Kubernetes client, no cloud SDK, no server framework and no schema library', () => {
  const packages = new Set(
    Object.keys(metafile.inputs).flatMap((path) => /.*node_modules\/((?:@[^/]+\/)?[^/]+)/.exec(path)?.[1] ?? []),
  );
  const scopes = /^(@kubernetes|@aws-sdk|@smithy|@fastify|@peculiar)\//;
  const names = /^(fastify|pino|ajv|typebox|undici|yaml|reflect-metadata)$/;
  const heavy = [...packages].filter((name) => scopes.test(name) || names.test(name));
  assert.deepEqual(heavy, []);
  assert.ok(packages.has('commander'), [...packages].join(' '));
});

test('the agent carries no code of the controller and none of the tests', () => {
  const foreign = Object.keys(metafile.inputs).filter((path) => /^(controller|test|bench)\/|\/testing\//.test(path));
  assert.deepEqual(foreign, []);
});

test('the bundle is one file, and its commands work, the lazily loaded part included', async () => {
  assert.equal(Object.keys(metafile.outputs).length, 1);
  const args = ['--cloud=openstack', `--config-drive=${drive}`];
  const { stdout } = await spawnAgent(['provider-id', ...args], {}, outfile).exited;
  assert.match(stdout, /^openstack:\/\/\/5c1d9d1e-/);
  const shown = await spawnAgent(['show', ...args, '-o', 'json'], {}, outfile).exited;
  assert.equal(shown.stderr, '');
  assert.ok(JSON.parse(shown.stdout).host.memoryBytes > 0);
});
