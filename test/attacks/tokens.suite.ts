import { createHmac, generateKeyPairSync, randomBytes, sign } from 'node:crypto';
import { Agent, request } from 'node:https';
import { names } from '../../common/well-known.ts';
import type { ApiSuite } from '../conformance/api-under-test.ts';
import { inWorld } from '../e2e/in-world.ts';
import { serviceAccountToken } from '../kit/world/manifests.ts';
import type { Replica } from '../kit/world/replica.ts';
import { assertThat, until } from '../kit/world/scenario.ts';
import type { World } from '../kit/world/world.ts';
import { agentFiles, postReport, readyLeader, statusOf, takesReport } from './victim.ts';

const base64 = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url');
const partsOf = (token: string) => token.split('.') as [string, string, string];
const reviewsOf = async (replica: Replica) =>
  [...(await replica.metrics())].reduce(
    (sum, [sample, count]) =>
      sample.startsWith('rest_client_requests_total{') && sample.includes('tokenreviews') ? sum + count : sum,
    0,
  );

/**
 * Sends random tokens over as many connections as a greedy client would open; returns the number of answers by status.
 */
async function flood(port: number, path: string, count: number, sockets: number): Promise<ReadonlyMap<number, number>> {
  const agent = new Agent({ keepAlive: true, maxSockets: sockets, rejectUnauthorized: false });
  const statuses = new Map<number, number>();
  let left = count;
  async function one(): Promise<void> {
    while (left > 0) {
      left -= 1;
      const headers = { authorization: `Bearer ${randomBytes(24).toString('base64url')}` };
      const status = await new Promise<number>((resolve) => {
        const asked = request({ host: '127.0.0.1', port, path, agent, headers }, (answer) => {
          answer.resume().on('end', () => resolve(answer.statusCode ?? 0));
        });
        asked.on('error', () => resolve(0)).end();
      });
      statuses.set(status, (statuses.get(status) ?? 0) + 1);
    }
  }
  await Promise.all(Array.from({ length: sockets }, one)).finally(() => agent.destroy());
  return statuses;
}

/** Tokens that must not prove anything, each with the one status that it gets. */
async function badTokens(world: World, good: string): Promise<readonly (readonly [what: string, token: string])[]> {
  const [head, payload, signature] = partsOf(good);
  const claims = JSON.parse(Buffer.from(payload, 'base64url').toString('utf8')) as object;
  const { privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 });
  const own = `${base64({ alg: 'RS256', typ: 'JWT' })}.${payload}`;
  const hmac = `${base64({ alg: 'HS256', typ: 'JWT' })}.${payload}`;
  const account = { namespace: names.namespace, name: names.agent };
  const other = { namespace: names.namespace, name: names.controller };
  return [
    ['no token', ''],
    ['garbage', 'garbage'],
    ['alg=none', `${base64({ alg: 'none', typ: 'JWT' })}.${payload}.x`],
    ['another payload under the signature', `${head}.${base64({ ...claims, sub: 'system:admin' })}.${signature}`],
    ['a key of its own', `${own}.${sign('sha256', Buffer.from(own), privateKey).toString('base64url')}`],
    ['an HMAC', `${hmac}.${createHmac('sha256', 'secret').update(hmac).digest('base64url')}`],
    ['another audience', await serviceAccountToken(world.rest, account, { audience: 'vault' })],
    ["the API server's audience", await serviceAccountToken(world.rest, account)],
    ['neither pod nor node', await serviceAccountToken(world.rest, account, { audience: names.audience })],
    ['another ServiceAccount', await serviceAccountToken(world.rest, other, { audience: names.audience })],
  ];
}

/** What tokens can do at the two ports of a controller. */
export const tokensSuite: ApiSuite = {
  name: 'tokens',
  run: (api, suiteCheck) =>
    inWorld({ api, nodes: 1, agentProcesses: 0 }, suiteCheck, async (world, check) => {
      const leader = await readyLeader(world);
      const { token, ca } = await agentFiles(world);
      const report = (bearer: string) => postReport(leader, ca, bearer, '{}');
      await check("an agent's own token is believed", async () => {
        const { status } = await report(token);
        assertThat(status === 422, `an empty report was answered with ${status}, expected its refusal as a report`);
      });
      for (const [what, bad] of await badTokens(world, token)) {
        await check(`a token with ${what} proves nothing at the report API`, async () => {
          const { status, text } = await report(bad);
          assertThat(status === 401 || status === 403, `${status} ${text}`);
        });
      }
      await check("an agent's token, none and another account's read no metrics", async () => {
        const plain = await serviceAccountToken(world.rest, { namespace: names.namespace, name: names.agent });
        for (const path of ['/metrics', '/configz']) {
          for (const bearer of ['', token, plain]) {
            const headers: Record<string, string> = bearer === '' ? {} : { authorization: `Bearer ${bearer}` };
            const status = await statusOf(leader.securePort, path, { headers });
            assertThat([401, 403, 429].includes(status), `${path} was answered with ${status}`);
          }
        }
      });
      await check('10,000 random tokens cost at most 300 reviews, and neither scrapers nor Services wait', async () => {
        const before = await reviewsOf(leader);
        let scrapes = 0;
        let over = false;
        const scraping = (async () => {
          while (!over) {
            await leader.metrics();
            scrapes += 1;
            await new Promise((resolve) => setTimeout(resolve, 250));
          }
        })();
        const service = world.rest.must('POST', '/api/v1/namespaces/default/services', {
          apiVersion: 'v1',
          kind: 'Service',
          metadata: { name: 'meanwhile' },
          spec: { type: 'LoadBalancer', selector: { app: 'web' }, ports: [{ port: 80, nodePort: 30_080 }] },
        });
        const statuses = await flood(leader.securePort, '/metrics', 10_000, 60).finally(() => {
          over = true;
        });
        await scraping;
        await service;
        await until('the Service has its address', 30_000, async () => {
          const { body } = await world.rest.call('GET', '/api/v1/namespaces/default/services/meanwhile');
          return body?.status?.loadBalancer?.ingress?.length > 0;
        });
        const reviews = (await reviewsOf(leader)) - before;
        const told = JSON.stringify([...statuses]);
        assertThat(reviews <= 300, `${reviews} reviews; ${told}`);
        assertThat(scrapes > 0, 'no scrape went through');
        assertThat(
          [...statuses.keys()].every((status) => [0, 401, 429].includes(status)),
          told,
        );
        await takesReport(world, leader);
      });
    }),
};
