import assert from 'node:assert/strict';
import { type CloudError, isCloudError } from '../cloud-error.ts';

/** The CloudError with which the work fails. */
export async function failureOf(work: Promise<unknown>): Promise<CloudError> {
  const error = await work.then(
    () => assert.fail('it succeeded'),
    (failure: unknown) => failure,
  );
  assert.ok(isCloudError(error), String(error));
  return error;
}
