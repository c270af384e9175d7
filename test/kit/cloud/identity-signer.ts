import { createPrivateKey, createPublicKey, sign } from 'node:crypto';
import type { SimulatedInstance } from './instance.ts';

/** Signs who a VM is, as the metadata services of real clouds do. */
export interface IdentitySigner {
  /** PEM. */
  readonly publicKey: string;
  sign(instance: SimulatedInstance, challenge: string): { readonly content: string; readonly signature: string };
}

/** What stands before the 32 bytes of an Ed25519 key in PKCS #8 (RFC 8410). */
const pkcs8Prefix = Buffer.from('302e020100300506032b657004220420', 'hex');

/** @param seed 32 bytes; the same seed gives the same key, so that one seed of the simulation gives one trace */
export function createIdentitySigner(seed: Uint8Array = Buffer.alloc(32, 7)): IdentitySigner {
  const key = createPrivateKey({ key: Buffer.concat([pkcs8Prefix, seed]), format: 'der', type: 'pkcs8' });
  return {
    publicKey: createPublicKey(key).export({ format: 'pem', type: 'spki' }).toString(),
    sign({ id, incarnation, project, region, zone }, challenge) {
      const content = JSON.stringify({ id, incarnation, project, region, zone, challenge });
      return { content, signature: sign(null, Buffer.from(content), key).toString('base64') };
    },
  };
}
