import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { CloudError } from './cloud-error.ts';

describe('a CloudError', () => {
  it('keeps every detail but those that are changed, and names cloud and operation once', () => {
    const cause = new Error('no');
    const details = { cloud: 'aws', operation: 'RegisterTargets', message: 'refused', retryAfterMs: 5000, cause };
    const error = new CloudError({ kind: 'Unavailable', ...details }).with({ kind: 'Invalid', subjects: ['i-1'] });
    assert.equal(error.message, 'aws RegisterTargets: refused');
    assert.equal(error.bareMessage, 'refused');
    assert.deepEqual([error.kind, error.retryable, error.subjects], ['Invalid', false, ['i-1']]);
    assert.deepEqual([error.retryAfterMs, error.cause], [5000, cause]);
  });
});
