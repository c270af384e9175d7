import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { after, before, describe, it } from 'node:test';
import { systemClock } from '../../../common/process/clock.ts';
import { createHttp } from '../../../common/process/http.ts';
import { silentLog } from '../../../common/process/log.ts';
import type { AnswerFields } from '../../../controller/clouds/answer-fields.ts';
import type { CloudCall, InstanceRef, Lookup, OpenedCloud } from '../../../controller/clouds/cloud.ts';
import { createClient } from '../../../controller/clouds/openstack/client.ts';
import { cloudModule } from '../../../controller/clouds/openstack/index.ts';
import { createRateLimiters } from '../../../controller/clouds/openstack/rate-limiters.ts';
import { type Connection, connectTo } from './connection.ts';
import { type Servers, serversOf } from './servers.ts';

const ref = (id: string): InstanceRef => ({ by: 'providerID', providerID: `openstack:///${id}` });
const prefix = `mooring-test-${randomUUID().slice(0, 8)}`;

describe(`OpenStack, cloud ${process.env['OS_CLOUD']}`, () => {
  let connection: Connection;
  let servers: Servers;
  let cloud: OpenedCloud;
  let calls: CloudCall[] = [];
  const ids: string[] = [];

  async function open(text?: string): Promise<OpenedCloud> {
    const opened = await cloudModule.open(text === undefined ? undefined : { path: 'cloud.conf', text }, {
      clock: systemClock(),
      random: Math.random,
      log: silentLog,
      env: process.env,
      onCall: (call) => calls.push(call),
    });
    assert.ok('identify' in opened, JSON.stringify(opened));
    return opened;
  }

  before(async () => {
    connection = await connectTo(process.env);
    servers = serversOf(connection);
    cloud = await open();
    for (const name of ['a', 'b.c']) ids.push(await servers.create(`${prefix}-${name}`));
    for (const id of ids) await servers.waitFor(id, 'ACTIVE');
  });
  after(async () => {
    cloud?.close();
    for (const id of ids) await servers.delete(id);
  });

  const one = async (id: string): Promise<Lookup> =>
    (await cloud.instances.lookup([ref(id)])).get(`openstack:///${id}`)!;

  it('finds a server by id, with the facts of its Node', async () => {
    const raw = await servers.get(ids[0]!);
    const lookup = await one(ids[0]!);
    assert.ok(lookup.state === 'found', JSON.stringify(lookup));
    assert.equal(lookup.power, 'running');
    assert.equal(lookup.request, 'id');
    const { instance } = lookup;
    assert.equal(instance.providerID, `openstack:///${ids[0]}`);
    assert.equal(instance.incarnation, ids[0]);
    assert.equal(instance.name, `${prefix}-a`);
    assert.equal(instance.zone, raw?.['OS-EXT-AZ:availability_zone']);
    assert.ok(instance.type);
    const known = Object.values(raw?.['addresses'] as Record<string, { addr: string }[]>).flat();
    assert.ok(known.length > 0);
    for (const { addr } of known)
      assert.ok(
        instance.addresses.some(({ address }) => address === addr),
        addr,
      );
  });

  it('finds servers in the list, and proves by id that others do not exist, with a canary', async () => {
    calls = [];
    const missing = Array.from({ length: 6 }, () => randomUUID());
    const lookups = await cloud.instances.lookup([...ids, ...missing].map(ref), { canaries: [ref(ids[1]!)] });
    for (const id of missing) assert.deepEqual(lookups.get(`openstack:///${id}`), { state: 'absent' });
    const [first, canary] = ids.map((id) => lookups.get(`openstack:///${id}`));
    assert.ok(first?.state === 'found' && first.request === 'list');
    assert.ok(canary?.state === 'found' && canary.request === 'id');
    assert.equal(calls.filter(({ operation }) => operation === 'GET /servers/{id}').length, missing.length + 1);
  });

  it('finds the same in the list as by id', async () => {
    const refs = [...ids, ...Array.from({ length: 4 }, () => randomUUID())].map(ref);
    const listed = (await cloud.instances.lookup(refs)).get(`openstack:///${ids[0]}`);
    const got = await one(ids[0]!);
    assert.ok(listed?.state === 'found' && got.state === 'found');
    assert.deepEqual(listed.instance, got.instance);
  });

  it('finds nodes by exact name alone', async () => {
    const names = [`${prefix}-b.c`, `${prefix}-bxc`, `${prefix}-`];
    const [found, ...others] = [
      ...(await cloud.instances.lookup(names.map((name) => ({ by: 'name', name })))).values(),
    ];
    assert.ok(found?.state === 'found' && found.instance.id === ids[1], JSON.stringify(found));
    for (const other of others)
      assert.ok(other.state === 'unknown' && other.error.kind === 'NotFound', JSON.stringify(other));
  });

  it('follows a server that stops and starts again', async () => {
    await servers.action(ids[0]!, 'os-stop');
    await servers.waitFor(ids[0]!, 'SHUTOFF');
    const stopped = await one(ids[0]!);
    assert.ok(stopped.state === 'found' && stopped.power === 'stopped', JSON.stringify(stopped));
    await servers.action(ids[0]!, 'os-start');
    await servers.waitFor(ids[0]!, 'ACTIVE');
    const started = await one(ids[0]!);
    assert.ok(started.state === 'found' && started.power === 'running', JSON.stringify(started));
  });

  it('proves credentials, endpoints and permissions by check', async () => {
    const results = await cloud.check();
    assert.deepEqual(
      results.filter(({ ok }) => ok === false),
      [],
    );
    assert.equal(results.length, 13);
  });

  it('opens the same cloud with every form of credential', async (t) => {
    const { credential } = connection.config;
    if (credential.method !== 'password') return t.skip('an application credential may not make others');
    const { userId, projectId, token, call } = connection;
    const name = `${prefix}-credential`;
    const credentials = `/users/${userId}/application_credentials`;
    const made = await call('identity', 'POST', credentials, { application_credential: { name } });
    assert.ok(made);
    const { id, secret } = made['application_credential'] as Record<string, string>;
    const trustBody = { trustor_user_id: userId, trustee_user_id: userId, project_id: projectId, impersonation: false };
    const roles = [{ name: 'member' }, { name: 'load-balancer_member' }];
    const trust = await call('identity', 'POST', '/OS-TRUST/trusts', { trust: { ...trustBody, roles } });
    assert.ok(trust);
    const trustId = (trust['trust'] as Record<string, string>)['id'];
    const { authUrl, region } = connection.config;
    const forms: [string, string][] = [
      ['application credential by id', `application-credential-id=${id}\napplication-credential-secret=${secret}`],
      [
        'application credential by name',
        `application-credential-name=${name}\napplication-credential-secret=${secret}\nuser-id=${userId}`,
      ],
      ['token', `token=${token}\ntenant-id=${projectId}`],
      ['trust', `trust-id=${trustId}\ntrustee-id=${userId}\ntrustee-password=${credential.password}`],
      ['password by id', `user-id=${userId}\npassword=${credential.password}\ntenant-id=${projectId}`],
    ];
    try {
      for (const [form, lines] of forms) {
        const opened = await open(`[Global]\nauth-url=${authUrl}\nregion=${region}\n${lines}\n`);
        const lookup = (await opened.instances.lookup([ref(ids[0]!)])).get(`openstack:///${ids[0]}`);
        assert.equal(lookup?.state, 'found', `${form}: ${JSON.stringify(lookup)}`);
        await opened.ping?.();
        opened.close();
      }
    } finally {
      await call('identity', 'DELETE', `/OS-TRUST/trusts/${trustId}`);
      await call('identity', 'DELETE', `${credentials}/${id}`);
    }
  });

  it('answers unknown for everything with a refused credential', async () => {
    const own =
      connection.config.credential.method === 'application_credential' ? 'application-credential-secret' : 'password';
    const unknown = 'application-credential-id = unknown\napplication-credential-secret';
    for (const secret of [own, unknown]) {
      const wrong = await open(`[Global]\nuse-clouds = true\n${secret} = wrong\n`);
      const lookups = await wrong.instances.lookup([ref(ids[0]!), ref(randomUUID())]);
      for (const lookup of lookups.values()) {
        assert.ok(lookup.state === 'unknown' && lookup.error.kind === 'Unauthorized', JSON.stringify(lookup));
      }
      await assert.rejects(async () => wrong.ping?.(), { kind: 'Unauthorized' });
      wrong.close();
    }
  });

  it('reads the same in pages of one as in one page', async () => {
    const { http, close } = createHttp({ clock: systemClock() });
    const rateLimiters = createRateLimiters({ clock: systemClock(), random: Math.random });
    const client = createClient({
      ...connection.config,
      http,
      clock: systemClock(),
      rateLimiters,
      onCall: () => {},
      mutationTimeoutMs: 10_000,
    });
    for (const [service, path, collection] of [
      ['compute', '/servers/detail', 'servers'],
      ['network', '/ports', 'ports'],
    ] as const) {
      const request = { service, path };
      const idsOf = (items: readonly AnswerFields[]) => items.map((item) => item.text('id')).toSorted();
      const before = await client.list(request, collection);
      const paged = await client.list({ ...request, query: [['limit', '1']] }, collection);
      const after = new Set(idsOf(await client.list(request, collection)));
      // Others may be at work in this cloud.
      const lasting = idsOf(before).filter((id) => after.has(id));
      assert.ok(lasting.length >= 2);
      const seen = idsOf(paged);
      assert.deepEqual(
        lasting.filter((id) => !seen.includes(id)),
        [],
      );
      assert.equal(new Set(seen).size, seen.length);
    }
    close();
  });

  it('proves a deleted server absent while the other is found the same way', async () => {
    const id = ids[0]!;
    await servers.delete(id);
    await servers.waitFor(id, undefined);
    const lookups = await cloud.instances.lookup([ref(id)], { canaries: [ref(ids[1]!)] });
    const [deleted, canary] = [...lookups.values()];
    assert.deepEqual(deleted, { state: 'absent' });
    assert.ok(canary?.state === 'found' && canary.request === 'id');
  });
});
