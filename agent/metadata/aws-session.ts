import { CloudError, isCloudError } from '../../common/cloud-error.ts';
import type { Clock } from '../../common/process/clock.ts';
import type { Http } from '../../common/process/http.ts';
import type { Log } from '../../common/process/log.ts';
import { createMetadataClient, type MetadataClient } from './client.ts';
import { askInTurn, isEndpointFailure, preferring } from './endpoints.ts';

const tokenPath = '/latest/api/token';
/** The longest AWS grants. */
const tokenTtlSeconds = 21_600;
const renewBeforeMs = 60_000;

/** Reads of EC2's metadata service, version 2: every one carries a token that was fetched with PUT. Version 1 is never used. */
export interface ImdsSession {
  /** The text of one path, or undefined where the instance has no such attribute. */
  get(path: string, signal: AbortSignal): Promise<string | undefined>;
}

export interface ImdsSessionOptions {
  readonly http: Http;
  readonly clock: Clock;
  readonly log: Log;
  /** In the order in which they are tried; the one that answers is kept until it fails. */
  readonly endpoints: readonly string[];
}

interface Opened {
  readonly client: MetadataClient;
  readonly token: string;
  readonly renewAtMs: number;
}

export function createImdsSession({ http, clock, log, endpoints }: ImdsSessionOptions): ImdsSession {
  const clients = endpoints.map((baseUrl) => createMetadataClient({ cloud: 'aws', baseUrl, http, clock }));
  let opened: Opened | undefined;

  async function open(signal: AbortSignal): Promise<Opened> {
    if (opened !== undefined && clock.monotonic() < opened.renewAtMs) return opened;
    const order = preferring(clients, opened?.client);
    opened = undefined;
    const { client, answer } = await askInTurn(order, (candidate) => fetchToken(candidate, clock, signal), signal);
    log.debug('metadata token fetched', { endpoint: client.baseUrl });
    opened = answer;
    return answer;
  }

  async function get(path: string, signal: AbortSignal): Promise<string | undefined> {
    for (let attempt = 1; ; attempt += 1) {
      const { client, token } = await open(signal);
      try {
        return await client.text({ path, signal, headers: { 'x-aws-ec2-metadata-token': token } });
      } catch (error) {
        if (!isCloudError(error)) throw error;
        if (error.kind === 'Unauthorized' || isEndpointFailure(error)) opened = undefined;
        if (error.kind !== 'Unauthorized' || attempt === 2) throw error;
        log.debug('metadata token refused, fetching another');
      }
    }
  }

  return { get };
}

async function fetchToken(client: MetadataClient, clock: Clock, signal: AbortSignal): Promise<Opened> {
  const operation = `PUT ${tokenPath}`;
  const renewAtMs = clock.monotonic() + tokenTtlSeconds * 1000 - renewBeforeMs;
  let text: string | undefined;
  try {
    const headers = { 'x-aws-ec2-metadata-token-ttl-seconds': String(tokenTtlSeconds) };
    text = await client.text({ method: 'PUT', path: tokenPath, headers, signal });
  } catch (error) {
    if (!isCloudError(error)) throw error;
    throw explained(error, operation);
  }
  const token = text?.trim() ?? '';
  if (!/^[\x21-\x7e]+$/.test(token)) {
    const message =
      text === undefined ? 'no such path: this is not the EC2 metadata service' : 'the token is malformed';
    throw new CloudError({ cloud: 'aws', operation, kind: 'Invalid', message });
  }
  return { client, token, renewAtMs };
}

function explained(error: CloudError, operation: string): CloudError {
  const base = { cloud: 'aws', operation, kind: error.kind, retryAfterMs: error.retryAfterMs, cause: error };
  const reason = error.message.slice(`aws ${operation}: `.length);
  // The limit holds for the reply to this PUT alone, so it is dropped on the way and the request hangs (EC2 User Guide, "Configure the instance metadata options").
  const hopLimit =
    'the hop limit of the reply may be too low for a container: use the host network, or raise HttpPutResponseHopLimit to 2';
  if (error.kind === 'Timeout') return new CloudError({ ...base, message: `${reason} (${hopLimit})` });
  if (error.kind === 'Forbidden') {
    return new CloudError({ ...base, message: `${reason}: the metadata service is switched off for this instance` });
  }
  return error;
}
