import { isDeepStrictEqual } from 'node:util';
import { type Random, seededRandom } from '../../common/process/random.ts';
import type { ApiSuite, ApiUnderTest } from '../conformance/api-under-test.ts';
import { type Answer, type Client, makeClient } from '../conformance/client.ts';
import { startEmbeddedApi } from '../conformance/embedded-api.ts';
import { patchTypes } from '../conformance/kit.ts';

type Json = Record<string, unknown>;

/** One write of a generated story: a patch of a Node, or of its status. */
interface Step {
  type: string;
  path: '' | '/status';
  body: unknown;
}

/**
 * Random stories of patches on a Node, told to the embedded server and to the real one alike: status, reason and the
 * object must be the same after each step. A seed gives a story again.
 */
export function differentialSuite(options: { stories: number; seed: number }): ApiSuite {
  return {
    name: 'differential',
    async run(real, check) {
      const embedded = await startEmbeddedApi();
      const clients = [real, embedded].map((api: ApiUnderTest) => makeClient(api.url, api.caPem, api.adminToken));
      try {
        for (let i = 0; i < options.stories; i++) {
          const seed = options.seed + i;
          await check(`a story of patches ends alike on both servers (seed ${seed})`, () => tell(seed, clients));
        }
      } finally {
        for (const client of clients) client.close();
        await embedded.stop();
      }
    },
  };
}

async function tell(seed: number, clients: Client[]): Promise<void> {
  const random = seededRandom(seed);
  const name = `story-${seed}`;
  const node = { metadata: { name, labels: labels(random), annotations: labels(random) }, ...start(random) };
  const all = (method: string, path: string, body: unknown, type?: string) =>
    Promise.all(clients.map((client) => client.call(method, path, { body, ...(type ? { type } : {}) })));
  const said: unknown[] = [node];
  compare(await all('POST', '/api/v1/nodes', node), said);
  try {
    for (let i = 0; i < 12; i++) {
      const step = randomStep(random);
      said.push(step);
      compare(await all('PATCH', `/api/v1/nodes/${name}${step.path}`, step.body, step.type), said);
    }
  } finally {
    await all('DELETE', `/api/v1/nodes/${name}`, undefined);
  }
}

function compare(answers: Answer[], said: unknown[]): void {
  const [real, embedded] = answers.map(essence);
  if (isDeepStrictEqual(real, embedded)) return;
  const story = said.slice(-2).map((part) => JSON.stringify(part));
  throw new Error(
    `after ${story.join('\n  then ')}\nreal     ${JSON.stringify(real)}\nembedded ${JSON.stringify(embedded)}`,
  );
}

/** What must be the same: not what each server makes up by itself, and not the words of a refusal. */
function essence(answer: Answer): unknown {
  const { kind, metadata, spec, status, reason } = answer.body as { kind: string; metadata: Json } & Json;
  if (kind === 'Status') return { status: answer.status, reason };
  const { uid, resourceVersion, creationTimestamp, managedFields, ...rest } = metadata;
  return { status: answer.status, metadata: rest, spec, nodeStatus: status };
}

function pick<T>(random: Random, ...choices: T[]): T {
  return choices[Math.floor(random() * choices.length)] as T;
}

function some<T>(random: Random, make: () => T, most = 3): T[] {
  return Array.from({ length: Math.floor(random() * (most + 1)) }, make);
}

function labels(random: Random): Json {
  return Object.fromEntries(some(random, () => [pick(random, 'a', 'b', 'x/c'), pick(random, '', '1', '2')]));
}

function taint(random: Random): Json {
  const value = pick(random, {}, { value: 'v' });
  return { key: pick(random, 'a', 'b', 'c'), effect: pick(random, 'NoSchedule', 'NoExecute'), ...value };
}

function address(random: Random): Json {
  return {
    type: pick(random, 'InternalIP', 'ExternalIP', 'Hostname'),
    address: pick(random, '10.0.0.1', 'fd00::1', 'h'),
  };
}

function condition(random: Random): Json {
  const more = pick(
    random,
    {},
    { reason: 'R' },
    { message: 'm', reason: '' },
    { lastTransitionTime: '2026-01-01T00:00:00Z' },
  );
  return {
    type: pick(random, 'Ready', 'DiskPressure', 'X'),
    status: pick(random, 'True', 'False', 'Unknown'),
    ...more,
  };
}

function start(random: Random): { spec: Json; status: Json } {
  return {
    spec: { taints: some(random, () => taint(random), 1) },
    status: { addresses: some(random, () => address(random), 1), conditions: some(random, () => condition(random), 1) },
  };
}

/** A list for a patch, now and then with the words of a strategic merge. */
function list(random: Random, item: () => Json, strategic: boolean): unknown {
  const items = some(random, item);
  if (random() < 0.08) return null;
  if (!strategic) return items;
  if (random() < 0.2) return [{ $patch: 'replace' }, ...items];
  return items.map((entry) => (random() < 0.2 ? { type: entry['type'], $patch: 'delete' } : entry));
}

function randomStep(random: Random): Step {
  const path = pick(random, '', '/status') as Step['path'];
  const kind = pick(random, 'merge', 'strategic', 'strategic', 'json') as 'merge' | 'strategic' | 'json';
  const type = patchTypes[kind];
  if (kind === 'json') return { type, path, body: some(random, () => operation(random, path)) };
  const strategic = kind === 'strategic';
  const parts: Json[] = [
    { metadata: { labels: nulled(random, labels(random)) } },
    { metadata: { annotations: random() < 0.2 ? null : nulled(random, labels(random)) } },
    { spec: { taints: random() < 0.15 ? null : some(random, () => taint(random)) } },
    { spec: { unschedulable: pick(random, true, false, null) } },
    { spec: { providerID: pick(random, 'p://1', 'p://1', 'p://2', null) } },
    { status: { addresses: list(random, () => address(random), strategic) } },
    { status: { conditions: list(random, () => condition(random), strategic) } },
    {
      status: {
        capacity: nulled(random, { cpu: pick(random, '2', '1500m', '0.5'), memory: pick(random, '1Gi', '1024Mi') }),
      },
    },
    { metadata: { finalizers: some(random, () => pick(random, 'c.example/a', 'c.example/b'), 2) } },
  ];
  const body: Json = {};
  for (const part of [pick(random, ...parts), pick(random, ...parts)]) {
    for (const [key, value] of Object.entries(part)) body[key] = { ...(body[key] as Json), ...(value as Json) };
  }
  return { type, path, body };
}

function nulled(random: Random, values: Json): Json {
  return Object.fromEntries(Object.entries(values).map(([key, value]) => [key, random() < 0.25 ? null : value]));
}

function operation(random: Random, path: Step['path']): Json {
  const at =
    path === '/status'
      ? pick(random, '/status/addresses/0', '/status/conditions/-', '/status/addresses')
      : pick(
          random,
          '/spec/taints/0',
          '/spec/taints/-',
          '/metadata/labels/a',
          '/metadata/labels/x~1c',
          '/spec/unschedulable',
        );
  const value = at.includes('labels')
    ? pick(random, '1', '2')
    : at.includes('taints')
      ? taint(random)
      : at.includes('conditions')
        ? condition(random)
        : at.endsWith('addresses')
          ? [address(random)]
          : at.includes('addresses')
            ? address(random)
            : true;
  const op = pick(random, 'add', 'add', 'replace', 'remove', 'test');
  return op === 'remove' ? { op, path: at } : { op, path: at, value };
}
