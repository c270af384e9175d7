import { evidenceKinds } from '../../common/attestation.ts';
import { CloudError, type CloudErrorKind, kindOfHttpStatus } from '../../common/cloud-error.ts';
import type { Instance, Notice } from '../../common/instance.ts';
import type { Clock } from '../../common/process/clock.ts';
import { type Http, type HttpAnswer, HttpFailure } from '../../common/process/http.ts';
import { simulated as providerId } from '../../common/provider-id/simulated.ts';
import { createAddressList } from './address-list.ts';
import { createMetadataHttp, parseJson, parseRetryAfter } from './client.ts';
import { addressOf, type FieldsContext, fieldsOf, invalid } from './fields.ts';
import { createLongPoll, longPollSeconds, longPollTimeoutMs } from './long-poll.ts';
import type { MetadataSource, SourceKind } from './source.ts';

const cloud = 'simulated';
const path = '/metadata/v1/instance';
const identityPath = '/metadata/v1/identity';
const header = 'X-Simulated-Metadata';
const context: FieldsContext = { cloud, operation: `GET ${path}` };
const readTimeoutMs = 2000;

/** The sandbox's cloud: one JSON document with an ETag, one header both ways, long polls. */
export const simulated: SourceKind = {
  cloud,
  detect: (dmi) => dmi.sysVendor === 'Mooring Simulated Cloud',
  open: ({ clock, metadataUrl = 'http://169.254.169.254' }) =>
    simulatedSource({ clock, http: createMetadataHttp(clock), baseUrl: metadataUrl }),
};

export interface SimulatedSourceOptions {
  readonly clock: Clock;
  readonly http: Http;
  /** May carry a path; a slash at its end is dropped. */
  readonly baseUrl: string;
}

/** The source with any transport. */
export function simulatedSource({
  clock,
  http,
  baseUrl,
}: SimulatedSourceOptions): Required<Pick<MetadataSource, 'evidence' | 'notices' | 'waitForChange'>> & MetadataSource {
  const url = baseUrl.replace(/\/+$/, '') + path;
  const identityUrl = baseUrl.replace(/\/+$/, '') + identityPath;
  const changes = createLongPoll({
    clock,
    context,
    async ask(lastEtag, signal) {
      const query = `?wait_for_change=true&last_etag=${encodeURIComponent(lastEtag)}&timeout_sec=${longPollSeconds}`;
      return (await ask(query, longPollTimeoutMs, signal)).etag;
    },
  });

  async function ask(query: string, timeoutMs: number, signal: AbortSignal) {
    const answer = await exchange(http, { url: url + query, timeoutMs, signal }, clock);
    if (answer.header(header) !== 'true') {
      throw invalid(
        context,
        `header ${header}`,
        answer.header(header) ?? undefined,
        'true: something else answers here',
      );
    }
    const etag = answer.header('etag');
    if (etag === null || etag === '') throw invalid(context, 'header ETag', undefined, 'a text');
    return { etag, document: parseJson(cloud, context.operation, answer.text) };
  }

  return {
    cloud,
    async read(signal) {
      const { etag, document } = await ask('', readTimeoutMs, signal);
      const instance = instanceOf(document);
      changes.seen(etag);
      return instance;
    },
    async notices(signal) {
      return noticesOf((await ask('', readTimeoutMs, signal)).document);
    },
    waitForChange: changes.wait,
    async evidence(challenge, signal) {
      const query = `?challenge=${encodeURIComponent(challenge)}`;
      const answer = await exchange(http, { url: identityUrl + query, timeoutMs: readTimeoutMs, signal }, clock);
      return { cloud, kind: evidenceKinds.simulated, document: answer.text };
    },
  };
}

async function exchange(
  http: Http,
  request: { url: string; timeoutMs: number; signal: AbortSignal },
  clock: Clock,
): Promise<HttpAnswer> {
  let answer: HttpAnswer;
  try {
    answer = await http({ ...request, headers: { [header]: 'true', accept: 'application/json' } });
  } catch (error) {
    if (!(error instanceof HttpFailure)) throw error;
    throw new CloudError({ ...context, kind: failureKinds[error.kind], message: error.message, cause: error });
  }
  if (answer.status === 200) return answer;
  if (answer.status >= 300 && answer.status < 400) {
    throw new CloudError({
      ...context,
      kind: 'Invalid',
      message: `redirect (${answer.status}) refused: something else answers`,
    });
  }
  const retryAfterMs = parseRetryAfter(answer.header('retry-after'), clock.now());
  const message = `status ${answer.status}`;
  throw new CloudError({ ...context, kind: kindOfHttpStatus(answer.status), message, retryAfterMs });
}

const failureKinds: Readonly<Record<HttpFailure['kind'], CloudErrorKind>> = {
  timeout: 'Timeout',
  aborted: 'Timeout',
  unreachable: 'Unavailable',
  'too-large': 'Invalid',
};

function instanceOf(document: unknown): Instance {
  const fields = fieldsOf(context, document);
  const id = fields.text('id');
  const region = fields.text('region');
  for (const [field, value] of [
    ['id', id],
    ['region', region],
  ] as const) {
    if (!/^[^/\s]+$/.test(value)) throw invalid(context, field, value, 'a text without slashes and blanks');
  }
  const addresses = createAddressList();
  const nics = interfacesOf(document);
  for (const { internal } of nics) for (const address of internal) addresses.add('InternalIP', address);
  for (const { external } of nics) for (const address of external) addresses.add('ExternalIP', address);
  addresses.add('Hostname', fields.text('hostname'));
  for (const name of texts(document, 'internalDns')) addresses.add('InternalDNS', name);
  for (const name of texts(document, 'externalDns')) addresses.add('ExternalDNS', name);
  return {
    cloud,
    id,
    providerID: providerId.print({ instanceId: id, region }),
    incarnation: fields.text('incarnation'),
    name: fields.text('name'),
    zone: fields.text('zone'),
    region,
    type: fields.text('type'),
    addresses: addresses.all,
  };
}

interface Nic {
  readonly index: number;
  readonly internal: readonly string[];
  readonly external: readonly string[];
}

/** The list is required: if a missing one counted as empty, an incomplete document would remove all addresses. */
function interfacesOf(document: unknown): Nic[] {
  const nics = list(document, 'interfaces', 'interfaces').map((nic, position) => {
    const at = `interfaces[${position}]`;
    fieldsOf(context, nic, at);
    const index = own(nic, 'index');
    if (typeof index !== 'number') throw invalid(context, `${at}.index`, index, 'a number');
    const addresses = (kind: string) =>
      texts(nic, kind, `${at}.${kind}`).map((text) => addressOf(context, `${at}.${kind}`, text));
    return { index, internal: addresses('internal'), external: addresses('external') };
  });
  return nics.sort((a, b) => a.index - b.index);
}

const noticeKinds: readonly Notice['kind'][] = ['preemption', 'maintenance', 'termination', 'rebalance'];

function noticesOf(document: unknown): Notice[] {
  fieldsOf(context, document);
  return list(document, 'notices', 'notices').map((notice, position) => {
    const at = `notices[${position}]`;
    const fields = fieldsOf(context, notice, at);
    const told = fields.text('kind');
    const kind = noticeKinds.find((known) => known === told);
    if (kind === undefined) throw invalid(context, `${at}.kind`, told, `one of ${noticeKinds.join(', ')}`);
    const deadline = fields.optionalText('deadline');
    if (deadline !== undefined && Number.isNaN(Date.parse(deadline)))
      throw invalid(context, `${at}.deadline`, deadline, 'a moment');
    const message = fields.optionalText('message');
    return { kind, ...(deadline !== undefined && { deadline }), ...(message !== undefined && { message }) };
  });
}

function own(value: unknown, name: string): unknown {
  return typeof value === 'object' && value !== null && Object.hasOwn(value, name)
    ? (value as Record<string, unknown>)[name]
    : undefined;
}

function list(value: unknown, name: string, at: string): readonly unknown[] {
  const found = own(value, name);
  if (!Array.isArray(found)) throw invalid(context, at, found, 'a list');
  return found;
}

function texts(value: unknown, name: string, at = name): string[] {
  return list(value, name, at).map((text) => {
    if (typeof text !== 'string' || text === '') throw invalid(context, at, text, 'texts');
    return text;
  });
}
