import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { readLoops } from '../../app/options/run-options.ts';
import type { CloudHalf } from '../../clouds/cloud.ts';
import { halvesIn, isNeeded } from './needed.ts';

const of = (neededFor?: readonly CloudHalf[]) => ({
  name: 'a permission',
  ok: false,
  message: 'denied',
  ...(neededFor && { neededFor }),
});

describe('a permission that is denied', () => {
  it('matters where a half runs that needs it', () => {
    const all = halvesIn(readLoops(['*']), true);
    assert.deepEqual([...all], ['nodes', 'routes', 'load balancers']);
    assert.ok(isNeeded(of(['routes']), all));
    assert.ok(isNeeded(of(), all));
  });

  it('does not matter where no half runs that needs it', () => {
    const nodes = halvesIn(readLoops(['cloud-node', 'cloud-node-lifecycle']), true);
    assert.ok(!isNeeded(of(['routes', 'load balancers']), nodes));
    assert.ok(isNeeded(of(['nodes', 'load balancers']), nodes));
    assert.ok(isNeeded(of(), nodes));
  });

  it('for routes does not matter where cloud routes are off', () => {
    assert.ok(!isNeeded(of(['routes']), halvesIn(readLoops(['*']), false)));
    assert.ok(!isNeeded(of(['routes']), halvesIn(readLoops(['*', '-route']), true)));
  });
});
