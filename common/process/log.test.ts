import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { fakeClock } from '../testing/fake-clock.ts';
import { createLog, type LogFormat } from './log.ts';

describe('a log line', () => {
  for (const format of ['json', 'text'] satisfies LogFormat[]) {
    it(`shows control and bidirectional characters as ${format} by their code points, in every position`, () => {
      const lines: string[] = [];
      const log = createLog({ clock: fakeClock(), level: 'info', format, write: (line) => lines.push(line) });
      const odd = 'a\nb\u001b[2J\u202e\u200b\u2028\u009b\u007f';
      log.with({ node: odd }).info(odd, { error: odd, nested: { list: [odd] } });
      assert.equal(lines.length, 1);
      assert.match(lines[0] ?? '', /^[ -~]+\n$/);
      const shown = 'a\\u{a}b\\u{1b}[2J\\u{202e}\\u{200b}\\u{2028}\\u{9b}\\u{7f}';
      if (format === 'json') {
        const { msg, node, error, nested } = JSON.parse(lines[0] ?? '');
        assert.deepEqual([msg, node, error, nested], [shown, shown, shown, { list: [shown] }]);
      } else assert.ok(lines[0]?.includes(shown));
    });
  }
});
