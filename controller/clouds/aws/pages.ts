import { awsError } from './errors.ts';

/**
 * All pages of one of AWS's lists.
 *
 * @param operation for the error
 * @param page asks for the page behind a token (a marker, where they are called so); undefined = the first
 * @param items gets those of each page as soon as it is there
 * @throws whatever a page throws, or a CloudError `Unavailable` for pages that lead in a circle: then nothing is known
 */
export async function everyPage<Item>(
  operation: string,
  page: (token: string | undefined) => Promise<{ readonly items: readonly Item[]; readonly next: string | undefined }>,
  items: Item[] = [],
): Promise<Item[]> {
  const tokens = new Set<string>();
  for (let token: string | undefined; ; ) {
    const answer = await page(token);
    items.push(...answer.items);
    token = answer.next || undefined;
    if (token === undefined) return items;
    if (tokens.has(token)) throw awsError('Unavailable', operation, 'the pages go in a circle');
    tokens.add(token);
  }
}
