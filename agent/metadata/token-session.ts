import { CloudError, isCloudError } from '../../common/cloud-error.ts';
import type { Clock } from '../../common/process/clock.ts';
import type { Http } from '../../common/process/http.ts';
import type { Log } from '../../common/process/log.ts';
import { createMetadataClient, type MetadataClient } from './client.ts';
import { askInTurn, isEndpointFailure, preferring } from './endpoints.ts';

const renewBeforeMs = 60_000;

/** How a cloud issues the token for its other requests. */
export interface TokenScheme {
  readonly cloud: string;
  readonly path: string;
  /** The header with the requested lifetime of the token, in seconds. */
  readonly ttlHeader: string;
  readonly ttlSeconds: number;
  /** The header with the token. */
  readonly tokenHeader: string;
  /** Whether a service without the path requires no token; otherwise it is another service. */
  readonly optional: boolean;
  /** Adds an explanation to a failure to fetch a token. */
  explain?(error: CloudError): CloudError;
}

/** Reads a metadata service whose requests need a token from a PUT. */
export interface TokenSession {
  /** The text of one path; undefined where the instance has no such attribute. */
  get(path: string, signal: AbortSignal): Promise<string | undefined>;
}

export interface TokenSessionOptions {
  readonly http: Http;
  readonly clock: Clock;
  readonly log: Log;
  /** In the order of the tries; the one that answers is used until it fails. */
  readonly endpoints: readonly string[];
}

interface Opened {
  readonly client: MetadataClient;
  /** Absent where the service requires none. */
  readonly token?: string;
  readonly renewAtMs: number;
}

export function createTokenSession(
  scheme: TokenScheme,
  { http, clock, log, endpoints }: TokenSessionOptions,
): TokenSession {
  const { cloud } = scheme;
  const clients = endpoints.map((baseUrl) => createMetadataClient({ cloud, baseUrl, http, clock }));
  let opened: Opened | undefined;

  async function open(signal: AbortSignal): Promise<Opened> {
    if (opened !== undefined && clock.monotonic() < opened.renewAtMs) return opened;
    const order = preferring(clients, opened?.client);
    opened = undefined;
    const { client, answer } = await askInTurn(
      order,
      (candidate) => fetchToken(scheme, candidate, clock, signal),
      signal,
    );
    log.debug('metadata token fetched', { endpoint: client.baseUrl, desired: answer.token !== undefined });
    opened = answer;
    return answer;
  }

  async function get(path: string, signal: AbortSignal): Promise<string | undefined> {
    for (let attempt = 1; ; attempt += 1) {
      const { client, token } = await open(signal);
      try {
        return await client.text({ path, signal, headers: token === undefined ? {} : { [scheme.tokenHeader]: token } });
      } catch (error) {
        if (!isCloudError(error)) throw error;
        // If tokens were made mandatory since, a request without one is refused with 403.
        const refused = error.kind === 'Unauthorized' || (token === undefined && error.kind === 'Forbidden');
        if (refused || isEndpointFailure(error)) opened = undefined;
        if (!refused || attempt === 2) throw error;
        log.debug('metadata token refused, fetching another');
      }
    }
  }

  return { get };
}

async function fetchToken(
  scheme: TokenScheme,
  client: MetadataClient,
  clock: Clock,
  signal: AbortSignal,
): Promise<Opened> {
  const { cloud, path, ttlHeader, ttlSeconds } = scheme;
  const operation = `PUT ${path}`;
  const renewAtMs = clock.monotonic() + ttlSeconds * 1000 - renewBeforeMs;
  let text: string | undefined;
  try {
    text = await client.text({ method: 'PUT', path, headers: { [ttlHeader]: String(ttlSeconds) }, signal });
  } catch (error) {
    if (!isCloudError(error)) throw error;
    throw scheme.explain?.(error) ?? error;
  }
  if (text === undefined && scheme.optional) return { client, renewAtMs };
  const token = text?.trim() ?? '';
  if (!/^[\x21-\x7e]+$/.test(token)) {
    const message = text === undefined ? 'no such path: another service answers' : 'the token is malformed';
    throw new CloudError({ cloud, operation, kind: 'Invalid', message });
  }
  return { client, token, renewAtMs };
}
