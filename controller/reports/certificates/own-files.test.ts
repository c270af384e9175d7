import assert from 'node:assert/strict';
import { before, beforeEach, describe, it } from 'node:test';
import { silentLog } from '../../../common/process/log.ts';
import { type FakeClock, fakeClock, settle } from '../../../common/testing/fake-clock.ts';
import { createShippedObjects } from '../../kube/shipped-objects.ts';
import type { ServingCredentials } from '../../runtime/serving/credentials.ts';
import { type FakeObjects, fakeObjects } from '../testing/fake-objects.ts';
import { issueSelfSigned } from './ca.ts';
import type { CertificateKeeper } from './keeper.ts';
import { createOwnFilesKeeper } from './own-files.ts';
import { createReplicaDirectory } from './urls.ts';

const configMapPath = '/api/v1/namespaces/kube-system/configmaps/mooring-ca';

describe('certificates of the operator', () => {
  let pairs: ServingCredentials[];
  let clock: FakeClock;
  let kube: FakeObjects;
  let files: Map<string, string>;
  let used: ServingCredentials[];

  before(async () => {
    const validity = { notBefore: 0, notAfter: 4_000_000_000_000 };
    pairs = [await issueSelfSigned(['a'], validity), await issueSelfSigned(['a'], validity)];
  });

  beforeEach(() => {
    clock = fakeClock();
    kube = fakeObjects();
    kube.objects.set(configMapPath, { metadata: { name: 'mooring-ca', resourceVersion: '0' } });
    used = [];
    files = new Map([
      ['tls.crt', pairs[0]?.cert ?? ''],
      ['tls.key', pairs[0]?.key ?? ''],
      ['ca.crt', 'the authority'],
    ]);
  });

  function keeper(leading: boolean, more: { caFile?: string } = {}): CertificateKeeper {
    const directory = createReplicaDirectory({
      namespace: 'kube-system',
      api: kube.api,
      fencedApi: kube.api,
      clock,
      identity: 'a',
      url: 'https://a.example:10270',
    });
    return createOwnFilesKeeper({
      api: kube.api,
      fencedApi: kube.api,
      leadership: { leading },
      clock,
      log: silentLog,
      directory,
      shipped: createShippedObjects('kube-system'),
      onCredentials: (credentials) => used.push(credentials),
      files: { certFile: 'tls.crt', keyFile: 'tls.key' },
      readFile: async (path) => files.get(path) ?? assert.fail(`${path} is not there`),
      ...more,
    });
  }

  it('publishes the URLs and leaves the authority to the operator', async () => {
    kube.objects.set(configMapPath, {
      metadata: { name: 'mooring-ca', resourceVersion: '0' },
      data: { 'ca.crt': 'mine' },
    });
    const one = keeper(true);
    assert.deepEqual(await one.start(), pairs[0]);
    await settle();
    assert.deepEqual(kube.objects.get(configMapPath)?.data, {
      'ca.crt': 'mine',
      'controller-urls': 'https://a.example:10270\n',
    });
    assert.ok(!kube.calls.some(({ path }) => path.includes('/secrets')));
    await one.stop();
  });

  it('publishes the given authority and its changes', async () => {
    const one = keeper(true, { caFile: 'ca.crt' });
    await one.start();
    await settle();
    assert.equal(kube.objects.get(configMapPath)?.data?.['ca.crt'], 'the authority');
    files.set('ca.crt', 'the next');
    await clock.advance(30_000);
    assert.equal(kube.objects.get(configMapPath)?.data?.['ca.crt'], 'the next');
    await one.stop();
  });

  it('publishes nothing where it does not lead', async () => {
    const one = keeper(false, { caFile: 'ca.crt' });
    await one.start();
    await settle();
    assert.equal(kube.objects.get(configMapPath)?.data, undefined);
    await one.stop();
  });

  it('uses files that were replaced, but not half a pair', async () => {
    const one = keeper(false);
    await one.start();
    files.set('tls.crt', pairs[1]?.cert ?? '');
    await clock.advance(60_000);
    assert.equal(used.length, 1);
    files.set('tls.key', pairs[1]?.key ?? '');
    await clock.advance(60_000);
    assert.deepEqual(used, pairs);
    files.delete('tls.key');
    await clock.advance(60_000);
    assert.equal(used.length, 2);
    await one.stop();
    assert.equal(clock.pending, 0);
  });

  it('refuses to start with files that do not match, and names them', async () => {
    files.set('tls.key', pairs[1]?.key ?? '');
    await assert.rejects(keeper(false).start(), /tls\.key: not the key of tls\.crt/);
    files.set('tls.crt', 'x');
    await assert.rejects(keeper(false).start(), /tls\.crt: expected a PEM certificate/);
    assert.equal(clock.pending, 0);
  });
});
