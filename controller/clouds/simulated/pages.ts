import { CloudError } from '../../../common/cloud-error.ts';
import type { AnswerFields } from '../answer-fields.ts';
import { type ApiRequest, type JsonApi, operationOf } from '../json-api.ts';
import { cloud } from './fault.ts';

/** Every page of a list. Throws when the chain of pages leads back to where it has been. */
export async function everyPage(api: JsonApi, request: ApiRequest): Promise<readonly AnswerFields[]> {
  const pages: AnswerFields[] = [];
  const seen = new Set<string>();
  for (let paging: ApiRequest['query'] = []; ; ) {
    const page = await api.call({ ...request, query: [...(request.query ?? []), ...paging] });
    pages.push(page);
    if (page.json()['nextPageToken'] === undefined) return pages;
    const token = page.text('nextPageToken');
    if (seen.has(token)) {
      const message = 'the pages lead in a circle';
      throw new CloudError({ kind: 'Unavailable', cloud, operation: operationOf(request), message });
    }
    seen.add(token);
    paging = [['pageToken', token]];
  }
}

/** Every item of a list. */
export async function everyItem(api: JsonApi, request: ApiRequest): Promise<readonly AnswerFields[]> {
  return (await everyPage(api, request)).flatMap((page) => page.objects('items'));
}
