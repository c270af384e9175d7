import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { exampleReport } from './testing/example-report.ts';
import { reportServerHarness, wholeReport } from './testing/report-server-harness.ts';

describe('what the report API logs of refusals', () => {
  const start = reportServerHarness();

  it('never logs a token or a body', async () => {
    const { reviewer, lines, post } = await start();
    const token = reviewer.issue({ node: 'a', audiences: ['other'] });
    await post(token, wholeReport);
    await post(reviewer.issue({ node: 'a' }), JSON.stringify({ ...exampleReport(), secret: 'hunter2' }));
    const all = lines.join('');
    assert.match(all, /"code":"TokenInvalid"/);
    assert.match(all, /"code":"InvalidReport".*"node":"a".*"field":"secret"/);
    assert.ok(!all.includes(token) && !all.includes('hunter2') && !all.includes('Bearer'));
  });

  it('names in the log the node that the token claims, whatever is wrong with it', async () => {
    const { reviewer, lines, post } = await start();
    const tokens = [reviewer.issue({ node: 'late' }), reviewer.issue({ node: 'a' }), reviewer.issue({ node: 'a' })];
    reviewer.putNode('late');
    assert.equal((await post(tokens[0], wholeReport)).status, 403);
    reviewer.deleteNode('a');
    assert.equal((await post(tokens[1], wholeReport)).status, 403);
    reviewer.putNode('a');
    assert.equal((await post(tokens[2], wholeReport)).status, 403);
    assert.deepEqual(
      lines.map((line) => JSON.parse(line)).map(({ code, node }) => [code, node]),
      [
        ['NodeUidMissing', 'late'],
        ['NodeUnknown', 'a'],
        ['NodeReplaced', 'a'],
      ],
    );
    // The verdict is kept, and so is whom it is about.
    await post(tokens[0], wholeReport);
    assert.equal(JSON.parse(lines.at(-1) ?? '').node, 'late');
  });

  it('logs a flood of refusals as some lines and a count', async () => {
    const { clock, lines, post } = await start();
    for (let n = 0; n < 70; n += 1) await post(undefined, '');
    assert.equal(lines.length, 60);
    await clock.advance(60_000);
    await post(undefined, '');
    assert.match(lines[60] ?? '', /"count":10/);
  });
});
