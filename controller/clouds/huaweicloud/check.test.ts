import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { huaweiWorld } from '../../../test/clouds/huawei/huawei-world.ts';

/** The names of the lines that do not pass, where a read by id of that collection is refused. */
async function notPassed(collection?: string): Promise<readonly (readonly [string, boolean | null])[]> {
  const world = huaweiWorld();
  const refusal = { status: 403, body: { error_code: 'APIGW.0302', error_msg: 'not authorized' } };
  world.fake.fault = ({ path }) => (collection && path.includes(`/${collection}/0000`) ? refusal : undefined);
  const { check } = await world.open();
  const results = await world.during(check());
  assert.equal(world.mutations(), 0);
  await world.close();
  return results.flatMap(({ name, ok }) => (ok === true ? [] : [[name, ok] as const]));
}

describe('check of Huawei Cloud', () => {
  const changes = ['changes', null] as const;

  it('changes nothing, and leaves open what only a change would prove', async () => {
    assert.deepEqual(await notPassed(), [changes]);
  });

  for (const [collection, line] of [
    ['cloudservers', 'servers'],
    ['routetables', 'route tables'],
    ['loadbalancers', 'load balancers'],
    ['ipgroups', 'load balancers'],
    ['publicips', 'load balancers'],
  ] as const)
    it(`fails where one of ${collection} may not be read by its id`, async () => {
      assert.deepEqual(await notPassed(collection), [[line, false], changes]);
    });
});
