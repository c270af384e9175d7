import assert from 'node:assert/strict';
import { EvidenceRefusal } from '../verdict.ts';

/** The code with which evidence is refused; fails when it is accepted. */
export async function codeOf(verifying: Promise<unknown>): Promise<string> {
  const error = await verifying.then(
    () => assert.fail('the evidence was accepted'),
    (reason: unknown) => reason,
  );
  assert.ok(error instanceof EvidenceRefusal, String(error));
  return error.code;
}
