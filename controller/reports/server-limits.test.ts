import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { exampleReport } from './testing/example-report.ts';
import { codeOf, reportServerHarness, wholeReport } from './testing/report-server-harness.ts';

describe('limits of the report API', () => {
  const start = reportServerHarness();

  it('limits the reports of one node and not those of another', async () => {
    const { clock, reviewer, post } = await start({ limits: { perNode: 3 } });
    reviewer.putNode('b');
    const token = reviewer.issue({ node: 'a' });
    for (let sequence = 1; sequence <= 3; sequence += 1) {
      assert.equal((await post(token, JSON.stringify(exampleReport({ sequence })))).status, 200);
    }
    // Another token of the same node counts too.
    const refused = await post(reviewer.issue({ node: 'a' }), wholeReport);
    assert.deepEqual([refused.status, codeOf(refused), refused.headers['retry-after']], [429, 'NodeRateLimited', '60']);
    assert.equal((await post(reviewer.issue({ node: 'b' }), wholeReport)).status, 200);
    await clock.advance(60_000);
    assert.equal((await post(token, JSON.stringify(exampleReport({ sequence: 4 })))).status, 200);
  });

  it('limits unproved reports per address without reviews, and does not count proved ones', async () => {
    const { clock, reviewer, post } = await start({ limits: { perAddress: 3 } });
    const token = reviewer.issue({ node: 'a' });
    for (let sequence = 1; sequence <= 5; sequence += 1) {
      assert.equal((await post(token, JSON.stringify(exampleReport({ sequence })))).status, 200);
    }
    for (let n = 0; n < 3; n += 1) assert.equal((await post(`aaaa.bbbb.c${n}`, wholeReport)).status, 401);
    const reviews = reviewer.reviews;
    const refused = await post('aaaa.bbbb.c4', wholeReport);
    assert.deepEqual([refused.status, codeOf(refused)], [429, 'AddressRateLimited']);
    assert.ok(Number(refused.headers['retry-after']) >= 1);
    assert.equal(reviewer.reviews, reviews);
    await clock.advance(60_000);
    assert.equal((await post('aaaa.bbbb.c5', wholeReport)).status, 401);
  });

  it('accepts proved agents at an address that others misuse', async () => {
    const { clock, reviewer, post } = await start({ limits: { perAddress: 3 } });
    reviewer.putNode('b');
    const token = reviewer.issue({ node: 'a' });
    assert.equal((await post(token, wholeReport)).status, 200);
    for (let n = 0; n < 3; n += 1) await post(`aaaa.bbbb.c${n}`, wholeReport);
    assert.equal((await post('aaaa.bbbb.c4', wholeReport)).status, 429);
    assert.equal(
      (await post(reviewer.issue({ node: 'b' }), wholeReport)).status,
      429,
      'nothing is known of this one yet',
    );
    assert.equal((await post(token, JSON.stringify(exampleReport({ sequence: 2 })))).status, 200);
    for (let minutes = 0; minutes < 11; minutes += 1) {
      await clock.advance(60_000);
      for (let n = 0; n < 3; n += 1) await post(`aaaa.bbbb.c${n}`, wholeReport);
    }
    assert.equal((await post('aaaa.bbbb.c4', wholeReport)).status, 429);
    const sequence = 3;
    assert.equal(
      (await post(token, JSON.stringify(exampleReport({ sequence })))).status,
      200,
      'its verdict is too old',
    );
  });
});
