import assert from 'node:assert/strict';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { systemClock } from '../../../common/process/clock.ts';
import { conditionOf, type NodeObject, taintKeys, until } from '../../kit/world/scenario.ts';
import { type ControllerProcess, prepareController } from '../aws/controller-process.ts';
import { configFor, keyFile } from './fake/configuration.ts';
import { refusal } from './fake/fake-api.ts';
import { createFakeGce, type FakeGce, type ListeningFake, listen, zones } from './fake/fake-gce.ts';

const shutdown = 'node.cloudprovider.kubernetes.io/shutdown';
const nodes = ['node-1', 'node-2', 'node-3'];
const zoneOf = (name: string) => zones[nodes.indexOf(name) % 2]!;

describe('the shipped controller on a fake Compute Engine', () => {
  let fake: FakeGce;
  let served: ListeningFake;
  let folder: string;
  let controller: ControllerProcess;
  const keyPath = () => join(folder, 'key.json');

  before(async () => {
    fake = createFakeGce(systemClock());
    fake.operations.durationMs = 700;
    served = await listen(fake);
    for (const name of nodes) fake.addVm(name, { in: zoneOf(name) });
    folder = await mkdtemp(join(tmpdir(), 'mooring-gce-key-'));
    await writeFile(keyPath(), keyFile(fake, served.url), { mode: 0o600 });
    const env = { GOOGLE_APPLICATION_CREDENTIALS: keyPath() };
    controller = await prepareController({ cloud: 'gce', configText: configFor(served.url), env });
    for (const name of nodes) await controller.kubelet(name).start();
    controller.start();
  });
  after(async () => {
    await controller?.stop();
    await served?.close();
    await rm(folder, { recursive: true, force: true });
  });

  async function wait<T>(what: string, probe: () => Promise<T | undefined | false>, ms = 60_000): Promise<T> {
    try {
      return await until(what, ms, async () => {
        assert.ok(controller.running, 'the controller has ended');
        return probe();
      });
    } catch (error) {
      throw new Error(`${String(error)}\n${(await readFile(controller.logFile, 'utf8')).slice(-3000)}`);
    }
  }
  const changes = () =>
    fake.calls.filter(({ method, path }) => method !== 'GET' && /\/compute\/v1\/.*(?<!\/wait)$/.test(path)).length;
  async function nodeNamed(name: string): Promise<NodeObject | undefined> {
    const { status, body } = await controller.rest.call('GET', `/api/v1/nodes/${name}`);
    return status === 200 ? body : undefined;
  }

  it('initialises its nodes, and creates routes for their pods', async () => {
    for (const name of nodes) {
      const node = await wait(`${name} has a network`, async () => {
        const seen = await nodeNamed(name);
        return conditionOf(seen, 'NetworkUnavailable')?.status === 'False' ? seen : undefined;
      });
      assert.equal(node.spec.providerID, `gce://proj/${zoneOf(name)}/${name}`);
      assert.equal(node.metadata.labels['topology.kubernetes.io/zone'], zoneOf(name));
      assert.equal(node.metadata.labels['topology.kubernetes.io/region'], 'us-central1');
      assert.equal(node.metadata.labels['node.kubernetes.io/instance-type'], 'e2-standard-4');
    }
    assert.deepEqual(
      [...fake.routes.values()].map(({ nextHopInstance }) => nextHopInstance?.split('/').at(-1)).sort(),
      nodes,
    );
  });

  it('changes nothing after a restart with nothing changed', async () => {
    const before = changes();
    await controller.stopProcess();
    const heard = fake.calls.length;
    controller.start();
    await wait('it has read the routes', async () =>
      fake.calls.slice(heard).some(({ path }) => path.endsWith('/global/routes')),
    );
    await sleep(8000);
    assert.equal(changes(), before);
  });

  it('plan finds nothing to do, and check nothing that it could not do', async () => {
    const plan = await controller.command('plan', '--exit-code');
    assert.equal(plan.code, 0, plan.output);
    const check = await controller.command('check', '-o', 'json');
    assert.equal(check.code, 0, check.output);
    const lines = JSON.parse(check.output) as { name: string; ok: boolean }[];
    for (const name of ['project', 'permissions for nodes', 'permissions for routes', 'network'])
      assert.ok(
        lines.some((line) => line.name.includes(name) && line.ok),
        check.output,
      );
  });

  it('check fails, and names the permission that is missing', async () => {
    fake.denied.add('compute.instances.list');
    const check = await controller.command('check');
    fake.denied.clear();
    assert.equal(check.code, 1, check.output);
    assert.match(check.output, /missing in project proj: compute\.instances\.list/);
  });

  it('marks the node of a VM that was preempted', async () => {
    const [name] = nodes;
    fake.vm(zoneOf(name!), name!)!.wire.status = 'TERMINATED';
    controller.kubelet(name!).stop();
    await wait('it carries the taint', async () => taintKeys(await nodeNamed(name!)).includes(shutdown), 90_000);
  });

  it('uses another key as soon as its file has it, without a restart', async () => {
    const { private_key: _, ...rest } = JSON.parse(keyFile(fake, served.url));
    await writeFile(
      keyPath(),
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

  it('leaves every node when its token is refused, and shows no token and no key in its log', async () => {
    fake.fault = ({ path }) =>
      path.startsWith('/compute/') ? refusal(401, 'authError', 'Invalid Credentials') : undefined;
    await sleep(5000);
    fake.fault = undefined;
    for (const name of nodes) assert.ok(await nodeNamed(name));
    const log = await readFile(controller.logFile, 'utf8');
    assert.doesNotMatch(log, /ya29|PRIVATE KEY|assertion=/);
  });

  // The Node of an absent VM is deleted once it is five minutes old.
  const skip = process.env['MOORING_NIGHTLY'] === '1' ? false : 'five minutes: MOORING_NIGHTLY=1 runs it';
  it('deletes the node and the route of a VM that was deleted', { skip }, async () => {
    const [, , name] = nodes;
    fake.deleteVm(zoneOf(name!), name!);
    controller.kubelet(name!).stop();
    await wait('the node has gone', async () => (await nodeNamed(name!)) === undefined, 480_000);
    const hops = () => [...fake.routes.values()].filter(({ nextHopInstance }) => nextHopInstance?.endsWith(name!));
    await wait('its route has gone', async () => hops().length === 0, 120_000);
  });
});
