import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { promisify } from 'node:util';
import { systemClock } from '../../../common/process/clock.ts';
import { silentLog } from '../../../common/process/log.ts';
import { seededRandom } from '../../../common/process/random.ts';
import { readConfig } from '../../../controller/clouds/gce/config.ts';
import { openGce } from '../../../controller/clouds/gce/index.ts';
import type { AdoptionProof, LoadBalancers } from '../../../controller/clouds/load-balancers.ts';
import { withLoadBalancers } from '../../../controller/services/balancers/with-load-balancers.ts';
import { ensure, look, printStep, remove } from '../suite/drive.ts';
import type { CloudWorld } from '../suite/world.ts';
import { type ComparedService, comparedServices, desiredOf, objectOf } from './compared-services.ts';
import { configFor, keyFile } from './fake/configuration.ts';
import { createFakeGce, type FakeGce, type ListeningFake, listen } from './fake/fake-gce.ts';

const run = promisify(execFile);
const clock = systemClock();
const cluster = '0f0e0d0c-1111-4222-8333-444455556666';
/** What the classic controller calls the cluster. */
const clusterId = '0123456789abcdef';

interface Side {
  readonly fake: FakeGce;
  readonly served: ListeningFake;
  /** Addresses by Service. */
  readonly addresses: Map<string, string>;
}

async function openSide(): Promise<Side> {
  const fake = createFakeGce(clock);
  fake.operations.durationMs = 5;
  fake.identity.tokens.set('good', Number.POSITIVE_INFINITY);
  fake.addVm('vm-1', { tags: { items: ['node'] } });
  fake.addVm('vm-2', { in: 'us-central1-b', tags: { items: ['node'] } });
  const served = await listen(fake);
  // The classic controller filters by the links that it makes itself.
  fake.api = `${served.url}/compute/v1`;
  return { fake, served, addresses: new Map() };
}

/** What the classic controller's own code makes, or deletes. */
async function runClassic({ fake, served, addresses }: Side, verb: 'ensure' | 'delete'): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), 'mooring-gce-services-'));
  const file = join(folder, 'services.json');
  await writeFile(file, JSON.stringify(comparedServices.map(objectOf)));
  const GOOGLE_APPLICATION_CREDENTIALS = join(folder, 'key.json');
  await writeFile(GOOGLE_APPLICATION_CREDENTIALS, keyFile(fake, served.url), { mode: 0o600 });
  const env = { ...process.env, GOOGLE_APPLICATION_CREDENTIALS };
  const args = [verb, `${served.url}/compute/v1/`, file];
  const { stdout } = await run(process.env['GCE_GOOGLE']!, args, { timeout: 240_000, env }).finally(() =>
    rm(folder, { recursive: true }),
  );
  for (const line of stdout.split('\n').filter((one) => one.startsWith('{'))) {
    const { what, value, error } = JSON.parse(line);
    assert.equal(error, undefined, `${verb} ${what}`);
    addresses.set(what, value);
  }
}

async function openOurs({ fake, served }: Side): Promise<LoadBalancers & { close(): void }> {
  const text = configFor(served.url).replace(
    '[mooring]',
    `node-tags = node\nsubnetwork-name = default\n[mooring]\ncluster-id = ${clusterId}`,
  );
  const config = readConfig({ path: 'gce.conf', text });
  const env = { GOOGLE_APPLICATION_CREDENTIALS: 'key.json' };
  const context = { clock, random: seededRandom(1), log: silentLog, env, onCall: () => {} };
  const opened = await openGce({ config, context, readText: async () => keyFile(fake, served.url) });
  assert.ok(!('reportOnly' in opened));
  const { loadBalancers, close, identify } = withLoadBalancers<typeof opened>(opened, clock);
  await identify();
  return { ...loadBalancers!, close };
}

const world = { during: <T>(work: Promise<T>) => work, pass: async () => {} } as Partial<CloudWorld> as CloudWorld;
const changes = ({ fake }: Side) =>
  fake.calls.filter(
    ({ method, path }) => method !== 'GET' && /\/compute\/v1\/.*(?<!\/wait|\/listInstances)$/.test(path),
  ).length;

async function ensureOurs(side: Side, balancers: LoadBalancers, service: ComparedService, adopt?: AdoptionProof) {
  const desired = desiredOf(cluster, service);
  const driven = await ensure({ world, balancers, desired, record: { id: undefined }, adopt });
  assert.deepEqual(driven.refusals, []);
  side.addresses.set(service.name, driven.observed!.ingress[0]!.ip!);
}

/** What two of the same differ in, without what the cloud itself gives to each. */
function fieldsOf({ fake, addresses, served }: Side): Map<string, Record<string, unknown>> {
  const own = ['id', 'creationTimestamp', 'fingerprint', 'labelFingerprint', 'selfLink', 'kind'];
  const names = new Map([...addresses].map(([name, ip]) => [ip, `address of ${name}`]));
  const plain = (text: string) =>
    text
      .replaceAll(served.url, 'api')
      .replace(/"(\d+\.\d+\.\d+\.\d+)(\/32)?"/g, (all, ip) => (names.has(ip) ? `"${names.get(ip)}"` : all));
  return new Map(
    [...fake.balancing.resources].map(([path, wire]) => {
      const kept = Object.entries(wire).filter(([field]) => !own.includes(field));
      const instances = fake.balancing.members.get(path);
      const fields = JSON.parse(plain(JSON.stringify(Object.fromEntries(kept))));
      for (const value of Object.values(fields))
        if (Array.isArray(value)) value.sort((a, b) => (JSON.stringify(a) < JSON.stringify(b) ? -1 : 1));
      return [path, instances === undefined ? fields : { ...fields, instances: [...instances].sort() }];
    }),
  );
}

describe("the load balancers of Google's cloud provider, and Mooring's", () => {
  let classic: Side;
  let ours: Side;
  let balancers: Awaited<ReturnType<typeof openOurs>>;

  before(async () => {
    [classic, ours] = [await openSide(), await openSide()];
    await runClassic(classic, 'ensure');
    balancers = await openOurs(ours);
    for (const service of comparedServices) await ensureOurs(ours, balancers, service);
  });
  after(async () => {
    balancers?.close();
    await classic?.served.close();
    await ours?.served.close();
  });

  it('creates the same resources for ten Services as the classic provider, but for the named fields', () => {
    const [theirs, mine] = [fieldsOf(classic), fieldsOf(ours)];
    assert.deepEqual([...mine.keys()].sort(), [...theirs.keys()].sort());
    const differences = new Set<string>();
    for (const [path, fields] of theirs) {
      const other = mine.get(path)!;
      for (const field of new Set([...Object.keys(fields), ...Object.keys(other)]))
        if (JSON.stringify(fields[field]) !== JSON.stringify(other[field])) {
          const [, collection = '', name = ''] = /([^/]+)\/([^/]+)$/.exec(path)!;
          differences.add(`${collection} ${/-http-hc$|$/.exec(name)![0]} ${field}`);
        }
    }
    assert.deepEqual([...differences].sort(), [
      'backendServices  description',
      'firewalls  description',
      'firewalls -http-hc description',
      // With the address of the first Service in it, that rule would let in health checks for that one alone.
      'firewalls -http-hc destinationRanges',
      'forwardingRules  description',
      'healthChecks  description',
      'httpHealthChecks  description',
      'instanceGroups  description',
      'targetPools  description',
    ]);
    const described = [...mine.values()].map(({ description }) => JSON.parse(String(description)));
    for (const one of described) assert.equal(one['mooring.dev/cluster'], cluster);
  });

  it('adopts the load balancers of the classic provider without a changing call', async () => {
    const before = changes(classic);
    const next = await openOurs(classic);
    for (const service of comparedServices) {
      const adopt = { clusterName: 'kubernetes', addresses: [classic.addresses.get(service.name)!] };
      const { observed, steps } = await ensure({
        world,
        balancers: next,
        desired: desiredOf(cluster, service),
        record: { id: undefined },
        adopt,
      });
      assert.deepEqual(
        [steps.map(printStep), observed?.adopted, observed?.ingress],
        [[], true, [{ ip: adopt.addresses[0] }]],
        service.name,
      );
    }
    next.close();
    assert.equal(changes(classic), before);
  });

  it('leaves nothing when each controller deletes the load balancers of the other', async () => {
    for (const service of comparedServices) {
      const adopt = { clusterName: 'kubernetes', addresses: [classic.addresses.get(service.name)!] };
      const driving = { world, desired: desiredOf(cluster, service), record: { id: undefined }, adopt };
      const next = await openOurs(classic);
      await remove({ ...driving, balancers: next });
      assert.equal(await look({ ...driving, balancers: next }), undefined);
      next.close();
    }
    assert.deepEqual([...classic.fake.balancing.resources.keys()], []);
    await runClassic(ours, 'delete');
    assert.deepEqual([...ours.fake.balancing.resources.keys()], []);
  });
});
