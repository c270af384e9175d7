import { X509Certificate } from 'node:crypto';

const begin = '-----BEGIN CERTIFICATE-----';

/**
 * Every certificate of a PEM text. Node's TLS leaves out what it cannot read, and trusts the rest, or nothing.
 * @throws where a certificate is cut off or cannot be read
 */
export function pemCertificates(text: string): readonly X509Certificate[] {
  const blocks = text.split(begin).slice(1);
  return blocks.map((block) => new X509Certificate(`${begin}${block}`));
}
