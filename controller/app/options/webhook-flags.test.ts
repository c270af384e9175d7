import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { parseFlags } from '../../../common/process/flags.ts';
import { runCommandFlags } from '../../commands/run-command.ts';
import { readRunOptions } from './run-options.ts';

async function webhooksOf(...argv: readonly string[]) {
  const parsed = parseFlags(runCommandFlags, ['--cloud-provider=simulated', ...argv]);
  if (!parsed.ok) throw new Error(parsed.message);
  return (await readRunOptions(parsed.values)).webhooks;
}

const named = '--webhooks=persistentvolumelabel';

describe('--webhooks', () => {
  for (const [given, serves] of [
    [[], false],
    [['--webhooks='], false],
    [[named], true],
    [['--webhooks=*'], true],
    [['--webhooks=*,-persistentvolumelabel'], false],
    [['--webhooks=-persistentvolumelabel,persistentvolumelabel'], false],
    [[named, '--webhook-secure-port=0'], false],
  ] as const)
    it(`${serves ? 'serves' : 'does not serve'} the webhook: ${given.join(' ') || 'not given'}`, async () => {
      assert.equal((await webhooksOf(...given)) !== undefined, serves);
    });

  it('refuses a name that no webhook has, and says which there are', async () => {
    await assert.rejects(webhooksOf('--webhooks=podlabel'), /--webhooks: "podlabel", expected .*persistentvolumelabel/);
  });

  it('listens on the port of upstream, with the certificate of the report API', async () => {
    const { host, port, files } = (await webhooksOf(named))!;
    assert.deepEqual([host, port, files], ['0.0.0.0', 10_260, undefined]);
  });

  it('refuses a port that another server of the controller takes', async () => {
    await assert.rejects(webhooksOf(named, '--webhook-secure-port=10258'), /expected another port than --secure-port/);
    await assert.rejects(webhooksOf(named, '--webhook-secure-port=10270'), /another port than --report-address/);
    await webhooksOf('--webhook-secure-port=10258');
  });

  it('refuses a certificate without its key', async () => {
    await assert.rejects(webhooksOf(named, '--webhook-tls-cert-file=/a'), /expected --webhook-tls-private-key-file/);
  });
});
