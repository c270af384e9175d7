import type { Answer, WriteIo } from '../../../engine/resource.ts';
import type { AnswerFields } from '../../answer-fields.ts';
import { actionOf, type HetznerClient } from '../client.ts';
import type { Labels } from './labels.ts';

type Io = Pick<WriteIo, 'permit' | 'signal'>;

export const path = '/load_balancers';

/** Starts an action of a load balancer. Its answer shows nothing of the load balancer. */
export async function act(client: HetznerClient, id: string, action: string, body: unknown, io: Io): Promise<Answer> {
  const { permit, signal } = io;
  const request = { path: `${path}/${id}/actions/${action}`, method: 'POST', body, permit, signal } as const;
  return startedBy(await client.call(request));
}

/** The action that ends with the effect. */
export function startedBy(answer: AnswerFields): Pick<Answer, 'operation'> {
  const operation = actionOf(answer);
  return operation === undefined ? {} : { operation };
}

/**
 * Changes name or labels, at once. Its answer counts for nothing: it would be believed for as long as lists may lag,
 * against every read that shows what an action has changed meanwhile.
 */
export async function put(
  client: HetznerClient,
  id: string,
  body: { readonly name?: string; readonly labels?: Labels },
  { permit, signal }: Io,
): Promise<Answer> {
  await client.send({ path: `${path}/${id}`, method: 'PUT', body, permit, signal });
  return { id };
}
