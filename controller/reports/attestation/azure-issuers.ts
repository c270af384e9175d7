import { X509Certificate } from 'node:crypto';
import { rootCertificates } from 'node:tls';
import { LRUCache } from 'lru-cache';
import { EvidenceRefusal } from './verdict.ts';

/**
 * Fetches a binary answer; undefined for any status except 200. Rejects when it is late or too long. Follows no
 * redirect.
 */
export type FetchBytes = (url: string) => Promise<Uint8Array | undefined>;

/**
 * The only host that is contacted: otherwise the sender of a document could choose where the controller connects to.
 */
const issuerHost = 'www.microsoft.com';
const remembered = 32;

/** SHA-256 of the public roots of Azure's certificates (Microsoft, "Azure Certificate Authority details"). */
const rootFingerprints: ReadonlySet<string> = new Set([
  // DigiCert Global Root G2, DigiCert Global Root G3, Microsoft RSA and ECC Root Certificate Authority 2017
  'CB:3C:CB:B7:60:31:E5:E0:13:8F:8D:D3:9A:23:F9:DE:47:FF:C3:5E:43:C1:14:4C:EA:27:D4:6A:5A:B1:CB:5F',
  '31:AD:66:48:F8:10:41:38:C7:38:F3:9E:A4:32:01:33:39:3E:3A:18:CC:02:29:6E:F9:7C:2A:C9:EF:67:31:D0',
  'C7:41:F7:0F:4B:2A:8D:88:BF:2E:71:C1:41:22:EF:53:EF:10:EB:A0:CF:A5:E6:4C:FA:20:F4:18:85:30:73:E0',
  '35:8D:F3:9D:76:4A:F9:E1:B7:66:E9:C9:72:DF:35:2E:E1:5C:FA:C2:27:AF:6A:D1:D7:0E:8E:4A:6E:DC:BA:02',
]);

/** Those roots, as Node ships them. */
export function azureRoots(): readonly X509Certificate[] {
  return rootCertificates
    .map((pem) => new X509Certificate(pem))
    .filter(({ fingerprint256 }) => rootFingerprints.has(fingerprint256));
}

/** Fetches intermediates from Microsoft's host, each URL once. */
export function createIssuerFetch(fetchBytes: FetchBytes) {
  const cache = new LRUCache<string, X509Certificate>({ max: remembered });

  return async (certificate: X509Certificate): Promise<X509Certificate | undefined> => {
    const url = issuerUrl(certificate);
    if (url === undefined) return undefined;
    const held = cache.get(url);
    if (held !== undefined) return held;
    let bytes: Uint8Array | undefined;
    try {
      bytes = await fetchBytes(url);
    } catch (error) {
      const why = error instanceof Error ? error.message : String(error);
      throw new EvidenceRefusal('KeysUnavailable', `the intermediate certificate cannot be fetched: ${why}`);
    }
    if (bytes === undefined) throw new EvidenceRefusal('KeysUnavailable');
    try {
      const issuer = new X509Certificate(bytes);
      cache.set(url, issuer);
      return issuer;
    } catch {
      throw new EvidenceRefusal('KeysUnavailable', 'the intermediate certificate that was fetched does not parse');
    }
  };
}

/** The URL of the issuer's certificate, if it is on Microsoft's host, without port, user and query. */
function issuerUrl({ infoAccess = '' }: X509Certificate): string | undefined {
  for (const [, text = ''] of infoAccess.matchAll(/^CA Issuers - URI:(.*)$/gm)) {
    const url = URL.canParse(text) ? new URL(text) : undefined;
    const isPlain = url?.port === '' && url.username === '' && url.password === '' && url.search === '';
    if (url && isPlain && url.hostname === issuerHost && /^https?:$/.test(url.protocol)) return url.href;
  }
  return undefined;
}
