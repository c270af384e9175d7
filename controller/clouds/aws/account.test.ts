import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { createAccount } from './account.ts';

describe('the account of a scope', () => {
  function setUp() {
    const world = { key: 'AKIDONE', accountOf: new Map([['AKIDONE', '111111111111']]), asked: [] as string[] };
    const account = createAccount(
      async () => ({ accessKeyId: world.key, secretAccessKey: 's' }),
      async ({ accessKeyId }) => {
        world.asked.push(accessKeyId);
        const answer = world.accountOf.get(accessKeyId);
        if (answer === undefined) throw new Error('STS: no answer');
        return answer;
      },
    );
    return { world, account };
  }

  it('asks STS for the account once for each credential', async () => {
    const { world, account } = setUp();
    assert.equal(await account.number(), '111111111111');
    for (let call = 0; call < 3; call += 1) assert.equal((await account.credentials()).accessKeyId, 'AKIDONE');
    world.accountOf.set('AKIDTWO', '111111111111');
    world.key = 'AKIDTWO';
    for (let call = 0; call < 3; call += 1) assert.equal((await account.credentials()).accessKeyId, 'AKIDTWO');
    assert.deepEqual(world.asked, ['AKIDONE', 'AKIDTWO']);
  });

  it('rejects a later credential of another account', async () => {
    const { world, account } = setUp();
    await account.number();
    world.accountOf.set('AKIDTWO', '222222222222');
    world.key = 'AKIDTWO';
    await assert.rejects(async () => account.credentials(), { kind: 'Unauthorized' });
    world.key = 'AKIDTHREE';
    await assert.rejects(async () => account.credentials(), /no answer/);
    world.key = 'AKIDONE';
    assert.equal((await account.credentials()).accessKeyId, 'AKIDONE');
  });

  it('asks for the account again after a failure', async () => {
    const { world, account } = setUp();
    world.key = 'AKIDTWO';
    await assert.rejects(account.number(), /no answer/);
    world.accountOf.set('AKIDTWO', '222222222222');
    assert.equal(await account.number(), '222222222222');
  });
});
