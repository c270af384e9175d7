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
import { readConfig } from '../../../controller/clouds/azure/config.ts';
import { openAzure } from '../../../controller/clouds/azure/index.ts';
import type { Lookup, OpenedCloud } from '../../../controller/clouds/cloud.ts';
import { issueServingCertificate } from '../../kit/kube-api/http/certificates.ts';
import { type ListeningFake, listen } from '../fake-http.ts';
import { azureJson } from './azure-world.ts';
import { createFakeAzure, type FakeAzure } from './fake/fake-azure.ts';
import { application } from './fake/fake-login.ts';
import { type FakeVm, subscription, tenant } from './fake/fake-state.ts';

const { AZURE_CLASSIC: classic, AZURE_PYTHON: python } = process.env;
const run = promisify(execFile);

interface Found {
  readonly nodes: Readonly<Record<string, NodeFacts>>;
  readonly before: readonly FoundRoute[];
  readonly after: readonly FoundRoute[];
}
interface NodeFacts {
  readonly exists: boolean;
  readonly shutdown: boolean;
  readonly providerID: string;
  readonly type: string;
  readonly zone: string;
  readonly region: string;
  readonly addresses: readonly { readonly type: string; readonly address: string }[];
  readonly errors: Readonly<Record<string, string>>;
}
interface FoundRoute {
  readonly name: string;
  readonly node: string;
  readonly destination: string;
}

/** A fake over TLS, since these clients send no token in the clear. */
describe('the fake of Azure, and what Mooring reads of it', () => {
  let folder: string;
  let fake: FakeAzure;
  let served: ListeningFake;
  let ours: OpenedCloud;
  let caFile: string;
  const vms = new Map<string, FakeVm>();

  before(async () => {
    folder = await mkdtemp(join(tmpdir(), 'mooring-azure-'));
    const certificate = await issueServingCertificate(['127.0.0.1', 'localhost']);
    caFile = join(folder, 'ca.pem');
    await writeFile(caFile, certificate.caPem);
    fake = createFakeAzure(systemClock());
    fake.operationMs = 300;
    fake.pageSize = 4;
    served = await listen(fake, { cert: certificate.certPem, key: certificate.keyPem });
    fake.addTable('pods');
    const [pool, flex] = [fake.addSet('pool', 'Uniform'), fake.addSet('flex', 'Flexible')];
    const add = (vm: FakeVm, name = vm.computerName) => vms.set(name, vm);
    for (let each = 0; each < 6; each += 1) {
      add(fake.addVm(`node-${each}`, { isPublic: each === 1 }));
      add(fake.addVm('', { set: pool }));
    }
    add(fake.addVm('flex-node', { set: flex }));
    add(fake.addVm('off'));
    vms.get('off')!.power = 'deallocated';
    vms.get('pool000002')!.power = 'deallocated';
    // Our client on the same fake: its TLS is proved by the other suites of the controller.
    const json = { ...azureJson, resourceManagerEndpoint: 'http://azure.test' };
    const config = await readConfig({ path: 'azure.json', text: JSON.stringify(json) }, {}, async () => undefined);
    if ('reportOnly' in config) throw new Error(config.reportOnly);
    const context = { clock: systemClock(), random: seededRandom(1), log: silentLog, env: {}, onCall() {} };
    ours = openAzure({ config, context, readText: async () => undefined, wrapHttp: () => fake.http });
  });
  after(async () => {
    ours?.close();
    await served?.close();
    await rm(folder, { recursive: true, force: true });
  });

  async function lookUp(names: readonly string[]): Promise<ReadonlyMap<string, Lookup>> {
    const refs = names.map((name) => ({ by: 'providerID', providerID: `azure://${vms.get(name)!.id}` }) as const);
    const answers = await ours.instances.lookup(refs);
    return new Map(names.map((name) => [name, answers.get(`azure://${vms.get(name)!.id}`)!]));
  }

  it('the fake gives the classic provider the same Nodes and routes', { skip: classic === undefined }, async () => {
    const names = ['node-0', 'node-1', 'pool000001', 'pool000002', 'off'];
    const nodes = names.map((name, at) => ({
      name,
      providerID: `azure://${vms.get(name)!.id}`,
      podCIDR: at < 3 ? `10.244.${at}.0/24` : '',
    }));
    nodes.push({ name: 'gone', providerID: nodes[0]!.providerID.replace('node-0', 'gone'), podCIDR: '' });
    const json = {
      ...azureJson,
      tenantId: 'adfs',
      resourceManagerEndpoint: served.url,
      useInstanceMetadata: false,
      routeUpdateIntervalInSeconds: 1,
      routeUpdateWaitingInSeconds: 1,
      loadBalancerSku: 'standard',
    };
    const { stdout } = await run(classic!, [], {
      env: {
        ...process.env,
        SSL_CERT_FILE: caFile,
        AZURE_JSON: JSON.stringify(json),
        AZURE_NODES: JSON.stringify(nodes),
      },
      timeout: 180_000,
    });
    const found: Found = JSON.parse(stdout);
    assert.equal(found.nodes['gone']?.exists, false);
    const answers = await lookUp(names);
    for (const name of names) {
      const [theirs, lookup] = [found.nodes[name]!, answers.get(name)!];
      assert.deepEqual(theirs.errors, {}, name);
      assert.ok(theirs.exists && lookup.state === 'found', name);
      const { instance, power } = lookup;
      assert.equal(instance.providerID, theirs.providerID);
      assert.equal(instance.type, theirs.type, name);
      assert.equal(instance.zone, theirs.zone, name);
      assert.equal(instance.region, theirs.region, name);
      const texts = (all: NodeFacts['addresses']) => all.map(({ type, address }) => `${type} ${address}`).sort();
      assert.deepEqual(texts(instance.addresses), texts(theirs.addresses), name);
      // The classic provider reads stand-alone VMs without their instance view, and so never sees them stopped.
      if (vms.get(name)!.instanceId !== undefined) assert.equal(power === 'stopped', theirs.shutdown, name);
    }
    assert.deepEqual(found.before, []);
    assert.equal(found.after.length, 3);
    // Ours takes over what the classic provider has made: no call changes anything.
    const before = fake.calls.filter(({ method }) => method === 'PUT').length;
    const { routes } = await ours.routes!.observe('cluster');
    for (const { name, destination, node } of found.after) {
      const seen = routes.find((route) => route.id === name);
      assert.equal(seen?.destination, destination);
      assert.equal(seen.providerID, found.nodes[node]?.providerID);
      const desired = { cluster: 'c', node, nodeUid: 'u', destination, addresses: [] };
      const providerID = found.nodes[node]!.providerID;
      assert.equal((await ours.routes!.create({ ...desired, providerID }, { permit() {} })).id, name);
    }
    assert.equal(fake.calls.filter(({ method }) => method === 'PUT').length, before);
  });

  it("the fake of Azure answers the vendor's clients for Python", { skip: python === undefined }, async () => {
    const env = {
      ...process.env,
      REQUESTS_CA_BUNDLE: caFile,
      AZURE_URL: served.url,
      AZURE_SUBSCRIPTION: subscription,
      AZURE_TENANT: tenant,
      AZURE_CLIENT: application.clientId,
      AZURE_SECRET: application.secret,
    };
    const { stdout } = await run(python!, [join(import.meta.dirname, 'clients/drive.py')], { env, timeout: 120_000 });
    assert.equal(stdout, 'ok\n');
  });
});
