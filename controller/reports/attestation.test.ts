import assert from 'node:assert/strict';
import { it } from 'node:test';
import { attest, type EvidenceVerifier } from './attestation.ts';
import type { Sender } from './store.ts';

const sender: Sender = { nodeName: 'a', nodeUid: 'u', podUid: 'p', credentialId: 'JTI=1' };
const evidence = { cloud: 'aws', kind: 'rsa2048', document: 'x' };

it('leaves a report on its token when nobody verifies its evidence, or it proves nothing', async () => {
  const doubtful: EvidenceVerifier = { cloud: 'aws', kind: 'rsa2048', verify: async () => undefined };
  for (const known of [undefined, [], [{ ...doubtful, kind: 'pkcs7' }], [doubtful]]) {
    assert.deepEqual(await attest(sender, evidence, known), { assurance: 'psat' });
  }
  assert.deepEqual(await attest(sender, undefined, [doubtful]), { assurance: 'psat' });
});

it('raises the assurance to what the verifier found', async () => {
  const instance = { assurance: 'psat+doc', cloud: 'aws', id: 'i-1' } as const;
  const verifier: EvidenceVerifier = { cloud: 'aws', kind: 'rsa2048', verify: async () => instance };
  assert.deepEqual(await attest(sender, evidence, [verifier]), { assurance: 'psat+doc', instance });
});
