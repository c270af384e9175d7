import { CloudError } from '../../../common/cloud-error.ts';
import { restOrAbort } from '../../../common/process/until.ts';
import type { AnswerFields } from '../answer-fields.ts';
import { type ApiRequest, createJsonApi, type JsonApi, type JsonApiOptions, operationOf } from '../json-api.ts';
import { pagesByToken } from '../pages.ts';
import type { ApplyOptions } from '../permit.ts';
import { cloud, errorOf, errorOfOperation } from './fault.ts';

/** A collection that was read over all zones. */
export interface AggregatedList {
  readonly items: readonly AnswerFields[];
  /** Zones whose items are missing, perhaps some of them only. */
  readonly unreachable: ReadonlySet<string>;
}

/** Calls to Compute Engine. */
export interface GceClient extends JsonApi {
  /** Every item of one list: complete, or throws. One call for 500 items. Reads only. */
  list(request: ApiRequest): Promise<readonly AnswerFields[]>;
  /** Every item of a collection in all zones that could be reached. One call for 500 items. Reads only. */
  aggregated(request: ApiRequest, collection: string): Promise<AggregatedList>;
  /**
   * Makes a change, and waits until its operation has ended, which it answers. Throws what the operation ended with,
   * and `Timeout` after two minutes.
   */
  change(request: ApiRequest, options: Pick<ApplyOptions, 'permit' | 'signal'>): Promise<AnswerFields>;
}

export interface GceClientOptions extends Omit<JsonApiOptions, 'cloud' | 'errorOf' | 'timeoutMs' | 'authorization'> {
  token(): Promise<string>;
  /** The API refused a token. */
  onUnauthorized(): void;
}

const timeoutMs = 30_000;
/** `wait` answers when the operation has ended, or after two minutes. */
const waitTimeoutMs = 130_000;
const longestOperationMs = 120_000;
const pollMs = 1000;
/** The most that a page holds. */
const perPage = '500';
const partial = 'UNREACHABLE';

export function createClient(options: GceClientOptions): GceClient {
  const { clock, token, onUnauthorized } = options;
  const shared = {
    ...options,
    cloud,
    authorization: async () => `Bearer ${await token()}`,
    errorOf(operation: string, answer: Parameters<typeof errorOf>[1]) {
      if (answer.status === 401) onUnauthorized();
      return errorOf(operation, answer, clock.now());
    },
  };
  const api = createJsonApi({ ...shared, timeoutMs });
  const waiting = createJsonApi({ ...shared, timeoutMs: waitTimeoutMs });

  function pages(request: ApiRequest): AsyncGenerator<AnswerFields> {
    const read = (token: string | undefined) => {
      const paging = Object.entries({ maxResults: perPage, ...(token !== undefined && { pageToken: token }) });
      return api.call({ ...request, query: [...(request.query ?? []), ...paging] });
    };
    return pagesByToken({ cloud, operation: operationOf(request) }, 'nextPageToken', read);
  }

  /** @param scope of the operation: `/projects/p/zones/z` */
  async function finished(operation: AnswerFields, name: string, scope: string, signal: AbortSignal | undefined) {
    const startedAt = clock.monotonic();
    const id = operation.text('name');
    const path = `${scope}/operations/${encodeURIComponent(id)}/wait`;
    const [kind] = /(?<=\/)(?:global|region|zone)/.exec(scope.replace(/^\/projects\/[^/]+/, ''))!;
    const request = { method: 'POST', path, operation: `${kind}Operations.wait`, urgency: 'change', signal } as const;
    for (let now = operation; ; ) {
      if (now.text('status') === 'DONE') {
        const error = errorOfOperation(name, now);
        if (error !== undefined) throw error;
        return now;
      }
      if (clock.monotonic() - startedAt >= longestOperationMs) {
        const message = `operation ${id} runs for more than ${longestOperationMs / 1000} s`;
        throw new CloudError({ kind: 'Timeout', cloud, operation: name, message });
      }
      const askedAt = clock.monotonic();
      now = await waiting.call(request);
      // An answer that came at once is of a server that does not wait.
      if (clock.monotonic() - askedAt < pollMs && now.text('status') !== 'DONE')
        await restOrAbort(clock, pollMs, signal);
    }
  }

  return {
    ...api,
    async list(request) {
      const items: AnswerFields[] = [];
      for await (const page of pages(request)) {
        const missing = warningOf(page);
        if (missing !== undefined) throw unavailable(request, `the list is not complete: ${missing}`);
        items.push(...page.optionalObjects('items'));
      }
      return items;
    },
    async aggregated(request, collection) {
      const items: AnswerFields[] = [];
      const unreachable = new Set<string>();
      const query = [...(request.query ?? []), ['returnPartialSuccess', 'true']] as const;
      for await (const page of pages({ ...request, query })) {
        const scopes = page.optionalObject('items');
        const zones = page.json()['unreachables'] == null ? [] : page.texts('unreachables');
        const missing = warningOf(page);
        if (missing !== undefined && zones.length === 0)
          throw unavailable(request, `the list is not complete: ${missing}`);
        for (const zone of zones) unreachable.add(lastSegment(zone));
        for (const name of Object.keys(scopes?.json() ?? {})) {
          const scope = scopes!.object(name);
          if (warningOf(scope) !== undefined) unreachable.add(lastSegment(name));
          items.push(...scope.optionalObjects(collection));
        }
      }
      return { items, unreachable };
    },
    async change(request, { permit, signal }) {
      const operation = await api.call({ ...request, permit, signal });
      const [scope] = /^\/projects\/[^/]+\/(?:global|(?:regions|zones)\/[^/]+)/.exec(request.path)!;
      return finished(operation, operationOf(request), scope, signal);
    },
  };
}

/** What is missing; undefined: nothing. Each zone without items has a warning. */
function warningOf(page: AnswerFields): string | undefined {
  const warning = page.optionalObject('warning');
  const code = warning?.optionalText('code') ?? (warning === undefined ? undefined : partial);
  return code === 'NO_RESULTS_ON_PAGE' ? undefined : code;
}

/** Of a resource of the vendor's type, for the query. */
export function fieldsOf<T = object>(...names: readonly (keyof NoInfer<T> & string)[]): string {
  return names.join();
}

export function lastSegment(path: string): string {
  return path.slice(path.lastIndexOf('/') + 1);
}

function unavailable(request: ApiRequest, message: string): CloudError {
  return new CloudError({ kind: 'Unavailable', cloud, operation: operationOf(request), message });
}
