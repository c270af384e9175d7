import { CloudError } from '../../../common/cloud-error.ts';
import { restOrAbort } from '../../../common/process/until.ts';
import type { OperationState } from '../../engine/resource.ts';
import type { AnswerFields } from '../answer-fields.ts';
import type { CloudContext } from '../cloud.ts';
import { type ApiRequest, type OpenedApiOptions, openJsonApi, operationOf } from '../json-api.ts';
import { unchangedList } from '../pages.ts';
import { chunks } from '../parallel.ts';
import { cloud, errorOf, errorOfAction } from './fault.ts';

export type HetznerClient = ReturnType<typeof openClient>;

/** The most that a page holds. */
const perPage = 50;
/** Most actions end within two seconds; one that hangs shall not use up the calls of an hour. */
const [firstPollMs, lastPollMs] = [500, 5000];
const longestActionMs = 60_000;

/** The id of the action that a change started, where it started one. */
export function actionOf(answer: AnswerFields): string | undefined {
  return answer.optionalObject('action')?.id('id');
}

/** Calls to one project. Makes no call by itself. */
export function openClient(context: CloudContext, options: Omit<OpenedApiOptions, 'cloud' | 'errorOf'>) {
  const { clock } = context;
  const api = openJsonApi(context, { ...options, cloud, errorOf });

  async function pageOf(request: ApiRequest, collection: string, sort: string, page: number) {
    const paging = Object.entries({ sort, page: String(page), per_page: String(perPage) });
    const answer = await api.call({ ...request, query: [...(request.query ?? []), ...paging] });
    const pagination = answer.object('meta').object('pagination');
    return { items: answer.objects(collection), next: pagination.optionalNumber('next_page'), pagination };
  }

  /** Undefined: an item went while the pages were read, so another one may have moved to a page that had been read. */
  async function tryList(request: ApiRequest, collection: string): Promise<readonly AnswerFields[] | undefined> {
    const newest = await pageOf(request, collection, 'id:desc', 1);
    if (newest.next === undefined) return newest.items;
    const newestId = Math.max(...newest.items.map((item) => item.number('id')));
    const items = new Map<number, AnswerFields>();
    for (let page = 1; ; ) {
      // What comes meanwhile has a higher id, so it is on a page that is still to be read.
      const read = await pageOf(request, collection, 'id:asc', page);
      for (const item of read.items) items.set(item.number('id'), item);
      if (read.next !== undefined && read.next <= page) throw read.pagination.wrong('next_page', `more than ${page}`);
      if (read.next !== undefined) {
        page = read.next;
        continue;
      }
      const [before, after] = [newest, read].map(({ pagination }) => pagination.number('total_entries'));
      const came = [...items.keys()].filter((id) => id > newestId).length;
      return items.size === after && before! + came === after ? [...items.values()] : undefined;
    }
  }

  /** States of these actions, in one call for fifty of them. One that the API does not show is not in the answer. */
  async function actions(ids: readonly string[], signal?: AbortSignal): Promise<ReadonlyMap<string, OperationState>> {
    const states = new Map<string, OperationState>();
    for (const some of chunks(ids, perPage)) {
      const query = [...some.map((id) => ['id', id] as const), ['per_page', String(perPage)] as const];
      const answer = await api.call({ path: '/actions', query, urgency: 'change', signal });
      for (const action of answer.objects('actions')) states.set(action.id('id'), stateOf(action));
    }
    return states;
  }

  return {
    ...api,
    /**
     * Every item of a collection: complete, or throws. A page more than its items need, where they need several. Reads
     * only.
     */
    list: (request: ApiRequest, collection: string) =>
      unchangedList({ cloud, operation: operationOf(request) }, () => tryList(request, collection)),
    actions,
    /** Resolves when the action has succeeded. Throws its CloudError when it has failed, `Timeout` after a minute. */
    async finished(action: string, signal?: AbortSignal): Promise<void> {
      const startedAt = clock.monotonic();
      for (let ms = firstPollMs; ; ms = Math.min(ms * 1.5, lastPollMs)) {
        if (clock.monotonic() - startedAt >= longestActionMs) {
          const message = `action ${action} runs for more than ${longestActionMs / 1000} s`;
          throw new CloudError({ kind: 'Timeout', cloud, operation: 'GET /actions', message });
        }
        await restOrAbort(clock, ms, signal);
        const state = (await actions([action], signal)).get(action) ?? 'done';
        if (state === 'done') return;
        if (state !== 'running') throw state;
      }
    },
  };
}

function stateOf(action: AnswerFields): OperationState {
  const status = action.text('status');
  if (status === 'running') return 'running';
  if (status === 'success') return 'done';
  const error = action.optionalObject('error');
  const code = error?.optionalText('code') ?? 'action_failed';
  return errorOfAction(action.text('command'), code, error?.optionalText('message') ?? '');
}
