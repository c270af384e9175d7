import { spawn } from 'node:child_process';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type FakeAnswer, slowBody, startFakeMetadata } from '../../agent/testing/fake-metadata.ts';
import { buildAll } from '../../scripts/build.ts';
import type { ApiSuite } from '../conformance/api-under-test.ts';
import { assertThat, until } from '../kit/world/scenario.ts';

/** As deploy/base starts the agent. */
const shippedFlags = ['--lite-mode', '--max-old-space-size=24', '--max-semi-space-size=1'];
/** The DaemonSet's limit is 96 MiB. */
const mostMiB = 96;
const document = '/openstack/latest/meta_data.json';
const good = JSON.stringify({ uuid: '5c1d9d1e-1111-4222-8333-944444444444', name: 'vm', availability_zone: 'az1' });
const objects = (bytes: number) => `[${'{},'.repeat(bytes / 3)}{}]`;

const hostile: readonly (readonly [what: string, answer: FakeAnswer])[] = [
  ['1 MiB of empty objects', objects(2 ** 20)],
  ['250 KiB of empty objects', objects(250 * 1024)],
  ['250 KiB of empty lists within the document', `{"uuid":"x","keys":${objects(250_000).replaceAll('{}', '[]')}}`],
  ['100,000 nested lists', '['.repeat(100_000)],
  ['250 KiB of keys', `{${Array.from({ length: 25_000 }, (_, n) => `"k${n}":1`).join()}}`],
  ['2 MiB of text', 'x'.repeat(2 * 2 ** 20)],
  ['a redirect to another host', { status: 302, headers: { location: 'http://127.0.0.1:1/stolen' } }],
  ['an answer that never ends', slowBody],
  ['a document that is none', '"text"'],
  ['a prototype', '{"__proto__":{"uuid":"5c1d9d1e-1111-4222-8333-944444444444"},"constructor":{"prototype":{}}}'],
  ['an id that is no text', '{"uuid":{"toString":"x"},"name":[]}'],
  ['control characters', '{"uuid":"a\\u0000b\\u202e\\nc","name":"\\u001b[2J"}'],
  ['bytes that are no UTF-8', Buffer.from([0xff, 0xfe, 0x00, 0x80, 0xc0]).toString('latin1')],
];

/** Metadata services that lie, drip or flood, against the agent as it is built and started in a cluster. */
export const metadataSuite: ApiSuite = {
  name: 'metadata',
  async run(_api, check) {
    const folder = await mkdtemp(join(tmpdir(), 'mooring-metadata-'));
    await buildAll(folder);
    await writeFile(join(folder, 'token'), 'token');
    await writeFile(join(folder, 'ca.crt'), '');
    let answer: FakeAnswer = good;
    const service = await startFakeMetadata(({ path }) => (path === document ? answer : undefined));
    const args = [
      'run',
      '--cloud=openstack',
      '--node-name=vm',
      `--metadata-url=${service.url}`,
      '--controller-url=https://127.0.0.1:1',
      `--ca-file=${join(folder, 'ca.crt')}`,
      `--token-file=${join(folder, 'token')}`,
      '--poll-interval=1s',
      '--health-address=127.0.0.1:0',
    ];
    const agent = spawn(process.execPath, [...shippedFlags, join(folder, 'agent.cjs'), ...args], {
      env: {},
      stdio: ['ignore', 'ignore', 'pipe'],
    });
    let log = '';
    agent.stderr.setEncoding('utf8').on('data', (text: string) => {
      log += text;
    });
    const lives = () => agent.exitCode === null && agent.signalCode === null;
    const asked = () => service.requests.filter(({ path }) => path === document).length;
    const isRead = async () => lives() && (await metadataIsRead(log));
    try {
      await until('the agent has read its metadata', 20_000, isRead, () => log.slice(-500));
      for (const [what, text] of hostile) {
        await check(`a metadata service that answers ${what} does not end the agent`, async () => {
          answer = text;
          const before = asked();
          await until('it was asked twice', 30_000, async () => !lives() || asked() >= before + 2);
          assertThat(lives(), `the agent ended: ${log.slice(-800)}`);
        });
      }
      await check('nothing but the metadata service was asked, and a good answer is read again', async () => {
        answer = good;
        assertThat(!service.requests.some(({ path }) => path.includes('stolen')), 'a redirect was followed');
        await until('the agent reads its metadata again', 30_000, isRead, () => log.slice(-500));
      });
      await check(`the agent never needed more than ${mostMiB} MiB`, async () => {
        const status = await readFile(`/proc/${agent.pid}/status`, 'utf8');
        const peakMiB = Number(/VmHWM:\s+(\d+)/.exec(status)?.[1]) / 1024;
        assertThat(peakMiB <= mostMiB, `peak RSS ${peakMiB.toFixed(0)} MiB`);
      });
      await check('no log line holds what steers a terminal', async () => {
        assertThat(!/[^\n -~…]/.test(log), JSON.stringify(/.{0,60}[^\n -~…].{0,60}/.exec(log)?.[0]));
      });
    } finally {
      agent.kill('SIGKILL');
      await service.close();
      await rm(folder, { recursive: true, force: true });
    }
  },
};

/** By the agent's own metrics: the last read succeeded. */
async function metadataIsRead(log: string): Promise<boolean> {
  const health = /"address":"(http:[^"]+)"/.exec(log)?.[1];
  if (health === undefined) return false;
  const answer = await fetch(`${health}/metrics`).catch(() => undefined);
  const text = (await answer?.text()) ?? '';
  return (
    /^mooring_agent_metadata_consecutive_failures 0$/m.test(text) && /^mooring_agent_metadata_reads_total/m.test(text)
  );
}
