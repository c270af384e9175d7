import { CloudError, type CloudErrorKind, kindOfHttpStatus } from '../../../common/cloud-error.ts';
import type { HttpAnswer } from '../../../common/process/http.ts';
import type { AnswerFields } from '../answer-fields.ts';
import type { CloudContext } from '../cloud.ts';
import { type ApiRequest, type OpenedApiOptions, openJsonApi, operationOf } from '../json-api.ts';
import { unlessNotFound } from '../not-found.ts';
import { unchangedList } from '../pages.ts';
import { restMsOf } from '../retry-after.ts';

export const cloud = 'digitalocean';

export type DigitalOceanClient = ReturnType<typeof openClient>;

/** The most that a page holds. */
const perPage = 200;

/** Calls to one account. Makes no call by itself. */
export function openClient(context: CloudContext, options: Omit<OpenedApiOptions, 'cloud' | 'errorOf'>) {
  const api = openJsonApi(context, { ...options, cloud, errorOf });

  /**
   * Undefined: something came or went while the pages were read, so what moved to a page that had been read is missing.
   * Where as many came as went it is not noticed: a list proves no absence.
   */
  async function tryList(request: ApiRequest, collection: string): Promise<readonly AnswerFields[] | undefined> {
    const items = new Map<unknown, AnswerFields>();
    let total: number | undefined;
    for (let page = 1; ; page += 1) {
      const paging = Object.entries({ page: String(page), per_page: String(perPage) });
      const answer = await api.call({ ...request, query: [...(request.query ?? []), ...paging] });
      const here = answer.object('meta').number('total');
      if (total !== undefined && total !== here) return undefined;
      total = here;
      // An empty collection may be missing.
      const found = answer.optionalObjects(collection);
      for (const item of found) items.set(item.json()['id'], item);
      const next = answer.optionalObject('links')?.optionalObject('pages')?.optionalText('next');
      if (next === undefined || found.length === 0) return items.size === total ? [...items.values()] : undefined;
    }
  }

  return {
    ...api,
    /** Every item of a collection: complete, or throws. One call for 200 items. Reads only. */
    list: (request: ApiRequest, collection: string) =>
      unchangedList({ cloud, operation: operationOf(request) }, () => tryList(request, collection)),
    /** The object of that name; undefined where the API says that it does not exist. Reads only. */
    get: async (request: ApiRequest, name: string) => (await unlessNotFound(api.call(request)))?.object(name),
  };
}

/** An answer that is no success. @param nowMs Unix time */
function errorOf(operation: string, answer: HttpAnswer, nowMs: number): CloudError {
  const { id, message } = readError(answer.text);
  const kind = kindOf(answer.status, id, message);
  return new CloudError({
    kind,
    cloud,
    operation,
    message: [String(answer.status), id, message].filter((part) => part !== '').join(' '),
    retryAfterMs: kind === 'Throttled' ? restMsOf(answer, nowMs) : undefined,
  });
}

/** The ids of errors are those of HTTP statuses, so what a refusal means is in its text alone. */
function kindOf(status: number, id: string, message: string): CloudErrorKind {
  // A 404 without the API's own word for it is of a proxy or a wrong endpoint.
  if (status === 404) return id === 'not_found' ? 'NotFound' : 'Unavailable';
  // 403, as if it were a matter of rights.
  if (/processes previous actions|pending (action|event)/i.test(message)) return 'Busy';
  if (/name is not unique/i.test(message)) return 'Taken';
  if (/\blimit\b|quota/i.test(message) && (status === 403 || status === 422)) return 'QuotaExceeded';
  return kindOfHttpStatus(status);
}

function readError(text: string): { readonly id: string; readonly message: string } {
  try {
    const { id, message } = JSON.parse(text);
    if (typeof id === 'string') return { id, message: String(message ?? '').slice(0, 300) };
  } catch {
    // A proxy's page, or a body that was cut: the status says enough.
  }
  return { id: '', message: '' };
}
