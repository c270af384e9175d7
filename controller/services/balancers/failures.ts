import { CloudError, isCloudError } from '../../../common/cloud-error.ts';
import { WithheldError } from '../../clouds/permit.ts';
import type { Result } from '../../engine/request.ts';

/** The most important error of a result; undefined where nothing failed. Pure. */
export function errorOf({ state, errors, refused }: Result, cloud: string): unknown {
  if (state === 'settled' || state === 'refused') return undefined;
  // The cloud is waited for, and nothing failed.
  if (state === 'waiting' && refused.length === 0 && errors.every(isWait)) return undefined;
  const found =
    errors.find((error) => error instanceof WithheldError) ??
    errors.find((error) => isCloudError(error) && error.subjects.length > 0) ??
    errors.find((error) => !isCloudError(error)) ??
    errors[0];
  if (found !== undefined || refused.length === 0) return found;
  const message = `refused: ${refused.join(', ')}`;
  return new CloudError({ kind: 'Invalid', cloud, operation: 'set members', message, subjects: refused });
}

/** The cloud is busy and says when to try again. */
export function isWait(error: unknown): boolean {
  return isCloudError(error) && error.kind === 'Busy' && error.retryAfterMs !== undefined;
}
