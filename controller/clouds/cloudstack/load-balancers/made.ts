import type { Answer, Found, Want, WriteIo } from '../../../engine/resource.ts';
import type { Begun } from './project.ts';

/** The answer to a create, with what there is once its job has ended. */
export function made(
  { kind, key }: Pick<Want, 'kind' | 'key'>,
  { owner, within }: Pick<WriteIo, 'owner' | 'within'>,
  begun: Begun,
  shown: Pick<Found, 'body' | 'slots' | 'refs'>,
): Answer {
  const { id } = begun;
  if (id === undefined) return begun;
  const found: Found = { kind, id, key, owner, status: 'ready', ...(within !== undefined && { within }), ...shown };
  return { ...begun, found: [found] };
}
