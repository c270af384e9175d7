import { CloudError } from '../../common/cloud-error.ts';
import type { Clock } from '../../common/process/clock.ts';
import type { Http, HttpAnswer } from '../../common/process/http.ts';
import { createMetadataClient, parseJson } from './client.ts';
import { fieldsOf, invalid } from './fields.ts';
import { createRateLimit } from './rate-limit.ts';

const cloud = 'azure';
/** The version whose fields are read; Azure Stack has only older ones. */
const preferred = '2021-12-13';
const oldest = '2019-06-01';
/** It introduced `resourceId`. */
const least = '2019-03-11';
const loadBalancerVersion = '2020-10-01';
const eventsVersion = '2020-07-01';
/** Documents contain the subscription since 2019-04-30; Azure Stack Hub does not sign documents. */
const attestedVersion = '2021-12-13';
/**
 * The service allows five requests a second per VM, counting all its callers. A tenth is reserved for varying delays.
 */
const requests = 5;
const perMs = 1100;
const timeoutMs = 2000;
/** The first request enables the feature and may take two minutes; a late one is repeated. */
const eventsTimeoutMs = 10_000;

/** Reads of Azure's metadata service (IMDS), at most five a second. */
export interface AzureSession {
  instance(signal: AbortSignal): Promise<unknown>;
  /** Undefined for a VM behind no standard load balancer and without a standard public address. */
  loadBalancer(signal: AbortSignal): Promise<unknown | undefined>;
  scheduledEvents(signal: AbortSignal): Promise<unknown>;
  /** The signed document with this nonce, up to 32 letters and digits. */
  attestedDocument(nonce: string, signal: AbortSignal): Promise<unknown>;
}

export interface AzureSessionOptions {
  readonly http: Http;
  readonly clock: Clock;
  readonly baseUrl: string;
}

export function createAzureSession({ http, clock, baseUrl }: AzureSessionOptions): AzureSession {
  const client = createMetadataClient({ cloud, baseUrl, http, clock, timeoutMs });
  const waitForTurn = createRateLimit(clock, requests, perMs);
  let version = preferred;

  async function ask(path: string, also: readonly number[], signal: AbortSignal, limitMs = timeoutMs) {
    try {
      await waitForTurn(signal);
    } catch (cause) {
      throw new CloudError({ cloud, operation: `GET ${path}`, kind: 'Timeout', message: 'given up', cause });
    }
    const headers = { metadata: 'true' };
    return client.answer({ path, headers, signal, timeoutMs: limitMs, also: [...also, 404, 410] });
  }

  async function askInstance(signal: AbortSignal): Promise<HttpAnswer> {
    return ask(`/metadata/instance?api-version=${version}&format=json`, [400], signal);
  }

  /** The newest version that both sides support. */
  async function negotiate(signal: AbortSignal): Promise<string> {
    const path = '/metadata/versions';
    const answer = await ask(path, [400], signal);
    if (answer.status >= 400) return oldest;
    const context = { cloud, operation: `GET ${path}` };
    const offered = fieldsOf(context, parseJson(cloud, context.operation, answer.text)).texts('apiVersions');
    // Versions are dates, which sort as text.
    const known = offered.filter((each) => each >= least && each <= preferred).sort();
    const found = known.at(-1);
    if (found === undefined) throw invalid(context, 'apiVersions', offered, `one from ${least} to ${preferred}`);
    return found;
  }

  return {
    async instance(signal) {
      let answer = await askInstance(signal);
      if (answer.status === 400) {
        version = await negotiate(signal);
        answer = await askInstance(signal);
      }
      const operation = `GET /metadata/instance?api-version=${version}`;
      if (answer.status === 400) {
        version = preferred;
        throw new CloudError({ cloud, operation, kind: 'Invalid', message: 'status 400: no version is understood' });
      }
      refuseForNow(answer, operation);
      return parseJson(cloud, operation, answer.text);
    },
    async loadBalancer(signal) {
      const path = `/metadata/loadbalancer?api-version=${loadBalancerVersion}`;
      // 404: the VM has no such load balancer (Azure, "Troubleshoot load balancer IMDS"). 400: the service does not
      // have the document.
      const answer = await ask(path, [400], signal);
      if (answer.status === 404 || answer.status === 400) return undefined;
      refuseForNow(answer, `GET ${path}`);
      return parseJson(cloud, `GET ${path}`, answer.text);
    },
    async attestedDocument(nonce, signal) {
      const path = `/metadata/attested/document?api-version=${attestedVersion}&nonce=${encodeURIComponent(nonce)}`;
      const answer = await ask(path, [], signal);
      refuseForNow(answer, 'GET /metadata/attested/document');
      return parseJson(cloud, 'GET /metadata/attested/document', answer.text);
    },
    async scheduledEvents(signal) {
      const path = `/metadata/scheduledevents?api-version=${eventsVersion}`;
      const answer = await ask(path, [], signal, eventsTimeoutMs);
      refuseForNow(answer, `GET ${path}`);
      return parseJson(cloud, `GET ${path}`, answer.text);
    },
  };
}

/**
 * Throws for 404 and 410, which are temporary while the VM is moved or its agent restarts (at most 70 s, as Azure
 * documents).
 */
function refuseForNow({ status }: HttpAnswer, operation: string): void {
  if (status !== 404 && status !== 410) return;
  throw new CloudError({ cloud, operation, kind: 'Unavailable', message: `status ${status}: not yet, or not Azure` });
}
