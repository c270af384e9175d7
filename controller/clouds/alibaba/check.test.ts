import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { alibabaWorld } from '../../../test/clouds/alibaba/alibaba-world.ts';

/** The names of the lines that do not pass, where the role may not make a call that `forbids` names. */
async function notPassed(
  forbids: (action: string) => boolean,
): Promise<readonly (readonly [string, boolean | null])[]> {
  const world = alibabaWorld();
  const refusal = { status: 403, body: { Code: 'Forbidden.RAM', Message: 'not authorized' } };
  world.fake.fault = (action) => (forbids(action) ? refusal : undefined);
  const { check } = await world.open();
  const results = await world.during(check());
  assert.equal(world.mutations(), 0);
  await world.close();
  return results.flatMap(({ name, ok }) => (ok === true ? [] : [[name, ok] as const]));
}

describe('check of Alibaba Cloud', () => {
  const changes = ['changes', null] as const;

  it('changes nothing, and leaves open what only a change would prove', async () => {
    assert.deepEqual(await notPassed(() => false), [changes]);
  });

  for (const action of [
    'DescribeLoadBalancerAttribute',
    'DescribeVServerGroups',
    'DescribeVServerGroupAttribute',
    'DescribeAccessControlListAttribute',
  ])
    it(`fails where the role lacks ${action}`, async () => {
      assert.deepEqual(await notPassed((one) => one === action), [['load balancers', false], changes]);
    });

  for (const action of ['ListServerGroupServers', 'GetJobStatus'])
    it(`leaves Network Load Balancers open where the role lacks ${action}`, async () => {
      assert.deepEqual(await notPassed((one) => one === action), [['network load balancers', null], changes]);
    });
});
