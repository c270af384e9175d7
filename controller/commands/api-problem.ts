import { X509Certificate } from 'node:crypto';
import { isKubeError, type KubeApi, type KubeError } from '../kube/api.ts';
import type { KubeConnection } from '../kube/connection.ts';

/** A server that answers at all answers this at once. */
const answersWithinMs = 3000;

/** Of the connection, by the code of Node. */
const problems: Readonly<Record<string, string>> = {
  ECONNREFUSED: 'the connection was refused; is the server up, and is this its address?',
  ENOTFOUND: 'its name cannot be resolved',
  EAI_AGAIN: 'its name cannot be resolved now',
  ETIMEDOUT: 'no answer; does a firewall let this machine through?',
  CERT_HAS_EXPIRED: 'its certificate has expired',
  ERR_TLS_CERT_ALTNAME_INVALID: 'its certificate is of another name',
};
const untrusted = /^(UNABLE_TO_VERIFY_LEAF_SIGNATURE|UNABLE_TO_GET_ISSUER_CERT|SELF_SIGNED_CERT_IN_CHAIN|DEPTH_ZERO)/;

/** Throws an Error that says what to do where the API server does not answer, or refuses the credential. */
export async function assertAnswering(
  api: KubeApi,
  { server, credentials }: Pick<KubeConnection, 'server' | 'credentials'>,
  nowMs: number,
): Promise<void> {
  try {
    await api.call({ verb: 'get', path: '/version', timeoutMs: answersWithinMs });
  } catch (error) {
    if (!isKubeError(error)) throw error;
    throw apiProblem(error, server, expiryOf((await credentials()).tls.cert), nowMs) ?? error;
  }
}

/** Undefined without a client certificate, or where it cannot be read. */
function expiryOf(certificate: unknown): Date | undefined {
  if (typeof certificate !== 'string' && !Buffer.isBuffer(certificate)) return undefined;
  try {
    return new X509Certificate(certificate).validToDate;
  } catch {
    return undefined;
  }
}

/**
 * Undefined where the server answered with something else than that it refuses the credential. Pure.
 *
 * @param expiry of the client certificate of the kubeconfig, where it has one
 */
function apiProblem(error: KubeError, server: string, expiry: Date | undefined, nowMs: number): Error | undefined {
  const because = (why: string) => new Error(`the API server ${server}: ${why}`);
  if (error.status === 401 && expiry !== undefined && expiry.getTime() <= nowMs)
    return because(`401 Unauthorized: the client certificate of the kubeconfig expired at ${expiry.toISOString()}`);
  if (error.status === 401) return because('401 Unauthorized: it refuses the credential of the kubeconfig');
  if (error.status !== 0) return undefined;
  if (error.reason === 'Timeout') return because(`no answer in time; ${problems['ETIMEDOUT']?.split('; ')[1]}`);
  if (error.reason === 'Unreadable') return because('its answer is no JSON: is this a Kubernetes API server?');
  if (error.reason !== 'Unreachable') return undefined;
  const cause = error.cause;
  const code = cause instanceof Error && 'code' in cause ? String(cause.code) : '';
  if (untrusted.test(code))
    return because(`its certificate is not of the certificate authority of the kubeconfig (${code})`);
  return because(problems[code] ?? error.message);
}
