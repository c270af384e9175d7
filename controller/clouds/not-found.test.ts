import assert from 'node:assert/strict';
import { it } from 'node:test';
import { CloudError, type CloudErrorKind } from '../../common/cloud-error.ts';
import { unlessNotFound } from './not-found.ts';

it('a read answers undefined only for what does not exist', async () => {
  const failing = async (kind: CloudErrorKind) => {
    throw new CloudError({ kind, cloud: 'hetzner', operation: 'GET /servers/{id}', message: 'no' });
  };
  assert.equal(await unlessNotFound(Promise.resolve(7)), 7);
  assert.equal(await unlessNotFound(failing('NotFound')), undefined);
  await assert.rejects(unlessNotFound(failing('Forbidden')), { kind: 'Forbidden' });
});
