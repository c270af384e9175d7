import assert from 'node:assert/strict';
import { X509Certificate } from 'node:crypto';
import { afterEach, beforeEach, describe, it } from 'node:test';
import { createLog } from '../../../common/process/log.ts';
import { type FakeClock, fakeClock, settle } from '../../../common/testing/fake-clock.ts';
import { type KubeApi, KubeError } from '../../kube/api.ts';
import { createShippedObjects } from '../../kube/shipped-objects.ts';
import type { ServingCredentials } from '../../runtime/serving/credentials.ts';
import { type FakeObjects, fakeObjects } from '../testing/fake-objects.ts';
import { type CertificateKeeper, createSelfManagedKeeper } from './keeper.ts';
import { createReplicaDirectory } from './urls.ts';

const secretPath = '/api/v1/namespaces/kube-system/secrets/mooring-ca';
const configMapPath = '/api/v1/namespaces/kube-system/configmaps/mooring-ca';
const day = 86_400_000;

interface Replica {
  leading: boolean;
  readonly keeper: CertificateKeeper;
  readonly used: ServingCredentials[];
}

describe('self-managed certificates', () => {
  let clock: FakeClock;
  let kube: FakeObjects;
  let replicas: Replica[];
  let lines: string[];
  let missing: Map<string, number>;

  beforeEach(() => {
    clock = fakeClock();
    kube = fakeObjects();
    // As the manifests ship them.
    for (const path of [secretPath, configMapPath]) ship(path);
    replicas = [];
    lines = [];
    missing = new Map();
  });
  afterEach(async () => {
    kube.intercept = () => {};
    for (const { keeper } of replicas) await keeper.stop();
  });

  const ship = (path: string) =>
    kube.objects.set(path, { metadata: { name: 'mooring-ca', resourceVersion: '0', labels: { app: 'mooring' } } });

  function replica(identity: string, leading: boolean, intervalMs = 30_000): Replica {
    const used: ServingCredentials[] = [];
    const self = { leading, used } as { leading: boolean; used: ServingCredentials[]; keeper: CertificateKeeper };
    const fencedApi: KubeApi = {
      call(call) {
        if (self.leading) return kube.api.call(call);
        return Promise.reject(new KubeError({ status: 0, reason: 'Fenced', message: 'not the leader' }));
      },
      watch: kube.api.watch,
    };
    const log = createLog({ clock, level: 'info', format: 'json', write: (line) => lines.push(line) });
    const directory = createReplicaDirectory({
      namespace: 'kube-system',
      api: kube.api,
      fencedApi,
      clock,
      identity,
      url: `https://${identity}.example:10270`,
    });
    self.keeper = createSelfManagedKeeper({
      api: kube.api,
      fencedApi,
      leadership: {
        get leading() {
          return self.leading;
        },
      },
      clock,
      log,
      directory,
      shipped: createShippedObjects('kube-system', {
        log,
        missing: { set: ({ kind }, value) => missing.set(kind, value) },
      }),
      onCredentials: (credentials) => used.push(credentials),
      intervalMs,
    });
    replicas.push(self);
    return self;
  }

  /** Waits until the passes in progress are done: issuing takes real time. */
  async function quiet(condition: () => boolean): Promise<void> {
    for (let round = 0; round < 10_000 && !condition(); round += 1) {
      if (round < 100) await settle(1);
      else await new Promise((resolve) => setTimeout(resolve, 1));
    }
    assert.ok(condition(), lines.join(''));
  }

  const bundle = () => kube.objects.get(configMapPath)?.data?.['ca.crt'] ?? '';
  const urls = () => kube.objects.get(configMapPath)?.data?.['controller-urls'] ?? '';
  const secret = (key: string) => Buffer.from(kube.objects.get(secretPath)?.data?.[key] ?? '', 'base64').toString();

  /** Whether a peer that trusts these verifies this certificate at this time. */
  function verifies(trusted: string, { cert }: ServingCredentials, at: number): boolean {
    const leaf = new X509Certificate(cert);
    const authorities = (trusted.match(/-----BEGIN[\s\S]+?-----END CERTIFICATE-----\n/g) ?? []).map(
      (pem) => new X509Certificate(pem),
    );
    const valid = (one: X509Certificate) => one.validFromDate.getTime() <= at && at < one.validToDate.getTime();
    return valid(leaf) && authorities.some((one) => valid(one) && leaf.checkIssued(one) && leaf.verify(one.publicKey));
  }

  it('fills the empty Secret, publishes authority and URL, and serves the names agents ask for', async () => {
    const { keeper, used } = replica('a', true);
    const credentials = await keeper.start();
    await quiet(() => urls() !== '');
    assert.equal(used.length, 1);
    assert.ok(verifies(bundle(), credentials, clock.now()));
    assert.equal(urls(), 'https://a.example:10270\n');
    const names = new X509Certificate(credentials.cert).subjectAltName ?? '';
    assert.match(
      names,
      /DNS:mooring-controller\.kube-system\.svc, DNS:mooring-controller\.kube-system\.svc\.cluster\.local/,
    );
  });

  it('keeps private keys out of the ConfigMap and the log', async () => {
    const { keeper } = replica('a', true);
    await keeper.start();
    await quiet(() => urls() !== '');
    assert.ok(!JSON.stringify(kube.objects.get(configMapPath)).includes('PRIVATE'));
    assert.ok(!lines.join('').includes('BEGIN'));
  });

  it('leaves other keys of the ConfigMap alone', async () => {
    const metadata = { name: 'mooring-ca', resourceVersion: '0', labels: { app: 'mooring' } };
    kube.objects.set(configMapPath, { metadata, data: { paused: 'true', 'ca.crt': '' } });
    await replica('a', true).keeper.start();
    await quiet(() => urls() !== '');
    const found = kube.objects.get(configMapPath);
    assert.deepEqual([found?.data?.['paused'], found?.metadata.labels], ['true', { app: 'mooring' }]);
  });

  it('leaves the labels of the Secret alone, and creates no Secret or ConfigMap', async () => {
    await replica('a', true).keeper.start();
    await quiet(() => urls() !== '');
    assert.deepEqual(kube.objects.get(secretPath)?.metadata.labels, { app: 'mooring' });
    assert.deepEqual(
      kube.calls.filter(({ verb }) => verb === 'create'),
      [],
    );
  });

  for (const [path, kind, restore] of [
    [secretPath, 'Secret', 'kubectl -n kube-system create secret generic mooring-ca'],
    [configMapPath, 'ConfigMap', 'kubectl -n kube-system create configmap mooring-ca'],
  ] as const) {
    const logged = (text: string) => lines.map((line) => JSON.parse(line)).filter(({ msg }) => msg.includes(text));

    it(`says once that the ${kind} is missing and how to restore it, and starts when it is there`, async () => {
      kube.objects.delete(path);
      const { keeper } = replica('a', true);
      const started = keeper.start();
      await quiet(() => logged('pass over the certificates').length > 0);
      for (let pass = 0; pass < 24; pass += 1) await clock.advance(5_000);
      const told = logged('an object of the manifests is missing');
      assert.deepEqual(
        told.map((line) => [line.kind, line.name, line.restore]),
        [[kind, 'mooring-ca', restore]],
      );
      assert.equal(missing.get(kind), 1);
      const failures = logged('pass over the certificates');
      assert.ok(failures.length >= 2 && failures.length <= 4, `${failures.length} lines in two minutes`);
      assert.ok(failures.every(({ error }) => error.includes(restore)));
      ship(path);
      await clock.advance(5_000);
      await started;
      await quiet(() => urls() !== '' && missing.get(kind) === 0);
      assert.equal(logged('has been restored').length, 1);
    });

    it(`goes on serving while the ${kind} that was deleted is missing, and fills the restored one`, async () => {
      const { keeper, used } = replica('a', true);
      await keeper.start();
      await quiet(() => urls() !== '');
      kube.objects.delete(path);
      await clock.advance(30_000);
      await quiet(() => missing.get(kind) === 1);
      assert.equal(used.length, 1);
      ship(path);
      await clock.advance(5_000);
      await quiet(() => urls() !== '' && secret('tls.crt') !== '');
      await quiet(() => verifies(bundle(), used.at(-1) ?? assert.fail(), clock.now()));
    });
  }

  it('serves before the election, from a Secret that the first of several replicas filled', async () => {
    const all = ['a', 'b', 'c'].map((identity) => replica(identity, false));
    const credentials = await Promise.all(all.map(({ keeper }) => keeper.start()));
    assert.equal(new Set(credentials.map(({ cert }) => cert)).size, 1);
    assert.equal(kube.objects.get(configMapPath)?.data, undefined);
  });

  it('lets only the leader publish, with the URLs of all live replicas', async () => {
    const a = replica('a', false);
    const b = replica('b', false);
    await Promise.all([a.keeper.start(), b.keeper.start()]);
    b.leading = true;
    b.keeper.wake();
    await quiet(() => urls() !== '');
    assert.equal(urls(), 'https://a.example:10270\nhttps://b.example:10270\n');
    await a.keeper.stop();
    await clock.advance(30_000);
    await quiet(() => urls() === 'https://b.example:10270\n');
  });

  it('writes nothing more while nothing changes, except its own announcement', async () => {
    await replica('a', true).keeper.start();
    await quiet(() => replicas[0]?.keeper.lastPassAt() !== undefined);
    const before = kube.calls.length;
    for (let minute = 0; minute < 10; minute += 1) await clock.advance(60_000);
    const writes = kube.calls.slice(before).filter(({ verb }) => verb !== 'get');
    assert.equal(writes.length, 10);
    assert.ok(writes.every(({ path }) => path.endsWith('/leases/mooring-controllers')));
  });

  it('issues new certificates for an unusable Secret, and logs it', async () => {
    const data = { 'ca.crt': 'bm9uc2Vuc2U=' };
    kube.objects.set(secretPath, { metadata: { name: 'mooring-ca', resourceVersion: '0' }, data });
    const standby = replica('b', false);
    const waiting = standby.keeper.start();
    await quiet(() => lines.some((line) => line.includes('unusable')));
    assert.equal(standby.used.length, 0);
    const credentials = await replica('a', true).keeper.start();
    await clock.advance(30_000);
    assert.equal((await waiting).cert, credentials.cert);
  });

  it('retries while the API server is unreachable', async () => {
    let away = true;
    kube.intercept = () => {
      if (away) throw new KubeError({ status: 0, reason: 'Unreachable', message: 'refused' });
    };
    const { keeper } = replica('a', true);
    const first = keeper.start();
    await clock.advance(20_000);
    away = false;
    await clock.advance(5_000);
    await first;
    assert.ok(lines.some((line) => line.includes('refused')));
  });

  it('rejects the start when stopped before there was a certificate', async () => {
    kube.intercept = () => {
      throw new KubeError({ status: 403, reason: 'Forbidden', message: 'no' });
    };
    const { keeper } = replica('a', true);
    const first = keeper.start();
    await keeper.stop();
    await assert.rejects(first, /stopped/);
  });

  it('rotates for three years so that a day-old bundle verifies leader and standby at every pass', async () => {
    const leader = replica('a', true, day);
    const standby = replica('b', false, day);
    await leader.keeper.start();
    await standby.keeper.start();
    await quiet(() => urls() !== '' && replicas.every(({ keeper }) => keeper.lastPassAt() !== undefined));
    const bundles: string[] = [bundle()];
    const seen = new Set<string>();
    for (let step = 0; step < 3 * 365; step += 1) {
      const passedAt = clock.monotonic();
      await clock.advance(day);
      await quiet(() => replicas.every(({ keeper }) => (keeper.lastPassAt() ?? 0) > passedAt));
      bundles.push(bundle());
      const yesterday = bundles[Math.max(0, bundles.length - 2)] ?? '';
      for (const { used } of replicas) {
        const credentials = used.at(-1) ?? assert.fail();
        assert.ok(verifies(yesterday, credentials, clock.now()), `${step} days in`);
        seen.add(credentials.cert);
      }
    }
    const authorities = new Set(bundles.join('').match(/-----BEGIN[\s\S]+?-----END CERTIFICATE-----\n/g));
    assert.equal(authorities.size, 3);
    assert.ok(seen.size >= 10, `${seen.size} serving certificates`);
    assert.ok(!bundles.some((one) => one.length > 3 * 800));
    assert.equal(secret('next-ca.key'), '');
    assert.ok(clock.now() - Date.parse('2026-01-01') >= 3 * 365 * day);
  });
});
