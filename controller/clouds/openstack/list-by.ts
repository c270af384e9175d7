import type { AnswerFields } from '../answer-fields.ts';
import { chunks, inParallel } from '../parallel.ts';
import type { GetRequest, OpenStackClient } from './client.ts';

/** Values in one query; more and a front end with 4 KiB for the request line refuses it. */
const perQuery = 50;
const callsAtOnce = 4;

/** What has one of these values under that name. @throws CloudError */
export async function listBy(
  client: Pick<OpenStackClient, 'list'>,
  request: GetRequest,
  collection: string,
  [name, values]: readonly [name: string, values: readonly string[]],
): Promise<AnswerFields[]> {
  const { query = [] } = request;
  const lists = await inParallel(callsAtOnce, chunks([...new Set(values)], perQuery), (some) =>
    client.list({ ...request, query: [...some.map((value) => [name, value] as const), ...query] }, collection),
  );
  return lists.flat();
}
