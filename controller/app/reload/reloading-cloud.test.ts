import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { CloudError } from '../../../common/cloud-error.ts';
import { createLog } from '../../../common/process/log.ts';
import { type FakeClock, fakeClock, settle } from '../../../common/testing/fake-clock.ts';
import { type Cloud, CloudConfigError, type CloudConfigFile, type Lookup, refKey } from '../../clouds/cloud.ts';
import type { Routes } from '../../clouds/routes.ts';
import { exampleInstance } from '../../model/testing/example-instance.ts';
import { createReloadingCloud, type ReloadResult } from './reloading-cloud.ts';

const secretFile = '/etc/cloud/secret';
const configFile = '/etc/cloud/config';

interface Opened {
  readonly config: string;
  readonly secret: string;
  closed: boolean;
}

interface Harness {
  readonly clock: FakeClock;
  readonly files: Map<string, string>;
  readonly opened: Opened[];
  readonly results: ReloadResult[];
  readonly lines: string[];
  readonly cloud: Cloud;
  /** The result of `ping` for a credential. */
  ping: (secret: string) => Promise<void>;
  /** Credentials that the cloud accepts and that see no instances. */
  readonly withoutVisibility: Set<string>;
  /** How long a lookup takes, milliseconds. */
  lookupMs: number;
  /** The secret that answered. */
  asked(): Promise<string>;
}

const noRoutes: Routes = {
  tagged: true,
  observe: async () => ({ routes: [], quota: undefined }),
  create: () => Promise.reject(new Error('not here')),
  remove: () => Promise.reject(new Error('not here')),
};

async function setUp(changes: { readonly ping?: false } = {}): Promise<Harness> {
  const clock = fakeClock();
  const files = new Map([
    [configFile, 'scope: one'],
    [secretFile, 'secret-1'],
  ]);
  const opened: Opened[] = [];
  const results: ReloadResult[] = [];
  const lines: string[] = [];
  const log = createLog({ clock, level: 'debug', format: 'json', write: (line) => lines.push(line) });

  async function open(config: CloudConfigFile | undefined): Promise<Cloud> {
    const text = config?.text ?? '';
    if (!text.startsWith('scope: ')) throw new CloudConfigError(`${configFile}: scope: missing`);
    const one: Opened = { config: text, secret: files.get(secretFile) ?? '', closed: false };
    opened.push(one);
    return {
      name: 'aws',
      scope: text.split('\n')[0] ?? '',
      account: 'one',
      accepts: () => true,
      files: [secretFile],
      instances: {
        batchSize: 10,
        async lookup(refs) {
          await new Promise<void>((resolve) => clock.setTimer(harness.lookupMs, resolve));
          assert.equal(one.closed, false, 'asked after it was closed');
          const answer: Lookup = harness.withoutVisibility.has(one.secret)
            ? { state: 'absent' }
            : { state: 'found', instance: exampleInstance(), power: 'running', request: 'id' };
          return new Map([
            [one.secret, { state: 'absent' as const }],
            ...refs.map((ref) => [refKey(ref), answer] as const),
          ]);
        },
      },
      ...(text.includes('routes') && { routes: noRoutes }),
      ...(changes.ping !== false && { ping: () => harness.ping(one.secret) }),
      check: async () => [],
      close() {
        one.closed = true;
      },
    };
  }

  const readFile = async (path: string) => {
    const text = files.get(path);
    if (text === undefined) throw Object.assign(new Error(`ENOENT: ${path}`), { code: 'ENOENT' });
    return text;
  };
  const config = { path: configFile, text: files.get(configFile) ?? '' };
  const harness = {
    clock,
    files,
    opened,
    results,
    lines,
    ping: async () => {},
    withoutVisibility: new Set(),
    lookupMs: 0,
    async asked() {
      const answer = harness.cloud.instances.lookup([]);
      await clock.advance(harness.lookupMs);
      return [...(await answer).keys()].join();
    },
    cloud: undefined as never,
  } as { -readonly [K in keyof Harness]: Harness[K] };
  harness.cloud = await createReloadingCloud(
    { cloud: await open(config), config, open },
    { clock, random: () => 0.5, log, readFile, onReload: (_, result) => results.push(result) },
  );
  return harness;
}

const refuses = (...bad: string[]) => {
  return async (secret: string) => {
    if (!bad.includes(secret)) return;
    throw new CloudError({
      kind: 'Unauthorized',
      cloud: 'aws',
      operation: 'GetCallerIdentity',
      message: 'no such key',
    });
  };
};

describe('createReloadingCloud', () => {
  it('opens nothing while the files stay as they are', async () => {
    const harness = await setUp();
    await harness.clock.advance(3_600_000);
    assert.equal(harness.opened.length, 1);
    assert.deepEqual(harness.results, []);
    harness.cloud.close();
    assert.equal(harness.clock.pending, 0);
  });

  it('uses a new credential once its ping succeeded, and closes the previous cloud', async () => {
    const harness = await setUp();
    harness.files.set(secretFile, 'secret-2');
    await harness.clock.advance(10_000);
    assert.equal(await harness.asked(), 'secret-2');
    assert.deepEqual(harness.results, ['ok']);
    assert.equal(harness.cloud.credential, 1, 'what the one before has shown does not count for it');
    assert.deepEqual(
      harness.opened.map(({ closed }) => closed),
      [true, false],
    );
    await harness.clock.advance(60_000);
    assert.equal(harness.opened.length, 2);
    harness.cloud.close();
  });

  it('keeps the previous cloud while the new one is refused, and retries with back-off', async () => {
    const harness = await setUp();
    harness.ping = refuses('secret-2');
    harness.files.set(secretFile, 'secret-2');
    await harness.clock.advance(10_000);
    assert.equal(await harness.asked(), 'secret-1');
    await harness.clock.advance(600_000);
    assert.ok(harness.results.length >= 4 && harness.results.length <= 8, String(harness.results.length));
    assert.deepEqual(new Set(harness.results), new Set(['refused']));
    assert.deepEqual(
      harness.opened.map(({ closed }) => closed),
      [false, ...harness.results.map(() => true)],
    );
    harness.ping = async () => {};
    await harness.clock.advance(330_000);
    assert.equal(await harness.asked(), 'secret-2');
    assert.equal(harness.results.at(-1), 'ok');
    harness.cloud.close();
  });

  it('refuses a credential that finds none of the instances that the current one finds', async () => {
    const harness = await setUp();
    const refs = [{ by: 'providerID', providerID: 'aws:///z/i-1' } as const];
    const first = harness.cloud.instances.lookup(refs);
    await harness.clock.advance(0);
    await first;
    harness.withoutVisibility.add('secret-2');
    harness.files.set(secretFile, 'secret-2');
    await harness.clock.advance(20_000);
    assert.deepEqual(new Set(harness.results), new Set(['refused']));
    assert.equal(await harness.asked(), 'secret-1');
    harness.withoutVisibility.add('secret-1');
    await harness.clock.advance(60_000);
    assert.equal(harness.results.at(-1), 'ok');
    assert.equal(await harness.asked(), 'secret-2');
    harness.cloud.close();
  });

  it('tries a third credential at once, however long the second one would have waited', async () => {
    const harness = await setUp();
    harness.ping = refuses('secret-2');
    harness.files.set(secretFile, 'secret-2');
    await harness.clock.advance(600_000);
    harness.files.set(secretFile, 'secret-3');
    await harness.clock.advance(10_000);
    assert.equal(await harness.asked(), 'secret-3');
    harness.cloud.close();
  });

  it('drops a change that was reverted', async () => {
    const harness = await setUp();
    harness.ping = refuses('secret-2');
    harness.files.set(secretFile, 'secret-2');
    await harness.clock.advance(10_000);
    harness.files.set(secretFile, 'secret-1');
    await harness.clock.advance(900_000);
    assert.deepEqual(harness.results, ['refused', 'reverted']);
    harness.cloud.close();
  });

  it('lets calls in progress end on the cloud where they began', async () => {
    const harness = await setUp();
    harness.lookupMs = 30_000;
    const early = harness.cloud.instances.lookup([]);
    harness.files.set(secretFile, 'secret-2');
    await harness.clock.advance(15_000);
    assert.deepEqual(harness.results, ['ok']);
    assert.equal(harness.opened[0]?.closed, false);
    await harness.clock.advance(15_000);
    assert.deepEqual([...(await early).keys()], ['secret-1']);
    assert.equal(harness.opened[0]?.closed, true);
    harness.cloud.close();
  });

  it('asks for a restart when the new configuration reaches another scope or serves other things', async () => {
    const harness = await setUp();
    for (const text of ['scope: two', 'scope: one\nroutes']) {
      harness.files.set(configFile, text);
      await harness.clock.advance(900_000);
      assert.equal(await harness.asked(), 'secret-1');
    }
    assert.deepEqual(harness.results, ['restart-needed', 'restart-needed']);
    assert.equal(harness.lines.filter((line) => line.includes('"level":"error"')).length, 2);
    assert.deepEqual(
      harness.opened.map(({ closed }) => closed),
      [false, true, true],
    );
    harness.cloud.close();
  });

  it('keeps the previous cloud while the configuration is unreadable or invalid', async () => {
    const harness = await setUp();
    harness.files.set(configFile, 'nonsense');
    await harness.clock.advance(10_000);
    harness.files.delete(configFile);
    await harness.clock.advance(10_000);
    assert.equal(await harness.asked(), 'secret-1');
    assert.deepEqual(harness.results, ['invalid', 'invalid']);
    harness.cloud.close();
  });

  it('tries a credential that arrived during the ping of another one', async () => {
    const harness = await setUp();
    harness.ping = async () => {
      harness.files.set(secretFile, 'secret-3');
      harness.ping = async () => {};
    };
    harness.files.set(secretFile, 'secret-2');
    await harness.clock.advance(20_000);
    assert.equal(await harness.asked(), 'secret-3');
    harness.cloud.close();
  });

  it('never logs what the files hold', async () => {
    const harness = await setUp();
    harness.ping = refuses('secret-2');
    for (const secret of ['secret-2', 'secret-3']) {
      harness.files.set(secretFile, secret);
      await harness.clock.advance(60_000);
    }
    assert.ok(harness.lines.length >= 4);
    assert.equal(harness.lines.join('').includes('secret-'), false);
    harness.cloud.close();
  });

  it('ends a ping in progress when it is closed', async () => {
    const harness = await setUp();
    let answer = () => {};
    harness.ping = () =>
      new Promise((resolve) => {
        answer = resolve;
      });
    harness.files.set(secretFile, 'secret-2');
    await harness.clock.advance(10_000);
    harness.cloud.close();
    answer();
    await settle();
    assert.deepEqual(
      harness.opened.map(({ closed }) => closed),
      [true, true],
    );
    assert.deepEqual(harness.results, []);
    assert.equal(harness.clock.pending, 0);
  });

  it('returns the cloud itself where nothing can change', async () => {
    const harness = await setUp({ ping: false });
    assert.equal(harness.clock.pending, 0);
    harness.files.set(secretFile, 'secret-2');
    await harness.clock.advance(60_000);
    assert.equal(harness.opened.length, 1);
  });
});
