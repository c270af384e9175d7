import type { AnswerFields } from '../answer-fields.ts';
import { type ApiRequest, type JsonApi, operationOf } from '../json-api.ts';
import { pagesByToken } from '../pages.ts';
import { cloud } from './fault.ts';

/** Every page of a list. Throws when the chain of pages leads back to where it has been. */
export function everyPage(api: JsonApi, request: ApiRequest): Promise<readonly AnswerFields[]> {
  const { query = [] } = request;
  const read = (token: string | undefined) =>
    api.call({ ...request, query: [...query, ...(token === undefined ? [] : [['pageToken', token] as const])] });
  return Array.fromAsync(pagesByToken({ cloud, operation: operationOf(request) }, 'nextPageToken', read));
}

/** Every item of a list. */
export async function everyItem(api: JsonApi, request: ApiRequest): Promise<readonly AnswerFields[]> {
  return (await everyPage(api, request)).flatMap((page) => page.objects('items'));
}
