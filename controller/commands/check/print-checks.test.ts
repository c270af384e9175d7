import assert from 'node:assert/strict';
import { it } from 'node:test';
import { printChecks } from './print-checks.ts';

const line = { ok: true, needed: true, message: 'm' };

it('check prints what failed first, then the clouds, and the permissions that are there in one line', () => {
  const text = printChecks([
    { ...line, of: 'kubernetes', name: 'reachable' },
    { ...line, of: 'kubernetes', name: 'get nodes', permission: true },
    { ...line, of: 'kubernetes', name: 'patch nodes', permission: true },
    { ...line, of: 'kubernetes', name: 'delete nodes', permission: true, ok: false },
    { ...line, of: 'cloud', name: 'credential' },
    { ...line, of: 'cloud', name: 'routes', ok: false, needed: false },
    { ...line, of: 'cloud', name: 'changes', ok: null },
    { ...line, of: 'cloud', name: 'region', ok: false },
  ]);
  const rows = text
    .trimEnd()
    .split('\n')
    .map((row) => row.split(/ {2,}/).slice(0, 3).join('|'));
  assert.deepEqual(rows, [
    'TARGET|RESULT|CHECK',
    'kubernetes|FAILED|delete nodes',
    'cloud|FAILED|region',
    'cloud|ok|credential',
    'cloud|not needed|routes',
    'cloud|unknown|changes',
    'kubernetes|ok|reachable',
    'kubernetes|ok|permissions',
  ]);
});
