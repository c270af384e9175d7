import { type KeyObject, verify } from 'node:crypto';
import { evidenceKinds } from '../../../common/attestation.ts';
import { objectOf, textOf } from './fields.ts';
import { EvidenceRefusal, type EvidenceVerifier } from './verdict.ts';

const visible = /^[^/\s]+$/;

/** The simulated cloud's signed identity: a JSON text with our challenge inside, and its Ed25519 signature. */
export function simulatedVerifier(key: KeyObject): EvidenceVerifier {
  return {
    cloud: 'simulated',
    kind: evidenceKinds.simulated,
    async verify(evidence, challenges) {
      const parts = objectOf(evidence);
      const content = textOf(parts, 'content', /./);
      const signature = Buffer.from(textOf(parts, 'signature', /^[A-Za-z0-9+/]+={0,2}$/), 'base64');
      if (!verify(null, Buffer.from(content, 'utf8'), key, signature)) throw new EvidenceRefusal('BadSignature');
      const signed = objectOf(content);
      if (!challenges.includes(textOf(signed, 'challenge', visible))) throw new EvidenceRefusal('NotFresh');
      return {
        assurance: 'psat+fresh',
        cloud: 'simulated',
        id: textOf(signed, 'id', visible),
        incarnation: textOf(signed, 'incarnation', visible),
        zone: textOf(signed, 'zone', visible),
        region: textOf(signed, 'region', visible),
      };
    },
  };
}
