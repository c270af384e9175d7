import assert from 'node:assert/strict';
import { test } from 'node:test';
import { CloudError, type CloudErrorKind } from '../../common/cloud-error.ts';
import { adviceWhenDown, createChecks } from './checks.ts';

for (const [kind, advice] of [
  ['Unauthorized', 'see TOKEN'],
  ['Forbidden', 'see TOKEN'],
  ['Throttled', adviceWhenDown],
  ['Timeout', adviceWhenDown],
  ['Unavailable', adviceWhenDown],
] as const satisfies readonly (readonly [CloudErrorKind, string])[])
  test(`a proof that ends in ${kind} advises: ${advice}`, async () => {
    const checks = createChecks();
    await checks.prove({ name: 'servers', neededFor: ['nodes'] }, 'see TOKEN', async () => {
      throw new CloudError({ kind, cloud: 'x', operation: 'list', message: 'no' });
    });
    assert.deepEqual(checks.results, [
      { name: 'servers', neededFor: ['nodes'], ok: false, message: `x list: no; ${advice}` },
    ]);
  });
