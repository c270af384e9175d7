import assert from 'node:assert/strict';
import { it } from 'node:test';
import { cloudStackWorld } from '../../../test/clouds/cloudstack/cloudstack-world.ts';
import type { FakeAccount } from '../../../test/clouds/cloudstack/fake/fake-account.ts';

async function failedLines(prepare: (fake: FakeAccount, now: () => number) => void) {
  const world = cloudStackWorld();
  prepare(world.fake, () => world.clock.now());
  const { check } = await world.open();
  const results = await world.during(check!(undefined));
  return results.filter(({ ok }) => !ok).map(({ name, message }) => `${name}: ${message}`);
}

it('names the commands that the role does not have, and says nothing where it has all', async () => {
  assert.deepEqual(await failedLines(() => {}), []);
  const failed = await failedLines((fake) => {
    for (const name of ['createTags', 'deleteTags']) fake.forbidden.add(name);
  });
  assert.deepEqual(failed, [
    'role for load balancers: the role does not have createTags, deleteTags; ' +
      'see deploy/iam/cloudstack.json for the rules of the role',
  ]);
});

for (const [what, status, body] of [
  ['an outage', 503, {}],
  ['a limit of calls', 429, { listapisresponse: { errorcode: 429, errortext: 'reached api limit' } }],
  ['an internal error', 530, { listapisresponse: { errorcode: 530, errortext: 'Internal error' } }],
  ['a role without listApis', 432, { listapisresponse: { errorcode: 432, errortext: 'not available for user' } }],
] as const)
  it(`reports ${what} as what it is, and no command as missing`, async () => {
    const failed = await failedLines((fake) => {
      fake.fault = ({ name }) => (name === 'listApis' ? { status, body } : undefined);
    });
    assert.equal(failed.length, 3);
    for (const line of failed) assert.match(line, /cloudstack listApis: /);
    assert.doesNotMatch(failed.join(), /does not have/);
  });

it('keeps within the limit that an operator sets by default, where each question counts twice', async () => {
  const failed = await failedLines((fake, now) => {
    let [endsAt, count] = [0, 0];
    fake.fault = ({ name }) => {
      if (now() >= endsAt) [endsAt, count] = [now() + 1000, 0];
      count += name === 'listApis' ? 2 : 1;
      return count > 25 ? { status: 429, body: {} } : undefined;
    };
  });
  assert.deepEqual(failed, []);
});
