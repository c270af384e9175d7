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
  const used = { cloudRoutes: true, webhooks: [] };

  it('matters where a capability runs that needs it', () => {
    const all = capabilitiesIn(readLoops(['*']), used);
    assert.deepEqual([...all], ['nodes', 'routes', 'load balancers']);
    assert.ok(isNeeded(of(['routes']), all));
    assert.ok(isNeeded(of(), all));
  });

  it('ignores a denied permission where no capability runs that needs it', () => {
    const nodes = capabilitiesIn(readLoops(['cloud-node', 'cloud-node-lifecycle']), used);
    assert.ok(!isNeeded(of(['routes', 'load balancers']), nodes));
    assert.ok(isNeeded(of(['nodes', 'load balancers']), nodes));
    assert.ok(isNeeded(of(), nodes));
  });

  it('ignores a denied permission for routes where cloud routes are off', () => {
    assert.ok(!isNeeded(of(['routes']), capabilitiesIn(readLoops(['*']), { ...used, cloudRoutes: false })));
    assert.ok(!isNeeded(of(['routes']), capabilitiesIn(readLoops(['*', '-route']), used)));
  });

  it('needs the permission for volumes where the loop or the webhook uses them', () => {
    const volumes = of(['volumes']);
    const loop = readLoops(['*', 'persistent-volume-label']);
    assert.ok(isNeeded(volumes, capabilitiesIn(loop, used)));
    for (const [webhook, needed] of [
      ['persistentvolumelabel', true],
      ['*', true],
      ['-persistentvolumelabel', false],
    ] as const)
      assert.equal(isNeeded(volumes, capabilitiesIn(readLoops(['*']), { ...used, webhooks: [webhook] })), needed);
    assert.ok(!isNeeded(volumes, capabilitiesIn(readLoops(['*']), used)));
  });
});
