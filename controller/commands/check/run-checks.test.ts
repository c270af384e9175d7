import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { CloudError } from '../../../common/cloud-error.ts';
import { silentLog } from '../../../common/process/log.ts';
import { seededRandom } from '../../../common/process/random.ts';
import { fakeClock } from '../../../common/testing/fake-clock.ts';
import { openClouds } from '../../app/open-clouds.ts';
import { permissionsIn } from '../../app/permissions.ts';
import { type Cloud, type Lookup, refKey } from '../../clouds/cloud.ts';
import { type KubeApi, type KubeCall, KubeError } from '../../kube/api.ts';
import type { ConfiguredCloud } from '../../model/configured-cloud.ts';
import { exampleInstance } from '../../model/testing/example-instance.ts';
import { runChecks } from './run-checks.ts';

const permissions = permissionsIn('kube-system');

const node = (name: string, providerID: string, ready: string, annotations: Readonly<Record<string, string>> = {}) => ({
  metadata: { name, uid: name, resourceVersion: '1', annotations },
  spec: { providerID },
  status: { conditions: [{ type: 'Ready', status: ready, reason: '', message: '' }] },
});

function apiWith(nodes: readonly object[]): KubeApi {
  const answers: Readonly<Record<string, unknown>> = {
    '/version': { gitVersion: 'v1.36.2' },
    '/api/v1/nodes': { items: nodes },
  };
  return {
    call: async <T>({ path }: KubeCall) => (answers[path] ?? { status: { allowed: true } }) as T,
    watch: async () => {},
  };
}

function cloudWith(lookup: (providerID: string) => Lookup): ConfiguredCloud {
  const api: Cloud = {
    name: 'simulated',
    scope: 'http://cloud/demo/sim-1',
    account: 'demo',
    accepts: (providerID) => providerID.startsWith('simulated://'),
    instances: {
      batchSize: 10,
      lookup: async (refs) => new Map(refs.map((ref) => [refKey(ref), lookup(refKey(ref))])),
    },
    check: async () => [{ name: 'credential', ok: true, message: 'good' }],
    close: () => {},
  };
  return { name: api.name, scope: api.scope, accepts: api.accepts, selector: undefined, api };
}

const found: Lookup = { state: 'found', instance: exampleInstance(), power: 'running', request: 'id' };
const { signal } = new AbortController();

async function visibilityOf(nodes: readonly object[], lookup: (providerID: string) => Lookup) {
  const lines = await runChecks(apiWith(nodes), [cloudWith(lookup)], permissions, signal);
  return lines.find(({ name }) => name === 'living nodes');
}

describe('check', () => {
  it('fails when the cloud shows none of the instances of Ready Nodes', async () => {
    const nodes = [node('a', 'simulated://sim-1/i-1', 'True'), node('b', 'simulated://sim-1/i-2', 'True')];
    const line = await visibilityOf(nodes, () => ({ state: 'absent' }));
    assert.equal(line?.ok, false);
    assert.match(line?.message ?? '', /2 Ready Nodes.*another project/);
  });

  it('succeeds when the cloud shows one of them', async () => {
    const nodes = [node('a', 'simulated://sim-1/i-1', 'True'), node('b', 'simulated://sim-1/i-2', 'True')];
    const line = await visibilityOf(nodes, (id) => (id.endsWith('i-2') ? found : { state: 'absent' }));
    assert.equal(line?.ok, true);
    assert.match(line?.message ?? '', /Node b/);
  });

  it('ignores Nodes that may be gone or are of another cloud', async () => {
    const nodes = [node('a', 'simulated://sim-1/i-1', 'Unknown'), node('b', 'aws:///z/i-0', 'True')];
    assert.equal(await visibilityOf(nodes, () => ({ state: 'absent' })), undefined);
  });
});

describe('check of two clouds that take the same providerIDs', () => {
  const scopes = ['http://cloud/a/sim-1', 'http://cloud/b/sim-1'];
  const nodes = (isRecorded: boolean) =>
    scopes.flatMap((scope, of) =>
      Array.from({ length: 6 }, (_, at) => {
        const annotations = isRecorded ? { 'mooring.dev/instance': `${scope} boot-1` } : {};
        return node(`${'ab'[of]}${at}`, `simulated://sim-1/${'ab'[of]}${at}`, 'True', annotations);
      }),
    );
  async function visibilityIn(isRecorded: boolean, shown: (of: number, providerID: string) => boolean) {
    const clouds = scopes.map((scope, of) => {
      return { ...cloudWith((id) => (shown(of, id) ? found : { state: 'absent' })), scope };
    });
    const lines = await runChecks(apiWith(nodes(isRecorded)), clouds, permissions, signal);
    return lines.filter(({ name }) => name === 'living nodes').map(({ of, ok }) => [of, ok]);
  }
  const isOwn = (of: number, providerID: string) => providerID.includes(`/${'ab'[of]}`);

  it('looks up in each scope the Nodes that were found there before', async () => {
    const [a, b] = scopes;
    const both = [
      [a, true],
      [b, true],
    ];
    assert.deepEqual(await visibilityIn(true, isOwn), both);
    const withoutB = [
      [a, true],
      [b, false],
    ];
    assert.deepEqual(await visibilityIn(true, (of, id) => of === 0 && isOwn(of, id)), withoutB);
  });

  it('leaves open whether a scope is seen while its Nodes may all be of the other one', async () => {
    const [a, b] = scopes;
    const open = [
      [a, true],
      [b, null],
    ];
    assert.deepEqual(await visibilityIn(false, isOwn), open);
  });
});

describe('the objects that the controller may not create', () => {
  const apiWithout = (missing: string): KubeApi => ({
    ...apiWith([]),
    call: async <T>(call: KubeCall) => {
      if (!call.path.endsWith(missing)) return apiWith([]).call<T>(call);
      throw new KubeError({ status: 404, reason: 'NotFound', message: `GET ${call.path}: 404` });
    },
  });
  const failed = async (missing: string, asked = permissions) =>
    (await runChecks(apiWithout(missing), [], asked, signal)).filter(({ ok }) => !ok);

  it('exist, or the check fails with the command that restores the missing one', async () => {
    assert.deepEqual(await failed('/nothing'), []);
    const [line, ...others] = await failed('/secrets/mooring-ca');
    assert.deepEqual([line?.name, others], ['Secret mooring-ca', []]);
    assert.match(line?.message ?? '', /kubectl -n kube-system create secret generic mooring-ca/);
  });

  it('checks an object that the controller may not create where a running loop needs it', async () => {
    assert.equal((await failed('/configmaps/mooring-routes')).length, 1);
    const withoutRoutes = permissions.filter(({ name }) => name !== 'mooring-routes');
    assert.deepEqual(await failed('/configmaps/mooring-routes', withoutRoutes), []);
  });
});

describe('a cloud without a credential', () => {
  async function credentialOf(name: string, accepted: readonly string[] = []) {
    const context = { clock: fakeClock(), random: seededRandom(1), log: silentLog, env: {}, onCall: () => {} };
    const clouds = await openClouds([{ name, config: undefined, selector: undefined }], context);
    const lines = await runChecks(apiWith([]), clouds, permissions, signal, new Set(accepted));
    return lines.find((line) => line.name === 'credential');
  }

  it('fails, unless that is accepted by its name', async () => {
    const line = await credentialOf('digitalocean');
    assert.equal(line?.ok, false);
    assert.match(line?.message ?? '', /^report-only .*DO_ACCESS_TOKEN.*accept that by --report-only=digitalocean$/);
    assert.equal((await credentialOf('digitalocean', ['digitalocean']))?.ok, true);
    assert.equal((await credentialOf('digitalocean', ['aws']))?.ok, false);
  });

  it('passes where Mooring does not call the API of such clouds', async () => {
    assert.equal((await credentialOf('oci'))?.ok, true);
  });
});

describe('a cloud that connects and never answers', () => {
  const late = async () => {
    throw new CloudError({ kind: 'Timeout', cloud: 'simulated', operation: 'region', message: 'no answer in 10 s' });
  };

  it('pings a silent cloud without further checks, and reports it in one line', async () => {
    const cloud = cloudWith(() => ({ state: 'absent' }));
    let checks = 0;
    const check = async () => {
      checks += 1;
      return [];
    };
    const silent = { ...cloud, api: { ...cloud.api!, check, ping: late } };
    const nodes = [node('a', 'simulated://sim-1/i-1', 'True')];
    const lines = (await runChecks(apiWith(nodes), [silent], [], signal)).filter(({ of }) => of === cloud.scope);
    assert.equal(checks, 0);
    assert.deepEqual(
      lines.map(({ name, ok }) => [name, ok]),
      [['reachable', false]],
    );
    assert.match(lines[0]!.message, /no answer in 10 s; check that its endpoint is right/);
  });

  it('names a silent cloud while it waits for it, and a quick one no longer', async () => {
    const [silent, quick] = [cloudWith(() => found), cloudWith(() => found)];
    const waiting = new Set<string>();
    const answer = Promise.withResolvers<void>();
    const clouds = [
      { ...silent, scope: 'silent', api: { ...silent.api!, ping: () => answer.promise } },
      { ...quick, scope: 'quick' },
    ];
    const running = runChecks(apiWith([]), clouds, permissions, signal, new Set(), waiting);
    await new Promise((resolve) => setImmediate(resolve));
    assert.deepEqual([...waiting], ['silent']);
    answer.resolve();
    await running;
    assert.deepEqual([...waiting], []);
  });
});

describe('a permission that could not be reviewed', () => {
  const failing = (status: number, why: string): KubeApi => ({
    ...apiWith([]),
    call: async <T>({ path }: KubeCall) => {
      if (path === '/version') return { gitVersion: 'v1.36.2' } as T;
      if (path === '/api/v1/nodes') return { items: [] } as T;
      throw new KubeError({ status, reason: why, message: `POST ${path}: ${status} ${why}` });
    },
  });

  it('reports a permission that could not be reviewed as unknown, and not as denied', async () => {
    const lines = (await runChecks(failing(500, 'InternalError'), [], permissions, signal)).slice(1);
    assert.ok(lines.length > 5);
    for (const { ok, message } of lines) {
      assert.equal(ok, false);
      assert.match(message, /^unknown: POST .*500 InternalError; needed for: /);
      assert.doesNotMatch(message, /RBAC/);
    }
  });
});

describe('an API server that refuses the credential', () => {
  it('distinguishes a refused credential from an unreachable API server', async () => {
    const refusing = (status: number): KubeApi => ({
      watch: async () => {},
      call: async ({ path }) => {
        throw new KubeError({ status, reason: 'x', message: `GET ${path}: ${status}` });
      },
    });
    const message = async (status: number) =>
      (await runChecks(refusing(status), [], permissions, signal))[0]?.message ?? '';
    assert.match(await message(401), /GET \/version: 401\. The API server answers, but refuses the credential/);
    assert.doesNotMatch(await message(503), /credential/);
  });
});
