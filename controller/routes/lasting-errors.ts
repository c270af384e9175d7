import { type CloudErrorKind, isCloudError } from '../../common/cloud-error.ts';
import { isKubeError } from '../kube/api.ts';

const lastingKinds: ReadonlySet<CloudErrorKind> = new Set(['Unauthorized', 'Forbidden', 'NotFound', 'Invalid']);

/** Whether the same request would fail again until a person acts. Pure. */
export function isLasting(error: unknown): error is Error {
  if (isCloudError(error)) return lastingKinds.has(error.kind);
  return isKubeError(error) && (error.status === 403 || error.status === 404);
}
