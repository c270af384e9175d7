import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { before, describe, it } from 'node:test';
import { promisify } from 'node:util';
import { systemClock } from '../../../common/process/clock.ts';
import { answerFields } from '../../../controller/clouds/answer-fields.ts';
import { readInstance } from '../../../controller/clouds/gce/instance.ts';
import { keyFile } from './fake/configuration.ts';
import { createFakeGce, type FakeGce, listen } from './fake/fake-gce.ts';

const run = promisify(execFile);

/** What the classic controller's own code reads of the fake, and what it does to it. */
describe("Google's cloud provider on the fake", () => {
  let fake: FakeGce;
  let told: ReadonlyMap<string, { readonly value: unknown; readonly error?: string }>;

  before(async () => {
    fake = createFakeGce(systemClock());
    fake.operations.durationMs = 100;
    fake.identity.tokens.set('good', Number.POSITIVE_INFINITY);
    fake.addVm('vm-1');
    fake.addVm('vm-2', { in: 'us-central1-b' });
    const served = await listen(fake);
    // It filters by the links that it makes itself.
    fake.api = `${served.url}/compute/v1`;
    const folder = await mkdtemp(join(tmpdir(), 'mooring-gce-classic-'));
    const GOOGLE_APPLICATION_CREDENTIALS = join(folder, 'key.json');
    await writeFile(GOOGLE_APPLICATION_CREDENTIALS, keyFile(fake, served.url), { mode: 0o600 });
    const options = { timeout: 120_000, env: { ...process.env, GOOGLE_APPLICATION_CREDENTIALS } };
    const args = ['classic', `${served.url}/compute/v1/`];
    const { stdout } = await run(process.env['GCE_GOOGLE']!, args, options).finally(async () => {
      await served.close();
      await rm(folder, { recursive: true });
    });
    const lines = stdout.split('\n').filter((line) => line.startsWith('{'));
    told = new Map(lines.map((line) => JSON.parse(line)).map(({ what, ...rest }) => [what, rest]));
  });

  it('finds a VM, and finds out that one does not exist', () => {
    assert.deepEqual(told.get('exists vm-1'), { value: true });
    assert.deepEqual(told.get('exists none'), { value: false });
    assert.deepEqual(told.get('id of vm-2'), { value: 'proj/us-central1-b/vm-2' });
  });

  it('reads the addresses and the type that Mooring reads, but for the host name', () => {
    const vm = answerFields(fake.vm('us-central1-a', 'vm-1')!.wire, { cloud: 'gce', operation: 'instances.get' });
    const ours = readInstance(vm, 'id', { project: 'proj', ipv6First: false });
    assert.ok(ours.state === 'found');
    const { addresses, type } = ours.instance;
    assert.deepEqual(
      told.get('addresses')?.value,
      addresses.filter((one) => /IP$/.test(one.type)),
    );
    assert.deepEqual(told.get('type'), { value: type });
  });

  it('creates, lists and deletes a route', () => {
    for (const what of ['create', 'delete']) assert.deepEqual(told.get(what), { value: null });
    const [route, ...others] = told.get('routes')!.value as readonly Record<string, unknown>[];
    assert.deepEqual(others, []);
    assert.deepEqual([route?.['TargetNode'], route?.['DestinationCIDR']], ['vm-1', '10.9.0.0/24']);
    assert.deepEqual(told.get('routes left'), { value: 0 });
    assert.equal(fake.routes.size, 0);
  });

  it('sends a route as Mooring sends it, but for name and description', () => {
    const sent = fake.calls.find(({ method, path }) => method === 'POST' && path.endsWith('/global/routes'));
    const { name, description, nextHopInstance, network, ...rest } = JSON.parse(sent!.text);
    assert.deepEqual(rest, { destRange: '10.9.0.0/24', priority: 1000 });
    assert.match(nextHopInstance, /zones\/us-central1-a\/instances\/vm-1$/);
    assert.match(network, /projects\/proj\/global\/networks\/default$/);
    assert.deepEqual([name, description], ['kubernetes-7e2b8c1e-0f0a-4f53-b3a5-0c8d6f1f2a3b', 'k8s-node-route']);
  });
});
