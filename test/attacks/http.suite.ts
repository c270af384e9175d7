import { brotliCompressSync, gzipSync } from 'node:zlib';
import { seededRandom } from '../../common/process/random.ts';
import { maxReportBytes } from '../../common/report.ts';
import type { ApiSuite } from '../conformance/api-under-test.ts';
import { inWorld } from '../e2e/in-world.ts';
import { readAnswer } from '../fuzz/answers.ts';
import { createDice } from '../fuzz/dice.ts';
import { regressions } from '../fuzz/regressions.ts';
import { bytesOf, type HeaderLines } from '../fuzz/requests.ts';
import { readSecureAnswer } from '../fuzz/secure-answers.ts';
import { wildRequest } from '../fuzz/wild-requests.ts';
import { createWire, type Delivery } from '../fuzz/wire.ts';
import { assertThat } from '../kit/world/scenario.ts';
import { agentFiles, readyLeader, statusOf, takesReport } from './victim.ts';

const bomb = Buffer.alloc(20 * 2 ** 20);
const body: Buffer = Buffer.from('{}');
const smuggled: Buffer = Buffer.from('POST /v1/report HTTP/1.1\r\nhost: x\r\ncontent-length: 0\r\n\r\n');

/** The attacks by hand: each gets one answer in the words of the report API, or none. */
function byHand(authorization: string): readonly (readonly [what: string, bytes: Buffer])[] {
  const request = (headers: HeaderLines, content: Buffer = body, line?: string) =>
    bytesOf({
      ...(line === undefined ? {} : { line }),
      headers: [['host', 'x'], ['authorization', authorization], ['content-type', 'application/json'], ...headers],
      body: content,
    });
  const sized = (content: Buffer): HeaderLines => [['content-length', String(content.length)]];
  const packed = (encoding: string, content: Buffer) =>
    request([...sized(content), ['content-encoding', encoding]], content);
  const long = Buffer.alloc(maxReportBytes + 1, 0x20);
  const chunked = Buffer.concat([Buffer.from('0\r\n\r\n'), smuggled]);
  return [
    [
      'both lengths of a message',
      request(
        [
          ['content-length', '4'],
          ['transfer-encoding', 'chunked'],
        ],
        chunked,
      ),
    ],
    [
      'two lengths',
      request(
        [
          ['content-length', '2'],
          ['content-length', '60'],
        ],
        Buffer.concat([body, smuggled]),
      ),
    ],
    ['a second request behind the first', Buffer.concat([request(sized(body)), smuggled])],
    ['a folded header', request([['x', 'a\r\n content-length: 60'], ...sized(body)])],
    ['bare line feeds', Buffer.from(request(sized(body)).toString('latin1').replaceAll('\r\n', '\n'), 'latin1')],
    ['a report that is a byte too long', request(sized(long), long)],
    ['a length of 100 MB', request([['content-length', '100000000']])],
    ['a gzip bomb', packed('gzip', gzipSync(bomb))],
    ['a brotli bomb', packed('br', brotliCompressSync(bomb))],
    ['25 KiB of headers', request([['x', 'y'.repeat(25 * 1024)], ...sized(body)])],
    ['2,400 headers', request([...Array.from({ length: 2_400 }, (_, n) => [`h${n}`, 'v'] as const), ...sized(body)])],
    ['an upgrade to HTTP/2', request([['connection', 'Upgrade, HTTP2-Settings'], ['upgrade', 'h2c'], ...sized(body)])],
    [
      'a WebSocket',
      request(
        [
          ['connection', 'Upgrade'],
          ['upgrade', 'websocket'],
        ],
        Buffer.alloc(0),
        'GET / HTTP/1.1',
      ),
    ],
    ['CONNECT', request([], Buffer.alloc(0), 'CONNECT 169.254.169.254:80 HTTP/1.1')],
    ['an absolute URI', request(sized(body), body, 'POST http://169.254.169.254/v1/report HTTP/1.1')],
    ['another user in a header', request([['x-remote-user', 'system:admin'], ...sized(body)])],
    ...[
      '//v1/report',
      '/v1/./report',
      '/v1/x/../report',
      '/v1/report/',
      '/V1/REPORT',
      '/v1/rep%6frt',
      '/v1/report%00',
    ].map((path) => [`the path ${path}`, request(sized(body), body, `POST ${path} HTTP/1.1`)] as const),
  ];
}

const asksHead = ({ parts }: Delivery) => Buffer.concat(parts).subarray(0, 5).equals(Buffer.from('HEAD '));

/** Other spellings of what needs a right, and headers that name another user. */
const guarded = [
  ['/metrics', {}],
  ['/configz', {}],
  ['/metrics', { 'x-remote-user': 'system:admin', 'x-remote-group': 'system:masters' }],
  ['/metrics?x=/livez', {}],
  ['//metrics', {}],
  ['/./metrics', {}],
  ['/livez/../metrics', {}],
  ['/%6detrics', {}],
  ['/METRICS', {}],
  ['/metrics;x', {}],
  ['/metrics%00', {}],
  ['/configz/', {}],
  ['/debug/pprof/', {}],
] as const;

/** Requests that are no request, more than one, or another than they seem, to both ports of the running controller. */
export const httpSuite: ApiSuite = {
  name: 'http',
  run: (api, suiteCheck) =>
    inWorld({ api, nodes: 1, agentProcesses: 0 }, suiteCheck, async (world, check) => {
      const leader = await readyLeader(world);
      const { token, ca } = await agentFiles(world);
      const pid = leader.child.pid;
      const wire = createWire(ca, { resume: false, patienceMs: 30_000 });
      const stolen = Buffer.from('Bearer eyJhbGciOiJub25lIn0.e30.x');

      async function refused(delivery: Delivery): Promise<void> {
        const headOnly = asksHead(delivery);
        const reading = readAnswer(await wire.send(leader.reportPort, delivery), { headOnly });
        assertThat(!('fault' in reading), 'fault' in reading ? reading.fault : '');
        assertThat('outcome' in reading && reading.outcome !== 'kept', 'a report was taken');
      }

      for (const [what, bytes] of byHand(`Bearer ${token}`)) {
        await check(`the report API answers ${what} once, and takes no report for it`, () =>
          refused({ tls: 'yes', parts: [bytes], ending: 'wait' }),
        );
      }
      await check('the report API gives one answer at most to each of 300 wild requests', async () => {
        const dice = createDice(seededRandom(10));
        for (let n = 0; n < 300; n += 1) await refused(wildRequest(dice, { authorization: stolen, body }));
      });
      await check('what once was answered wrongly at the report API is answered rightly', async () => {
        for (const { name, delivery } of regressions) {
          const reading = readAnswer(await wire.send(leader.reportPort, delivery('a.b.c')));
          assertThat(!('fault' in reading), `${name}: ${JSON.stringify(reading)}`);
        }
      });
      for (const [path, headers] of guarded) {
        const named = Object.keys(headers).length > 0 ? ' with the name of another user' : '';
        await check(`the secure port shows nothing at ${path}${named} without a token`, async () => {
          const status = await statusOf(leader.securePort, path, { headers });
          assertThat([401, 403, 404, 429].includes(status), `${status}`);
        });
      }
      await check('the secure port shows nothing to 150 wild requests', async () => {
        const dice = createDice(seededRandom(11));
        const secure = createWire(ca, { resume: false, patienceMs: 30_000, insecure: true });
        const inner = Buffer.from('GET /metrics HTTP/1.1\r\nhost: x\r\n\r\n');
        for (let n = 0; n < 150; n += 1) {
          const delivery = wildRequest(dice, { authorization: stolen, body: inner });
          const headOnly = asksHead(delivery);
          const heard = await secure.send(leader.securePort, delivery);
          const reading = readSecureAnswer(heard, { headOnly });
          assertThat(!('fault' in reading), JSON.stringify(reading));
          assertThat(!heard.bytes.includes('mooring_build_info'), 'metrics were shown');
        }
      });
      await check('the controller was not restarted, answers probes and takes reports', async () => {
        assertThat(leader.child.running && leader.child.pid === pid, 'the controller ended');
        assertThat((await statusOf(leader.securePort, '/livez')) === 200, 'no /livez');
        await takesReport(world, leader);
      });
    }),
};
