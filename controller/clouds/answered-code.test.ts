import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { it } from 'node:test';
import { answeredCodes, isAnswered } from './answered-code.ts';

it('what does not exist is an answer, by the code of any cloud, and a refusal is none', () => {
  const answers = ['ok', '200', '404', 'NotFound', 'InvalidInstanceID.NotFound'];
  const failures = ['301', '403', '4040', '431', '503', 'timeout', 'unreachable', 'NotFoundLimitExceeded'];
  assert.deepEqual([...answers, ...failures].filter(isAnswered), answers);
});

it('the shipped alert about failing calls leaves out the same codes', async () => {
  const alerts = await readFile(new URL('../../deploy/chart/files/alerts.yaml', import.meta.url), 'utf8');
  assert.ok(alerts.includes(`mooring_cloud_calls_total{code!~"${answeredCodes}"}`));
});
