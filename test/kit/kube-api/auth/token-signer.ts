import { createHash, createSign, createVerify, generateKeyPairSync, type KeyObject } from 'node:crypto';
import { isObject, type JsonObject, parseJson } from '../json.ts';

/** Signs ServiceAccount tokens and knows its own again. */
export interface TokenSigner {
  sign(claims: JsonObject): string;
  /** The claims of a token this signer made; undefined for any other text. */
  verify(token: string): JsonObject | undefined;
}

/**
 * JWTs with RS256. The key is made at first use, outside any injected randomness: a simulation whose trace shows token
 * texts passes one of its own.
 */
export function rsaSigner(given?: { privateKey: KeyObject; publicKey: KeyObject }): TokenSigner {
  let pair = given;
  let header = '';

  function keys(): { privateKey: KeyObject; publicKey: KeyObject } {
    pair ??= generateKeyPairSync('rsa', { modulusLength: 2048 });
    if (header === '') {
      const der = pair.publicKey.export({ type: 'spki', format: 'der' });
      const kid = createHash('sha256').update(der).digest('base64url');
      header = Buffer.from(JSON.stringify({ alg: 'RS256', kid })).toString('base64url');
    }
    return pair;
  }

  return {
    sign(claims) {
      const { privateKey } = keys();
      const text = `${header}.${Buffer.from(JSON.stringify(claims)).toString('base64url')}`;
      return `${text}.${createSign('RSA-SHA256').update(text).sign(privateKey, 'base64url')}`;
    },
    verify(token) {
      const [head, body, signature, ...more] = token.split('.');
      if (!head || !body || !signature || more.length > 0) return undefined;
      const { publicKey } = keys();
      if (head !== header) return undefined;
      if (!createVerify('RSA-SHA256').update(`${head}.${body}`).verify(publicKey, signature, 'base64url')) {
        return undefined;
      }
      const claims = parseJson(Buffer.from(body, 'base64url').toString('utf8'));
      return isObject(claims) ? claims : undefined;
    },
  };
}
