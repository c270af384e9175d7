import { CloudError } from '../../common/cloud-error.ts';
import type { AnswerFields } from './answer-fields.ts';

/** What is read, for errors. */
export interface PagedList {
  readonly cloud: string;
  readonly operation: string;
}

const listTries = 3;

/**
 * A list whose pages are numbered, so that what comes or goes meanwhile moves items to other pages. Throws
 * `Unavailable` where it changes again and again. Reads only.
 *
 * @param tryList undefined: the list changed while its pages were read
 */
export async function unchangedList<T>(list: PagedList, tryList: () => Promise<T | undefined>): Promise<T> {
  for (let tries = 0; tries < listTries; tries += 1) {
    const items = await tryList();
    if (items !== undefined) return items;
  }
  throw unavailable(list, 'the list changed while its pages were read');
}

/**
 * Every page of a list in which each page has the token of the next one. Throws `Unavailable` where they lead in a
 * circle. Reads only.
 *
 * @param field of the token
 * @param read the page of this token; undefined: the first one
 */
export async function* pagesByToken(
  list: PagedList,
  field: string,
  read: (token: string | undefined) => Promise<AnswerFields>,
): AsyncGenerator<AnswerFields> {
  const seen = new Set<string>();
  for (let token: string | undefined; ; ) {
    const page = await read(token);
    yield page;
    token = page.optionalText(field);
    if (token === undefined) return;
    if (seen.has(token)) throw unavailable(list, 'the pages lead in a circle');
    seen.add(token);
  }
}

function unavailable({ cloud, operation }: PagedList, message: string): CloudError {
  return new CloudError({ kind: 'Unavailable', cloud, operation, message });
}
