import assert from 'node:assert/strict';
import { CloudConfigError } from '../cloud.ts';

/** The message with which a configuration is refused. */
export async function configRefusal(reading: Promise<unknown>): Promise<string> {
  const error = await reading.then(
    () => assert.fail('it was accepted'),
    (failure: unknown) => failure,
  );
  assert.ok(error instanceof CloudConfigError, String(error));
  return error.message;
}
