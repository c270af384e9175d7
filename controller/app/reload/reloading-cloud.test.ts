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

interface World {
  readonly clock: FakeClock;
  readonly files: Map<string, string>;
  readonly opened: Opened[];
  readonly results: ReloadResult[];
  readonly lines: string[];
  readonly cloud: Cloud;
  /** What `prove` answers for a credential. */
  ping: (secret: string) => Promise<void>;
  /** Credentials that the cloud takes and shows nothing. */
  readonly blind: Set<string>;
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

async function setUp(changes: { readonly ping?: false } = {}): Promise<World> {
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
          await new Promise<void>((resolve) => clock.setTimer(world.lookupMs, resolve));
          assert.equal(one.closed, false, 'asked after it was closed');
          const answer: Lookup = world.blind.has(one.secret)
            ? { state: 'absent' }
            : { state: 'found', instance: exampleInstance(), power: 'running', request: 'id' };
          return new Map([
            [one.secret, { state: 'absent' as const }],
            ...refs.map((ref) => [refKey(ref), answer] as const),
          ]);
        },
      },
      ...(text.includes('routes') && { routes: noRoutes }),
      ...(changes.ping !== false && { ping: () => world.ping(one.secret) }),
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
  const world = {
    ...{ clock, files, opened, results, lines },
    ping: async () => {},
    blind: new Set(),
    lookupMs: 0,
    async asked() {
      const answer = world.cloud.instances.lookup([]);
      await clock.advance(world.lookupMs);
      return [...(await answer).keys()].join();
    },
    cloud: undefined as never,
  } as { -readonly [K in keyof World]: World[K] };
  world.cloud = await createReloadingCloud(
    { cloud: await open(config), config, open },
    { clock, random: () => 0.5, log, readFile, onReload: (_, result) => results.push(result) },
  );
  return world;
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
    const world = await setUp();
    await world.clock.advance(3_600_000);
    assert.equal(world.opened.length, 1);
    assert.deepEqual(world.results, []);
    world.cloud.close();
    assert.equal(world.clock.pending, 0);
  });

  it('goes on with a new credential once it is proved, and closes the one before', async () => {
    const world = await setUp();
    world.files.set(secretFile, 'secret-2');
    await world.clock.advance(10_000);
    assert.equal(await world.asked(), 'secret-2');
    assert.deepEqual(world.results, ['ok']);
    assert.equal(world.cloud.credential, 1, 'what the one before has shown does not count for it');
    assert.deepEqual(
      world.opened.map(({ closed }) => closed),
      [true, false],
    );
    await world.clock.advance(60_000);
    assert.equal(world.opened.length, 2);
    world.cloud.close();
  });

  it('keeps the previous cloud while the new one is refused, and retries with back-off', async () => {
    const world = await setUp();
    world.ping = refuses('secret-2');
    world.files.set(secretFile, 'secret-2');
    await world.clock.advance(10_000);
    assert.equal(await world.asked(), 'secret-1');
    await world.clock.advance(600_000);
    assert.ok(world.results.length >= 4 && world.results.length <= 8, String(world.results.length));
    assert.deepEqual(new Set(world.results), new Set(['refused']));
    assert.deepEqual(
      world.opened.map(({ closed }) => closed),
      [false, ...world.results.map(() => true)],
    );
    world.ping = async () => {};
    await world.clock.advance(330_000);
    assert.equal(await world.asked(), 'secret-2');
    assert.equal(world.results.at(-1), 'ok');
    world.cloud.close();
  });

  it('refuses a credential that finds none of the instances that the current one finds', async () => {
    const world = await setUp();
    const refs = [{ by: 'providerID', providerID: 'aws:///z/i-1' } as const];
    const first = world.cloud.instances.lookup(refs);
    await world.clock.advance(0);
    await first;
    world.blind.add('secret-2');
    world.files.set(secretFile, 'secret-2');
    await world.clock.advance(20_000);
    assert.deepEqual(new Set(world.results), new Set(['refused']));
    assert.equal(await world.asked(), 'secret-1');
    world.blind.add('secret-1');
    await world.clock.advance(60_000);
    assert.equal(world.results.at(-1), 'ok');
    assert.equal(await world.asked(), 'secret-2');
    world.cloud.close();
  });

  it('tries a third credential at once, however long the second one would have waited', async () => {
    const world = await setUp();
    world.ping = refuses('secret-2');
    world.files.set(secretFile, 'secret-2');
    await world.clock.advance(600_000);
    world.files.set(secretFile, 'secret-3');
    await world.clock.advance(10_000);
    assert.equal(await world.asked(), 'secret-3');
    world.cloud.close();
  });

  it('drops a change that was reverted', async () => {
    const world = await setUp();
    world.ping = refuses('secret-2');
    world.files.set(secretFile, 'secret-2');
    await world.clock.advance(10_000);
    world.files.set(secretFile, 'secret-1');
    await world.clock.advance(900_000);
    assert.deepEqual(world.results, ['refused']);
    world.cloud.close();
  });

  it('lets calls under way end where they began', async () => {
    const world = await setUp();
    world.lookupMs = 30_000;
    const early = world.cloud.instances.lookup([]);
    world.files.set(secretFile, 'secret-2');
    await world.clock.advance(15_000);
    assert.deepEqual(world.results, ['ok']);
    assert.equal(world.opened[0]?.closed, false);
    await world.clock.advance(15_000);
    assert.deepEqual([...(await early).keys()], ['secret-1']);
    assert.equal(world.opened[0]?.closed, true);
    world.cloud.close();
  });

  it('asks for a restart when the new configuration reaches another scope or serves other things', async () => {
    const world = await setUp();
    for (const text of ['scope: two', 'scope: one\nroutes']) {
      world.files.set(configFile, text);
      await world.clock.advance(900_000);
      assert.equal(await world.asked(), 'secret-1');
    }
    assert.deepEqual(world.results, ['restart-needed', 'restart-needed']);
    assert.equal(world.lines.filter((line) => line.includes('"level":"error"')).length, 2);
    assert.deepEqual(
      world.opened.map(({ closed }) => closed),
      [false, true, true],
    );
    world.cloud.close();
  });

  it('goes on while the configuration cannot be read or worked with', async () => {
    const world = await setUp();
    world.files.set(configFile, 'nonsense');
    await world.clock.advance(10_000);
    world.files.delete(configFile);
    await world.clock.advance(10_000);
    assert.equal(await world.asked(), 'secret-1');
    assert.deepEqual(world.results, ['invalid', 'invalid']);
    world.cloud.close();
  });

  it('goes on to the next credential, which came while one was proved', async () => {
    const world = await setUp();
    world.ping = async () => {
      world.files.set(secretFile, 'secret-3');
      world.ping = async () => {};
    };
    world.files.set(secretFile, 'secret-2');
    await world.clock.advance(20_000);
    assert.equal(await world.asked(), 'secret-3');
    world.cloud.close();
  });

  it('never logs what the files hold', async () => {
    const world = await setUp();
    world.ping = refuses('secret-2');
    for (const secret of ['secret-2', 'secret-3']) {
      world.files.set(secretFile, secret);
      await world.clock.advance(60_000);
    }
    assert.ok(world.lines.length >= 4);
    assert.equal(world.lines.join('').includes('secret-'), false);
    world.cloud.close();
  });

  it('ends a proof under way when it is closed', async () => {
    const world = await setUp();
    let answer = () => {};
    world.ping = () =>
      new Promise((resolve) => {
        answer = resolve;
      });
    world.files.set(secretFile, 'secret-2');
    await world.clock.advance(10_000);
    world.cloud.close();
    answer();
    await settle();
    assert.deepEqual(
      world.opened.map(({ closed }) => closed),
      [true, true],
    );
    assert.deepEqual(world.results, []);
    assert.equal(world.clock.pending, 0);
  });

  it('is the cloud itself where nothing can change', async () => {
    const world = await setUp({ ping: false });
    assert.equal(world.clock.pending, 0);
    world.files.set(secretFile, 'secret-2');
    await world.clock.advance(60_000);
    assert.equal(world.opened.length, 1);
  });
});
