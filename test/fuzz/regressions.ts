import { exampleReport } from '../../controller/reports/testing/example-report.ts';
import type { Outcome } from './answers.ts';
import { canary } from './evil-values.ts';
import { bytesOf, type HeaderLines } from './requests.ts';
import type { Delivery } from './wire.ts';

/** A request that once was answered wrongly. */
export interface Regression {
  readonly name: string;
  readonly delivery: (token: string) => Delivery;
  readonly outcome: Outcome;
}

const whole = JSON.stringify(exampleReport());

function request(
  body: string | Buffer,
  changes: {
    readonly line?: string;
    readonly headers?: HeaderLines;
    readonly ending?: Delivery['ending'];
    readonly host?: boolean;
  } = {},
): (token: string) => Delivery {
  const { line, headers, ending = 'wait', host = true } = changes;
  const bytes = Buffer.from(body);
  return (token) => ({
    tls: 'yes',
    ending,
    parts: [
      bytesOf({
        ...(line === undefined ? {} : { line }),
        headers: [
          ...(host ? ([['host', 'x']] as const) : []),
          ['authorization', `Bearer ${token}`],
          ...(headers ?? [
            ['content-type', 'application/json'],
            ['content-length', String(bytes.length)],
          ]),
        ],
        body: bytes,
      }),
    ],
  });
}

function withInstance(changes: object): string {
  const report = exampleReport();
  return JSON.stringify({ ...report, instance: { ...report.instance, ...changes } });
}

/** What fuzz runs found, as small as it could be made. To be added to, never taken from. */
export const regressions: readonly Regression[] = [
  {
    name: 'a list nested 16,000 deep: 500',
    delivery: request('['.repeat(16_000) + ']'.repeat(16_000)),
    outcome: 'InvalidReport',
  },
  {
    name: 'deep nesting inside a report: 500',
    delivery: request(`{"version":1,"instance":${'['.repeat(9000)}${']'.repeat(9000)}}`),
    outcome: 'InvalidReport',
  },
  {
    name: 'an unknown field: repeated in the answer',
    delivery: request(JSON.stringify({ ...exampleReport(), password: canary })),
    outcome: 'InvalidReport',
  },
  {
    name: 'evidence of the wrong kind: repeated in the answer',
    delivery: request(JSON.stringify({ ...exampleReport(), evidence: canary })),
    outcome: 'InvalidReport',
  },
  {
    name: 'a field name that turns text round: repeated in the log',
    delivery: request(JSON.stringify({ ...exampleReport(), '\u202eevil\u001b[2J': 1 })),
    outcome: 'InvalidReport',
  },
  {
    name: 'half a character as a zone: kept',
    delivery: request(withInstance({ zone: 'a\ud800' })),
    outcome: 'InvalidReport',
  },
  {
    name: 'an incarnation with a space: kept',
    delivery: request(withInstance({ incarnation: 'a b' })),
    outcome: 'InvalidReport',
  },
  {
    name: 'the providerID of another instance: kept',
    delivery: request(withInstance({ providerID: 'aws:///eu-west-1a/i-0other' })),
    outcome: 'InvalidReport',
  },
  {
    name: 'a byte that is no UTF-8: kept as another',
    delivery: request(Buffer.from(whole.replace('0.1.0', '0.\u00ff.0'), 'latin1')),
    outcome: 'NotJson',
  },
  {
    name: 'a path that does not decode: the answer of the framework',
    delivery: request(whole, { line: `POST /%c0%af-${canary} HTTP/1.1` }),
    outcome: 'MalformedRequest',
  },
  {
    name: 'an absolute URL that is none: the answer of the framework',
    delivery: request(whole, { line: 'POST http://[::1 HTTP/1.1' }),
    outcome: 'MalformedRequest',
  },
  { name: 'no Host: an empty answer', delivery: request(whole, { host: false }), outcome: 'MalformedRequest' },
  {
    name: 'CONNECT: no answer',
    delivery: request('', { line: 'CONNECT x:1 HTTP/1.1', headers: [] }),
    outcome: 'UnknownPath',
  },
  {
    name: 'an end in the middle of an unread body: two answers',
    delivery: request('{', {
      line: 'M-SEARCH /v1/report HTTP/1.1',
      headers: [['content-length', '519']],
      ending: 'finish',
    }),
    outcome: 'UnknownPath',
  },
  {
    name: 'a content type that does not parse: refused before the body was read',
    delivery: request(whole, {
      headers: [
        ['content-type', 'nonsense'],
        ['content-length', String(whole.length)],
      ],
    }),
    outcome: 'NotJsonType',
  },
];
