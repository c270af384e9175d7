import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { readLoops } from '../../app/options/run-options.ts';
import type { Capability } from '../../clouds/cloud.ts';
import { capabilitiesIn, isNeeded } from './needed.ts';

const of = (neededFor?: readonly Capability[]) => ({
  name: 'a permission',
  ok: false,
  message: 'denied',
  ...(neededFor && { neededFor }),
});

describe('a permission that is denied', () => {
  it('matters where a capability runs that needs it', () => {
    const all = capabilitiesIn(readLoops(['*']), true);
    assert.deepEqual([...all], ['nodes', 'routes', 'load balancers']);
    assert.ok(isNeeded(of(['routes']), all));
    assert.ok(isNeeded(of(), all));
  });

  it('does not matter where no capability runs that needs it', () => {
    const nodes = capabilitiesIn(readLoops(['cloud-node', 'cloud-node-lifecycle']), true);
    assert.ok(!isNeeded(of(['routes', 'load balancers']), nodes));
    assert.ok(isNeeded(of(['nodes', 'load balancers']), nodes));
    assert.ok(isNeeded(of(), nodes));
  });

  it('for routes does not matter where cloud routes are off', () => {
    assert.ok(!isNeeded(of(['routes']), capabilitiesIn(readLoops(['*']), false)));
    assert.ok(!isNeeded(of(['routes']), capabilitiesIn(readLoops(['*', '-route']), true)));
  });
});
