import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { silentLog } from '../../common/process/log.ts';
import { createMetricRegistry } from '../../common/process/metrics.ts';
import { createNodeTags } from '../clouds/aws/node-tags.ts';
import type { ConfiguredCloud } from '../model/configured-cloud.ts';
import type { NetworkContext } from './network-context.ts';
import { OptionError } from './options/options.ts';
import { createTagging } from './tagging.ts';

const cloud = (name: string, more: Partial<ConfiguredCloud> = {}): ConfiguredCloud => ({
  name,
  scope: name,
  accepts: () => true,
  selector: undefined,
  api: undefined,
  ...more,
});
const aws = cloud('aws', { api: { nodeTags: createNodeTags({} as never) } as never });

/** Why the start is refused; undefined when it is not. */
function refusal(clouds: readonly ConfiguredCloud[], tags: Readonly<Record<string, string>>): string | undefined {
  const resolver = { configured: clouds, lookupsOf: () => undefined };
  const nodes = { subscribe() {} };
  const context = { log: silentLog, registry: createMetricRegistry(), resolver, nodes } as unknown as NetworkContext;
  try {
    createTagging(context, { tags, limits: undefined });
    return undefined;
  } catch (error) {
    assert.ok(error instanceof OptionError);
    return error.message;
  }
}

describe('the start of a run that tags instances', () => {
  it('refuses to start where no cloud can tag, and names the clouds', () => {
    assert.equal(
      refusal([cloud('gce'), cloud('gce'), cloud('nocloud')], { a: 'b' }),
      '--controllers: "tagging", expected a --cloud-provider whose instances can be tagged, not gce, nocloud',
    );
  });

  it('starts where one cloud can tag, or may turn out to', () => {
    assert.equal(refusal([cloud('gce'), aws], { a: 'b' }), undefined);
    assert.equal(refusal([cloud('aws', { unidentified: { why: 'no answer' } })], { a: 'b' }), undefined);
  });

  it('refuses a tag that the cloud does not take, and says what it takes', () => {
    assert.equal(
      refusal([aws], { team: 'a', 'aws:x': '1' }),
      '--tags: "aws:x=1", expected a key that does not begin with aws:, which AWS keeps for itself (aws)',
    );
  });
});
