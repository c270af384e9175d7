import { reportPath } from '../../common/report.ts';
import type { Dice } from './dice.ts';
import { canary } from './evil-values.ts';
import type { Delivery } from './wire.ts';

/** Header lines in order; a name may come more than once. */
export type HeaderLines = readonly (readonly [name: string, value: string | Buffer])[];

export interface RawRequest {
  readonly line?: string;
  readonly headers: HeaderLines;
  readonly body: Buffer;
}

export const goodTypes = [
  'application/json',
  'application/json; charset=utf-8',
  'APPLICATION/JSON',
  'application/json;charset="utf-8"',
] as const;

export const badTypes = [
  undefined,
  '',
  'text/plain',
  'application/jsonp',
  'application/problem+json',
  'application/x-www-form-urlencoded',
  'multipart/form-data; boundary=x',
  'nonsense',
  '/',
  'application/json/x',
  'a'.repeat(3000),
  '*/*',
] as const;

const crlf = '\r\n';

export function bytesOf({ line = `POST ${reportPath} HTTP/1.1`, headers, body }: RawRequest): Buffer {
  const parts: Buffer[] = [Buffer.from(line + crlf, 'latin1')];
  for (const [name, value] of headers) {
    parts.push(Buffer.from(`${name}: `, 'latin1'), Buffer.from(value as string, 'latin1'), Buffer.from(crlf));
  }
  return Buffer.concat([...parts, Buffer.from(crlf), body]);
}

/** Bytes cut at any places, as a network may do. */
export function inPieces(dice: Dice, bytes: Buffer): Buffer[] {
  if (dice.chance(0.7)) return [bytes];
  const cuts = Array.from({ length: dice.between(1, 5) }, () => dice.below(bytes.length + 1)).sort((a, b) => a - b);
  return [...cuts, bytes.length].map((end, index) => bytes.subarray(cuts[index - 1] ?? 0, end));
}

export function chunked(dice: Dice, body: Buffer, extension = ''): Buffer {
  const parts: Buffer[] = [];
  for (let at = 0; at < body.length; ) {
    const size = Math.min(body.length - at, dice.between(1, 9000));
    parts.push(Buffer.from(`${size.toString(16)}${extension}${crlf}`), body.subarray(at, at + size), Buffer.from(crlf));
    at += size;
  }
  return Buffer.concat([...parts, Buffer.from(`0${crlf}${crlf}`)]);
}

/** Headers that change nothing. */
export function idleHeaders(dice: Dice): HeaderLines {
  const all: HeaderLines = [
    ['user-agent', dice.pick(['mooring-agent', '', 'x'.repeat(2000), '() { :; }; echo'])],
    ['accept', dice.pick(['application/json', '*/*', 'text/html', canary])],
    ['accept-encoding', 'gzip, br'],
    ['x-forwarded-for', dice.pick(['10.0.0.1', '127.0.0.1, ::1', canary])],
    ['x-forwarded-proto', 'http'],
    ['forwarded', 'for=_hidden'],
    ['cookie', `a=${canary}`],
    ['x-http-method-override', 'DELETE'],
    ['connection', dice.pick(['keep-alive', 'close', 'x-odd'])],
    ['origin', 'https://evil.example'],
    ['authorization-x', 'Bearer x'],
    ['x-odd', Buffer.from([0xff, 0xfe, 0x80])],
    ['expect', '100-continue'],
    ['__proto__', 'x'],
    ['constructor', 'x'],
  ];
  return all.filter(() => dice.chance(0.15));
}

/** A request that is whole and in order. */
export function plainRequest(
  dice: Dice,
  given: { readonly authorization: Buffer | undefined; readonly type: string | undefined; readonly body: Buffer },
): RawRequest {
  const { authorization, type, body } = given;
  const byLength = dice.chance(0.7);
  const extension = dice.chance(0.1) ? ';x=y' : '';
  const headers: HeaderLines = [
    ['host', dice.pick(['mooring-controller.kube-system.svc', '10.0.0.1:10270', 'evil.example', '[::1]'])],
    ...(authorization === undefined ? [] : ([[dice.pick(['Authorization', 'authorization']), authorization]] as const)),
    ...(type === undefined ? [] : ([['content-type', type]] as const)),
    ...idleHeaders(dice),
    byLength ? ['content-length', String(body.length)] : ['transfer-encoding', 'chunked'],
  ];
  return { headers, body: byLength ? body : chunked(dice, body, extension) };
}

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

export function oddPath(dice: Dice): string {
  return dice.pick([
    '/',
    '/v1/report/',
    '/v1/report?x=y',
    `/v1/report?${'x'.repeat(3000)}`,
    '/v1/report#x',
    '/v1/report;x',
    '/v1//report',
    '//v1/report',
    '/v1/./report',
    '/v1/x/../report',
    '/V1/REPORT',
    '/v1/rep%6frt',
    '/v1/report%00',
    '/v1/report%2f',
    '/%',
    '/%zz',
    '/%ff%fe',
    '/%c0%af',
    `/${canary}%`,
    '/metrics',
    '/livez',
    '/__proto__',
    '/../../etc/passwd',
    '*',
    'x',
    'https://evil.example/v1/report',
    'http://[::1',
    '/v1/report\u00ff',
    '/v1/report\\',
    `/${'a'.repeat(8000)}`,
    `/${'a/'.repeat(4000)}`,
    `/${'%41'.repeat(3000)}`,
  ]);
}

export function oddMethod(dice: Dice): string {
  return dice.pick([
    'GET',
    'HEAD',
    'PUT',
    'DELETE',
    'OPTIONS',
    'TRACE',
    'CONNECT',
    'PATCH',
    'PROPFIND',
    'QUERY',
    'M-SEARCH',
    'SOURCE',
    'post',
    'XYZ',
    '',
    'POST\u0000',
    'GET'.repeat(1000),
  ]);
}

/** No TLS at all on the TLS port, or half of it. */
export function noTls(dice: Dice): Delivery {
  const hello = Buffer.from('16030100c8010000c40303', 'hex');
  const bytes = dice.pick<() => Buffer>([
    () => Buffer.from('GET / HTTP/1.1\r\nhost: x\r\n\r\n'),
    () => Buffer.concat([hello, dice.bytes(dice.below(300))]),
    () => hello,
    () => dice.bytes(dice.between(1, 2000)),
    () => Buffer.from('SSH-2.0-x\r\n'),
    () => Buffer.from('160301ffff', 'hex'),
    () => Buffer.alloc(0),
    () => Buffer.from('80460103010000', 'hex'),
  ])();
  return { tls: 'plain', parts: inPieces(dice, bytes), ending: dice.chance(0.8) ? 'finish' : 'vanish' };
}

/** Begun and never finished. */
export function stalled(dice: Dice, good: { readonly authorization: Buffer; readonly body: Buffer }): Delivery {
  const whole = bytesOf({
    headers: [
      ['host', 'x'],
      ['authorization', good.authorization],
      ['content-type', 'application/json'],
      ['content-length', String(good.body.length)],
    ],
    body: good.body,
  });
  return { tls: 'yes', parts: [whole.subarray(0, dice.below(whole.length - 1))], ending: 'wait' };
}
