import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { readSecureAnswer } from './secure-answers.ts';
import type { Heard } from './wire.ts';

const heard = (text: string, end: Heard['end'] = 'closed'): Heard => ({ bytes: Buffer.from(text), end });

function answer(status: string, body: string, more = 'x-content-type-options: nosniff\r\n'): string {
  return `HTTP/1.1 ${status}\r\ncontent-type: application/json\r\n${more}content-length: ${body.length}\r\n\r\n${body}`;
}
const statusOf = (code: number, reason: string) =>
  JSON.stringify({ kind: 'Status', apiVersion: 'v1', metadata: {}, status: 'Failure', message: 'no', reason, code });
const forbidden = answer('403 Forbidden', statusOf(403, 'Forbidden'));

describe('the judge of the secure port', () => {
  it('accepts whole answers, one or several, and the first tells the outcome', () => {
    assert.deepEqual(readSecureAnswer(heard(forbidden)), { outcome: 'secure 403' });
    assert.deepEqual(readSecureAnswer(heard(forbidden + answer('200 OK', 'ok'))), { outcome: 'secure 403' });
    assert.deepEqual(readSecureAnswer(heard('')), { outcome: 'silence' });
    const byNode = 'HTTP/1.1 400 Bad Request\r\nconnection: close\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n';
    assert.deepEqual(readSecureAnswer(heard(byNode)), { outcome: 'secure 400' });
  });

  it('accepts a cut answer only for a client who left before its end', () => {
    const cut = answer('200 OK', 'a long page').slice(0, -3);
    assert.deepEqual(readSecureAnswer(heard(cut, 'vanished')), { outcome: 'secure 200' });
    assert.ok('fault' in readSecureAnswer(heard(cut)));
  });

  for (const [what, wrong] of [
    ['a status that this port never gives', answer('500 Internal Server Error', 'internal error')],
    ['a refusal in other words', answer('403 Forbidden', '{"error":"no"}')],
    ['a refusal with the reason of another', answer('403 Forbidden', statusOf(403, 'Unauthorized'))],
    ['a stack', answer('200 OK', 'at x (server.ts:12:3)')],
    ['what must not come out again', answer('200 OK', 'cAnArY7f3e')],
    ['an answer without nosniff', answer('200 OK', 'ok', '')],
    ['a second answer that is none', `${forbidden}garbage`],
  ] as const) {
    it(`rejects ${what}`, () => assert.ok('fault' in readSecureAnswer(heard(wrong))));
  }
});
