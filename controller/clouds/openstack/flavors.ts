import { isCloudError } from '../../../common/cloud-error.ts';
import type { Clock } from '../../../common/process/clock.ts';
import type { AnswerFields } from '../answer-fields.ts';
import type { OpenStackClient } from './client.ts';
import { isLabelValue, type Server } from './server.ts';

/** Instance types by flavour, as upstream names them: the flavour's name where a label can hold it, else its id. */
export interface Flavors {
  /**
   * Undefined where the flavour no longer exists. Costs one call per flavour whose name the server does not tell.
   *
   * @throws CloudError when the cloud did not answer
   */
  typeOf(server: Server, signal: AbortSignal | undefined): Promise<string | undefined>;
}

const keptMs = 60 * 60_000;
const missingKeptMs = 10 * 60_000;
const maxKept = 1000;

export function createFlavors(client: OpenStackClient, clock: Clock): Flavors {
  const kept = new Map<string, { type: string | undefined; until: number }>();
  const reading = new Map<string, Promise<string | undefined>>();

  async function once(key: string, read: () => Promise<Flavor | undefined>): Promise<string | undefined> {
    const known = kept.get(key);
    if (known !== undefined && clock.monotonic() < known.until) return known.type;
    let answer = reading.get(key);
    if (answer === undefined) {
      answer = read()
        .then((flavor) => {
          const type = flavor === undefined ? undefined : isLabelValue(flavor.name) ? flavor.name : flavor.id;
          if (kept.size >= maxKept) kept.delete(kept.keys().next().value!);
          kept.set(key, { type, until: clock.monotonic() + (type === undefined ? missingKeptMs : keptMs) });
          return type;
        })
        .finally(() => reading.delete(key));
      reading.set(key, answer);
    }
    return answer;
  }

  async function byId(id: string, signal: AbortSignal | undefined): Promise<Flavor | undefined> {
    const path = `/flavors/${encodeURIComponent(id)}`;
    try {
      const answer = await client.get({ service: 'compute', path, operation: 'GET /flavors/{id}', signal });
      return read(answer.object('flavor'));
    } catch (error) {
      if (isCloudError(error) && (error.kind === 'NotFound' || error.kind === 'Forbidden')) return undefined;
      throw error;
    }
  }

  async function byName(name: string, signal: AbortSignal | undefined): Promise<Flavor | undefined> {
    const request = { service: 'compute', path: '/flavors', query: [['limit', '1000']], signal } as const;
    return (await client.list(request, 'flavors')).map(read).find((flavor) => flavor.name === name);
  }

  return {
    async typeOf({ flavor: { id, originalName } }, signal) {
      if (originalName !== undefined && isLabelValue(originalName)) return originalName;
      if (id !== undefined) return once(`id ${id}`, () => byId(id, signal));
      return originalName === undefined ? undefined : once(`name ${originalName}`, () => byName(originalName, signal));
    },
  };
}

interface Flavor {
  readonly id: string;
  readonly name: string;
}

function read(flavor: AnswerFields): Flavor {
  return { id: flavor.text('id'), name: flavor.text('name') };
}
