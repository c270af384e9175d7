import { type CloudError, isCloudError } from '../../../common/cloud-error.ts';
import type { PowerState } from '../../../common/instance.ts';
import type { Clock } from '../../../common/process/clock.ts';
import { hetzner } from '../../../common/provider-id/hetzner.ts';
import { type AnswerFields, answerFields } from '../answer-fields.ts';
import type { JsonApi } from '../json-api.ts';
import { type Machines, readable, type Seen } from '../machines.ts';
import { unlessNotFound } from '../not-found.ts';
import { inParallel } from '../parallel.ts';
import type { HetznerConfig } from './config.ts';
import { cloud, refusalOf } from './fault.ts';
import { firstOf, isDedicated } from './servers.ts';

/** The robot takes 200 lists an hour, and 500 questions about power. */
const listMs = 60_000;
const powerMs = 300_000;
const powerMsPerServer = 10_000;
/** A server that was off may run by now, and its Node is tainted for what is said: no longer than a Node is silent. */
const stoppedMs = 20_000;
/** After three wrong passwords the robot blocks the address of the sender for so long. */
const refusalHoldsMs = 600_000;

export interface Robot extends Machines {
  /** Main IPv4 addresses, by the numbers of the servers. Throws a CloudError. */
  addresses(signal: AbortSignal | undefined): Promise<ReadonlyMap<string, string>>;
}

/**
 * Dedicated servers, by the API of the robot. It names no account, so a server counts as absent only after this
 * credential has shown a server that was asked for by its number. Their power and the list of them are read less often
 * than they are asked for.
 */
export function createRobot(client: JsonApi, clock: Clock, config: HetznerConfig): Robot {
  let list: { readonly at: number; readonly servers: Promise<readonly AnswerFields[]> } | undefined;
  let hasSeenInstance = false;
  let refused: { readonly until: number; readonly error: CloudError } | undefined;
  let last: Promise<unknown> = Promise.resolve();
  const powers = new Map<string, { readonly at: number; readonly power: PowerState }>();

  /** One call after the other: several at once would show a wrong password several times. */
  function ask(path: string, signal: AbortSignal | undefined): Promise<unknown> {
    const answer = last.then(() => send(path, signal));
    last = answer.catch(() => undefined);
    return answer;
  }

  async function send(path: string, signal: AbortSignal | undefined): Promise<unknown> {
    if (refused !== undefined && clock.monotonic() < refused.until) throw refused.error;
    try {
      return await client.send({ path, signal });
    } catch (error) {
      if (isCloudError(error) && error.kind === 'Unauthorized')
        refused = { until: clock.monotonic() + refusalHoldsMs, error };
      throw withoutGeneralNotFound(error);
    }
  }
  const objectAt = (operation: string, answer: unknown) => answerFields(answer, { cloud, operation });

  async function readAll(signal: AbortSignal | undefined): Promise<readonly AnswerFields[]> {
    // An account without a server answers 404.
    const answer = (await unlessNotFound(ask('/server', signal))) ?? [];
    const items = objectAt('GET /server', { servers: answer }).objects('servers');
    return items.map((item) => item.object('server'));
  }

  async function servers(signal: AbortSignal | undefined): Promise<readonly AnswerFields[]> {
    if (list === undefined || clock.monotonic() - list.at > listMs) {
      list = { at: clock.monotonic(), servers: readAll(signal) };
    }
    const { servers } = list;
    return servers.catch((error: unknown) => {
      if (list?.servers === servers) list = undefined;
      throw error;
    });
  }

  async function powerOf(number: string, signal: AbortSignal | undefined): Promise<PowerState> {
    const known = powers.get(number);
    const at = clock.monotonic();
    const holdsMs = known?.power === 'stopped' ? stoppedMs : Math.max(powerMs, powers.size * powerMsPerServer);
    if (known && at - known.at < holdsMs) return known.power;
    // A server without this option answers 404.
    const answer = (await unlessNotFound(ask(`/reset/${number}`, signal))) ?? { reset: {} };
    const status = objectAt('GET /reset/{id}', answer).object('reset').optionalText('operating_status');
    const power = status === 'shut off' ? 'stopped' : 'running';
    powers.set(number, { at, power });
    return power;
  }

  const complete = (found: readonly AnswerFields[], request: 'list' | 'id', signal: AbortSignal | undefined) =>
    inParallel(4, found, async (server) => {
      const number = server.id('server_number');
      return [
        `bm-${number}`,
        await readable(async () => seenOf(server, await powerOf(number, signal), request)),
      ] as const;
    });

  function seenOf(server: AnswerFields, power: PowerState, request: 'list' | 'id'): Seen {
    const id = `bm-${server.id('server_number')}`;
    const name = server.text('server_name');
    const zone = server.text('dc').toLowerCase();
    const [ipv6, ipv4] = [server.optionalText('server_ipv6_net'), server.optionalText('server_ip')];
    const type = server
      .text('product')
      .replaceAll(' ', '-')
      .replace(/[^A-Za-z0-9_.-]/g, '');
    return {
      state: 'found',
      power,
      request,
      instance: {
        cloud,
        id,
        name,
        incarnation: id,
        providerID: hetzner.print({ instanceId: id }),
        ...(config.zones ? { zone } : {}),
        region: zone.split('-')[0]!,
        type,
        addresses: [
          { type: 'Hostname', address: name },
          ...(config.families.ipv6 && ipv6 ? [{ type: 'ExternalIP', address: firstOf(ipv6) } as const] : []),
          ...(config.families.ipv4 && ipv4 ? [{ type: 'ExternalIP', address: ipv4 } as const] : []),
        ],
        keepsInternalIPs: true,
        labels: { 'instance.hetzner.cloud/provided-by': 'robot' },
      },
    };
  }

  return {
    holds: isDedicated,
    async addresses(signal) {
      const found = (await servers(signal)).map(
        (one) => [one.id('server_number'), one.optionalText('server_ip')] as const,
      );
      return new Map(found.flatMap(([number, ip]) => (ip === undefined ? [] : [[number, ip]])));
    },
    async all(ids, signal) {
      const asked = new Set(ids);
      const found = (await servers(signal)).filter((server) => asked.has(`bm-${server.id('server_number')}`));
      hasSeenInstance ||= found.length > 0;
      return new Map(await complete(found, 'list', signal));
    },
    async named(names, signal) {
      const found = (await servers(signal)).filter((server) =>
        names.includes(server.optionalText('server_name') ?? ''),
      );
      return (await complete(found, 'list', signal)).map(([, seen]) => seen);
    },
    async get(id, signal) {
      const number = id.slice('bm-'.length);
      try {
        const server = objectAt('GET /server/{id}', await ask(`/server/${number}`, signal)).object('server');
        hasSeenInstance = true;
        const [[, seen]] = (await complete([server], 'id', signal)) as [[string, Seen]];
        return seen;
      } catch (error) {
        if (!isCloudError(error) || error.kind !== 'NotFound' || hasSeenInstance) throw error;
        const message = `dedicated server ${number} is not there, but this credential has shown no other one yet`;
        throw error.with({ kind: 'Unavailable', message });
      }
    },
  };
}

/** The robot's NOT_FOUND is about the path, and proves nothing about a server, as SERVER_NOT_FOUND does. */
function withoutGeneralNotFound(error: unknown): unknown {
  return isCloudError(error) && refusalOf(error)?.code === 'not_found' ? error.with({ kind: 'Unavailable' }) : error;
}
