import { createPrivateKey, X509Certificate } from 'node:crypto';
import type { Authority, Validity } from './ca.ts';
import type { CertificateState } from './certificate-plan.ts';

/** Keys of the Secret. The serving certificate has those of `kubernetes.io/tls`. */
const keys = {
  current: 'ca.crt',
  currentKey: 'ca.key',
  previous: 'previous-ca.crt',
  next: 'next-ca.crt',
  nextKey: 'next-ca.key',
  nextPublished: 'next-ca-published',
  serving: 'tls.crt',
  servingKey: 'tls.key',
} as const;

export type SecretData = Readonly<Record<string, string>>;

function validity(cert: X509Certificate): Validity {
  return { notBefore: cert.validFromDate.getTime(), notAfter: cert.validToDate.getTime() };
}

/** The state as `data` of a Secret, with null for keys to remove. */
export function secretData(state: CertificateState): Readonly<Record<string, string | null>> {
  const publishedAt = state.next?.publishedAt;
  const plain: Record<string, string | undefined> = {
    [keys.current]: state.current.cert,
    [keys.currentKey]: state.current.key,
    [keys.previous]: state.previous?.cert,
    [keys.next]: state.next?.cert,
    [keys.nextKey]: state.next?.key,
    [keys.nextPublished]: publishedAt === undefined ? undefined : new Date(publishedAt).toISOString(),
    [keys.serving]: state.serving.cert,
    [keys.servingKey]: state.serving.key,
  };
  return Object.fromEntries(
    Object.entries(plain).map(([key, value]) => [
      key,
      value === undefined ? null : Buffer.from(value).toString('base64'),
    ]),
  );
}

function authorityOf(name: string, cert: string, key: string): Authority & Validity {
  const certificate = new X509Certificate(cert);
  if (!certificate.ca) throw new Error(`${name}: not the certificate of an authority`);
  if (!certificate.checkPrivateKey(createPrivateKey(key))) throw new Error(`${name}: its key is another's`);
  return { cert, key, ...validity(certificate) };
}

/**
 * Parses the data of `secretData`. An invalid optional part is ignored; undefined when the Secret is empty.
 * @throws Error naming the key when the current authority or the serving certificate is missing or invalid, or when
 *   they do not match
 */
export function readSecretData(data: SecretData): CertificateState | undefined {
  const text = (key: string) => (data[key] === undefined ? '' : Buffer.from(data[key], 'base64').toString('utf8'));
  if (Object.keys(data).length === 0) return undefined;
  try {
    const current = authorityOf(keys.current, text(keys.current), text(keys.currentKey));
    const serving = new X509Certificate(text(keys.serving));
    if (!serving.checkPrivateKey(createPrivateKey(text(keys.servingKey))))
      throw new Error(`${keys.serving}: its key is another's`);
    if (!serving.verify(new X509Certificate(current.cert).publicKey)) {
      throw new Error(`${keys.serving}: not signed by ${keys.current}`);
    }
    return {
      current,
      serving: { cert: text(keys.serving), key: text(keys.servingKey), ...validity(serving) },
      ...previousOf(text(keys.previous)),
      ...nextOf(text(keys.next), text(keys.nextKey), text(keys.nextPublished)),
    };
  } catch (cause) {
    const why = cause instanceof Error ? cause.message : String(cause);
    throw new Error(`Secret of the report API's certificates: ${why}`, { cause });
  }
}

function previousOf(cert: string): Pick<CertificateState, 'previous'> {
  try {
    return cert === '' ? {} : { previous: { cert, ...validity(new X509Certificate(cert)) } };
  } catch {
    return {};
  }
}

function nextOf(cert: string, key: string, published: string): Pick<CertificateState, 'next'> {
  try {
    if (cert === '') return {};
    const publishedAt = Date.parse(published);
    const mark = Number.isNaN(publishedAt) ? {} : { publishedAt };
    return { next: { ...authorityOf(keys.next, cert, key), ...mark } };
  } catch {
    return {};
  }
}
