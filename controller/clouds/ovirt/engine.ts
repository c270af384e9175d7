import { CloudError, isCloudError, kindOfHttpStatus } from '../../../common/cloud-error.ts';
import type { HttpAnswer } from '../../../common/process/http.ts';
import type { AnswerFields } from '../answer-fields.ts';
import { type ApiRequest, createJsonApi, type JsonApiOptions } from '../json-api.ts';
import { cloud, type Tokens } from './tokens.ts';

/** One engine with one user. Reads only; each throws a CloudError. */
export interface Engine {
  get(request: ApiRequest): Promise<AnswerFields>;
  /** What the root of the API tells of its product. Throws `Invalid` where something else answers. */
  product(signal: AbortSignal | undefined): Promise<AnswerFields>;
  /** VMs that the search finds, page by page, until one is not full. @param search of the engine; empty: all */
  vms(search: string, signal: AbortSignal | undefined): Promise<readonly AnswerFields[]>;
}

/** The NICs of a VM come with what the guest agent reports of each. */
export const withNics = [['follow', 'nics']] as const;
const timeoutMs = 30_000;
const pageSize = 200;
const mostPages = 500;

export function createEngine(
  options: Omit<JsonApiOptions, 'cloud' | 'errorOf' | 'timeoutMs' | 'authorization' | 'mutationTimeoutMs'>,
  tokens: Tokens,
): Engine {
  const authorization = async () => `Bearer ${await tokens.token()}`;
  const api = createJsonApi({ ...options, cloud, errorOf, timeoutMs, mutationTimeoutMs: timeoutMs, authorization });

  async function get(request: ApiRequest): Promise<AnswerFields> {
    const token = await tokens.token();
    try {
      return await api.call(request);
    } catch (error) {
      if (!isCloudError(error) || error.kind !== 'Unauthorized') throw error;
      // The engine ends a token that nothing used for some time.
      tokens.drop(token);
      return api.call(request);
    }
  }

  return {
    get,
    product: async (signal) => (await get({ path: '', operation: 'GET /api', signal })).object('product_info'),
    async vms(search, signal) {
      const found: AnswerFields[] = [];
      for (let page = 1; page <= mostPages; page += 1) {
        // Pages need an order. Who asks for one of their own has it.
        const sorted = /\bsortby\b/i.test(search) ? search : `${search} sortby name asc`;
        const query = [...withNics, ['search', `${sorted.trim()} page ${page}`], ['max', String(pageSize)]] as const;
        // An empty collection has no key.
        const here = (await get({ path: '/vms', query, urgency: 'refresh', signal })).optionalObjects('vm');
        found.push(...here);
        if (here.length < pageSize) return found;
      }
      const message = `more than ${mostPages * pageSize} VMs; name those of the cluster by vms in [Filters]`;
      throw new CloudError({ kind: 'Invalid', cloud, operation: 'GET /vms', message });
    },
  };
}

/**
 * An answer that is no success. A 404 proves absence where the engine itself says so. One without a body is
 * `Unavailable`: some versions answer it, and so does a proxy that has lost the engine.
 */
function errorOf(operation: string, { status, text }: HttpAnswer): CloudError {
  const fault = faultOf(text);
  const isSilent = status === 404 && text.trim() === '';
  const kind = status === 404 && !fault?.isWhole ? 'Unavailable' : kindOfHttpStatus(status);
  const words = isSilent ? 'without the words of the engine' : fault?.words;
  const message = [status, words].filter(Boolean).join(' ');
  return new CloudError({ kind, cloud, operation, message, ...(isSilent && { cause: silent404 }) });
}

const silent404 = '404 without a body';

/** Whether the answer was a 404 without a body. */
export function isSilent404(error: unknown): boolean {
  return isCloudError(error) && error.cause === silent404;
}

/** Reason and detail, which some versions wrap. The engine answers both; others may have one of them. */
function faultOf(text: string): { readonly words: string; readonly isWhole: boolean } | undefined {
  try {
    const parsed = JSON.parse(text);
    const given = [parsed.fault ?? parsed].flatMap(({ reason, detail }) => [reason, detail]);
    const words = given.filter((one) => typeof one === 'string');
    return { words: words.join(' ').trim().slice(0, 300), isWhole: words.length === 2 };
  } catch {
    // A proxy's page, or a body that was cut.
    return undefined;
  }
}
