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
