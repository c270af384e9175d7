import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { parseFlags } from '../../../common/process/flags.ts';
import { planFlags } from '../../commands/plan/plan-flags.ts';
import { runCommandFlags } from '../../commands/run-command.ts';
import { upstreamFlags } from './upstream-flags.ts';
import { vendorFlags } from './vendor-flags.ts';

const parse = (...argv: readonly string[]) => parseFlags(runCommandFlags, ['--cloud-provider=simulated', ...argv]);

describe("the flags of one cloud's classic controller", () => {
  it('accepts flags of a classic controller with a warning where nothing is lost', () => {
    const parsed = parse('--user-agent=a', '--user-agent=b', '--tagging-controller-enable-batching');
    assert.ok(parsed.ok);
    assert.equal(parsed.warnings.length, 2);
    assert.match(parsed.warnings.join('\n'), /--tagging-controller-enable-batching has no effect: one call always/);
  });

  it('refuses flags that would change the result, and accepts the value that says what is done', () => {
    const said = (argument: string) => {
      const parsed = parse(argument);
      return parsed.ok ? 'accepted' : parsed.message;
    };
    assert.match(said('--enable-multi-project'), /--enable-multi-project.*--cloud-config/);
    assert.match(said('--cloud-config-secret-name=azure-cloud-provider'), /mount the Secret/);
    assert.equal(said('--enable-multi-project=false'), 'accepted');
  });

  it('knows the flags of a classic controller in a plan, too', () => {
    for (const name of Object.keys(vendorFlags)) assert.ok(Object.hasOwn(planFlags, name), name);
  });

  it('hides no flag of upstream and none of ours', () => {
    const { length } = Object.keys(vendorFlags).filter((name) => Object.hasOwn(upstreamFlags, name));
    assert.equal(length, 0);
    for (const [name, flag] of Object.entries(vendorFlags))
      assert.equal((runCommandFlags as Record<string, unknown>)[name], flag, name);
  });
});
