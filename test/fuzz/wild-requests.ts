import { reportPath } from '../../common/report.ts';
import type { Dice } from './dice.ts';
import { canary } from './evil-values.ts';
import { oddMethod, oddPath } from './odd-targets.ts';
import { bytesOf, chunked, type HeaderLines, inPieces } from './requests.ts';
import type { Delivery } from './wire.ts';

/** Requests that are no request, or more than one, or another than they seem. */
export function wildRequest(dice: Dice, good: { readonly authorization: Buffer; readonly body: Buffer }): Delivery {
  const { authorization, body } = good;
  const base: HeaderLines = [
    ['host', 'x'],
    ['authorization', authorization],
    ['content-type', 'application/json'],
  ];
  const length = String(body.length);
  const whole = (headers: HeaderLines, content = body, line?: string) =>
    bytesOf({ headers: [...base, ...headers], body: content, ...(line === undefined ? {} : { line }) });
  const sized: HeaderLines = [['content-length', length]];
  const inChunks = chunked(dice, body);
  const make = dice.pick<() => Buffer>([
    // What is said of the length, and what comes.
    () => whole([['content-length', String(body.length + dice.between(1, 40))]]),
    () => whole([['content-length', String(dice.below(body.length))]]),
    () => whole([['content-length', '0']]),
    () => whole([]),
    () => whole([...sized, ['content-length', length]]),
    () => whole([...sized, ['content-length', String(body.length + 1)]]),
    () => whole([['content-length', `${length}, ${length}`]]),
    () =>
      whole([
        ['content-length', dice.pick(['-1', '+5', '0x10', '1e3', ' ', 'x', '9'.repeat(30), '18446744073709551616'])],
      ]),
    () => whole([...sized, ['transfer-encoding', 'chunked']], inChunks),
    () => whole([['transfer-encoding', 'chunked'], ...sized], inChunks),
    () =>
      whole(
        [
          [
            'transfer-encoding',
            dice.pick([
              'chunked, chunked',
              'gzip, chunked',
              'identity',
              'xchunked',
              'chunked, identity',
              ' chunked',
              '\x0bchunked',
              'CHUNKED',
            ]),
          ],
        ],
        inChunks,
      ),
    () =>
      whole(
        [
          ['transfer-encoding', 'chunked'],
          ['transfer-encoding', 'identity'],
        ],
        inChunks,
      ),
    // Chunks.
    () =>
      whole(
        [['transfer-encoding', 'chunked']],
        Buffer.concat([
          Buffer.from(
            dice.pick(['-1\r\n', 'x\r\n', 'ffffffffffffffffff\r\n', '0x5\r\n', ' 5\r\n', '5 \r\n', '\r\n', ';\r\n']),
          ),
          body,
        ]),
      ),
    () => whole([['transfer-encoding', 'chunked']], Buffer.concat([Buffer.from('7fffffff\r\n'), body])),
    () => whole([['transfer-encoding', 'chunked']], Buffer.from(`1;${'e'.repeat(20_000)}\r\n{\r\n0\r\n\r\n`)),
    () =>
      whole(
        [['transfer-encoding', 'chunked']],
        Buffer.from(inChunks.toString('latin1').replaceAll('\r\n', '\n'), 'latin1'),
      ),
    () =>
      whole(
        [['transfer-encoding', 'chunked']],
        Buffer.concat([inChunks.subarray(0, -2), Buffer.from('authorization: Bearer a.b.c\r\nx: y\r\n\r\n')]),
      ),
    () =>
      whole(
        [['transfer-encoding', 'chunked']],
        Buffer.concat([inChunks.subarray(0, -2), Buffer.from(`x: ${'y'.repeat(30_000)}\r\n\r\n`)]),
      ),
    () =>
      whole(
        [
          ['transfer-encoding', 'chunked'],
          ['trailer', 'authorization'],
        ],
        inChunks,
      ),
    // Several requests on one connection.
    () => Buffer.concat([whole(sized), whole(sized)]),
    () => Buffer.concat([whole(sized), Buffer.from('GET / HTTP/1.1\r\nhost: x\r\n\r\n'.repeat(dice.between(1, 30)))]),
    () => Buffer.concat([whole([...sized, ['connection', 'keep-alive']]), Buffer.from('garbage')]),
    () => Buffer.concat([Buffer.from('\r\n\r\n'), whole(sized)]),
    // Headers.
    () => whole([...sized, ['authorization', 'Bearer a.b.c']]),
    () => whole([...sized, ['content-type', 'text/plain']]),
    () => whole([...sized, ['host', 'y']]),
    () => whole([...sized, ['x', 'y'.repeat(dice.pick([20_000, 24 * 1024, 100_000]))]]),
    () => whole([...sized, ...Array.from({ length: dice.pick([90, 1900, 2100]) }, (_, n) => [`h${n}`, 'v'] as const)]),
    () => whole([...sized, ['x'.repeat(25_000), 'y']]),
    () => whole([...sized, [dice.pick(['', ' x', 'x ', 'x y', 'x\u0000', 'é', '(x)', '\tx']), 'y']]),
    () => whole([...sized, ['x', dice.pick(['a\u0000b', 'a\rb', 'a\nb: c', 'a\r\n folded', '\u007f', '\u0001'])]]),
    () => whole([...sized, ['expect', dice.pick(['200-ok', '100-continue, x', '', '101'])]]),
    () => whole([...sized, ['upgrade', dice.pick(['websocket', 'h2c', 'TLS/1.0'])], ['connection', 'upgrade']]),
    () =>
      whole([
        ...sized,
        ['connection', dice.pick(['upgrade', 'keep-alive, content-length', 'authorization', 'close, close'])],
      ]),
    () => whole([...sized, ['content-encoding', dice.pick(['gzip', 'br', 'identity'])]]),
    () =>
      bytesOf({
        headers: [
          ['content-length', length],
          ['authorization', authorization],
        ],
        body,
      }),
    // Request lines.
    () =>
      whole(
        sized,
        body,
        dice.pick([
          'POST /v1/report HTTP/1.0',
          'POST /v1/report HTTP/0.9',
          'POST /v1/report HTTP/2.0',
          'POST /v1/report HTTP/9.9',
          'POST /v1/report',
          'POST  /v1/report HTTP/1.1',
          'POST\t/v1/report\tHTTP/1.1',
          ' POST /v1/report HTTP/1.1',
          'POST /v1/report HTTP/1.1 x',
          'POST /v1/report http/1.1',
          'PRI * HTTP/2.0',
        ]),
      ),
    () => whole(sized, body, `POST ${oddPath(dice)} HTTP/1.1`),
    () => whole(sized, body, `${oddMethod(dice)} ${dice.pick([reportPath, '*', '/', 'x:1'])} HTTP/1.1`),
    () => Buffer.concat([Buffer.from('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n'), dice.bytes(40)]),
    () => dice.bytes(dice.between(1, 300)),
    () => Buffer.from(`${canary}\r\n\r\n`),
    () => Buffer.alloc(dice.pick([1, 30_000, 200_000]), dice.pick([0, 0x41, 0x0a, 0x0d])),
  ]);
  const bytes = make();
  const cut = dice.chance(0.1) ? bytes.subarray(0, dice.below(bytes.length)) : bytes;
  return { tls: 'yes', parts: inPieces(dice, cut), ending: dice.chance(0.85) ? 'finish' : 'vanish' };
}
