import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { it } from 'node:test';
import { parse } from 'yaml';
import { permissions } from './permissions.ts';

it('the role that is shipped has the permissions that check asks for, and no others', async () => {
  const file = new URL('../../../deploy/examples/gce/role.yaml', import.meta.url);
  const { includedPermissions } = parse(await readFile(file, 'utf8'));
  assert.deepEqual(
    includedPermissions,
    permissions.flatMap(({ names }) => names),
  );
});
