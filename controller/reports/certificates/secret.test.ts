import assert from 'node:assert/strict';
import { before, describe, it } from 'node:test';
import { type Authority, issueAuthority, issueServing, type Validity } from './ca.ts';
import type { CertificateState } from './certificate-plan.ts';
import { readSecretData, type SecretData, secretData } from './secret.ts';

const validity: Validity = {
  notBefore: Date.parse('2026-01-01T00:00:00Z'),
  notAfter: Date.parse('2026-03-01T00:00:00Z'),
};

describe('the Secret of certificates', () => {
  let state: CertificateState;
  let stranger: Authority;

  before(async () => {
    const current = await issueAuthority(validity);
    const next = await issueAuthority(validity);
    stranger = await issueAuthority(validity);
    state = {
      current: { ...current, ...validity },
      previous: { cert: stranger.cert, ...validity },
      next: { ...next, ...validity, publishedAt: Date.parse('2026-02-01T00:00:00.123Z') },
      serving: { ...(await issueServing(current, ['a.example'], validity)), ...validity },
    };
  });

  function stored(one: CertificateState, changes: Readonly<Record<string, string>> = {}): SecretData {
    const data = Object.entries(secretData(one)).filter(([, value]) => value !== null) as [string, string][];
    const changed = Object.entries(changes).map(
      ([key, value]) => [key, Buffer.from(value).toString('base64')] as const,
    );
    return { ...Object.fromEntries(data), ...Object.fromEntries(changed) };
  }

  it('reads what it wrote, with and without the optional parts', () => {
    assert.deepEqual(readSecretData(stored(state)), state);
    const { previous: _, next: __, ...least } = state;
    assert.deepEqual(readSecretData(stored(least)), least);
    assert.equal(secretData(least)['next-ca.key'], null);
  });

  it('counts an empty one as missing', () => assert.equal(readSecretData({}), undefined));

  it('names what is unusable', () => {
    const cases: [Readonly<Record<string, string>>, RegExp][] = [
      [{ 'ca.crt': 'x' }, /./],
      [{ 'ca.key': stranger.key }, /ca\.crt: its key is another's/],
      [{ 'ca.crt': stranger.cert, 'ca.key': stranger.key }, /tls\.crt: not signed by ca\.crt/],
      [{ 'tls.key': stranger.key }, /tls\.crt: its key is another's/],
      [{ 'ca.crt': state.serving.cert, 'ca.key': state.serving.key }, /not the certificate of an authority/],
    ];
    for (const [changes, message] of cases) assert.throws(() => readSecretData(stored(state, changes)), message);
  });

  it('ignores an invalid optional part', () => {
    const read = readSecretData(stored(state, { 'next-ca.crt': 'x', 'previous-ca.crt': 'x' }));
    assert.deepEqual([read?.next, read?.previous, read?.current.cert], [undefined, undefined, state.current.cert]);
    const unmarked = readSecretData(stored(state, { 'next-ca-published': 'soon' }));
    assert.equal(unmarked?.next?.publishedAt, undefined);
    assert.equal(unmarked?.next?.cert, state.next?.cert);
  });
});
