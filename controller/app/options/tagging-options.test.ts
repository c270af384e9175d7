import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { parseFlags } from '../../../common/process/flags.ts';
import { runCommandFlags } from '../../commands/run-command.ts';
import { OptionError } from './options.ts';
import { readTaggingOptions, type TaggingOptions } from './tagging-options.ts';

/** What the flags ask for, or the message that refuses them. */
function read(...argv: readonly string[]): TaggingOptions | string | undefined {
  const parsed = parseFlags(runCommandFlags, ['--cloud-provider=aws', ...argv]);
  if (!parsed.ok) return parsed.message;
  try {
    return readTaggingOptions(parsed.values, { tagging: true });
  } catch (error) {
    assert.ok(error instanceof OptionError);
    return error.message;
  }
}

describe('the flags of the classic controller of AWS for its tagging controller', () => {
  const tags = { a: 'b' };
  for (const [argv, expected] of [
    [['--tags=a=b'], { tags, limits: undefined }],
    [['--tags=a=1,b==,c='], { tags: { a: '1', b: '=', c: '' }, limits: undefined }],
    [['--tags=a=1', '--tags=a=2'], { tags: { a: '2' }, limits: undefined }],
    [['--tags=a=b', '--resources=instance'], { tags, limits: undefined }],
    [
      ['--tags=a=b', '--tagging-controller-rate-limit=1.5', '--tagging-controller-burst-limit=10'],
      { tags, limits: { perSecond: 1.5, burst: 10 } },
    ],
    [['--tags=a=b', '--tagging-controller-rate-limit=1.5'], { tags, limits: undefined }],
    [[], '--tags: "", expected KEY=VALUE, since --controllers names tagging'],
    [['--tags=a'], '--tags: "a", expected KEY=VALUE,...'],
    [['--tags==a'], '--tags: "=a", expected KEY=VALUE,...'],
    [['--tags=a=b', '--resources=volume'], '--resources: "volume", expected one of instance'],
    [['--tags=a=b', '--resources='], '--resources: "", expected instance, since --controllers names tagging'],
    [['--tagging-controller-rate-limit=-1'], '--tagging-controller-rate-limit: "-1", expected at least 0'],
    [['--tagging-controller-burst-limit=1.5'], '--tagging-controller-burst-limit: "1.5", expected a whole number'],
  ] as const) {
    it(`honours the classic flags for tagging, or refuses them by name: ${argv.join(' ') || 'none'}`, () => {
      assert.deepEqual(read(...argv), expected);
    });
  }

  it('ignores the flags for tagging where --controllers does not name it', () => {
    const parsed = parseFlags(runCommandFlags, ['--cloud-provider=aws', '--tags=a=b']);
    assert.ok(parsed.ok);
    assert.equal(readTaggingOptions(parsed.values, { tagging: false }), undefined);
  });
});
