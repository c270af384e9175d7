import { createHash } from 'node:crypto';
import type { TokenSigner } from '../../kit/kube-api/auth/token-signer.ts';
import { isObject, parseJson } from '../../kit/kube-api/json.ts';

const header = Buffer.from('{"alg":"RS256","kid":"simulated"}').toString('base64url');

/**
 * Tokens in the shape of the API server's, the same ones for the same seed; signed with a hash, which is fast and
 * proves nothing outside.
 */
export function simulatedSigner(): TokenSigner {
  const signatureOf = (text: string) => createHash('sha256').update(`simulated ${text}`).digest('base64url');
  return {
    sign(claims) {
      const text = `${header}.${Buffer.from(JSON.stringify(claims)).toString('base64url')}`;
      return `${text}.${signatureOf(text)}`;
    },
    verify(token) {
      const [head, body = '', signature] = token.split('.');
      if (head !== header || signature !== signatureOf(`${head}.${body}`)) return undefined;
      const claims = parseJson(Buffer.from(body, 'base64url').toString('utf8'));
      return isObject(claims) ? claims : undefined;
    },
  };
}
