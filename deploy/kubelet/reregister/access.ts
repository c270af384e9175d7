import { X509Certificate } from 'node:crypto';
import type { Credential, Kubeconfig, Source } from './kubeconfig.ts';

/** Everything that a request to the API server needs. Never logged. */
export interface Access {
  readonly server: string;
  readonly ca: string;
  readonly serverName: string | undefined;
  readonly cert?: string;
  readonly key?: string;
  readonly token?: string;
}

export interface AccessDependencies {
  readFile(path: string): Promise<string>;
  /** Runs a program and answers its stdout; rejects when it fails. */
  execute(command: string, args: readonly string[], env: Readonly<Record<string, string>>): Promise<string>;
}

/**
 * Reads the files that a kubeconfig names, or asks its credential plugin. Safe to repeat: certificates and tokens are
 * renewed on disk.
 */
export async function openAccess(
  { server, ca, serverName, credential }: Kubeconfig,
  dependencies: AccessDependencies,
): Promise<Access> {
  const base = { server, ca: await contentOf(ca, dependencies), serverName };
  return { ...base, ...(await presented(credential, dependencies)) };
}

async function presented(
  credential: Credential,
  dependencies: AccessDependencies,
): Promise<Pick<Access, 'cert' | 'key' | 'token'>> {
  switch (credential.kind) {
    case 'certificate':
      return {
        cert: await contentOf(credential.cert, dependencies),
        key: await contentOf(credential.key, dependencies),
      };
    case 'token':
      return { token: credential.token };
    case 'token-file':
      return { token: (await dependencies.readFile(credential.path)).trim() };
    case 'exec': {
      const { command, args, env, apiVersion } = credential;
      const info = JSON.stringify({ kind: 'ExecCredential', apiVersion, spec: { interactive: false } });
      const answer = await dependencies.execute(command, args, { ...env, KUBERNETES_EXEC_INFO: info });
      return execStatus(answer);
    }
  }
}

/** The status of an ExecCredential. Throws without its text, which is a secret. */
function execStatus(text: string): Pick<Access, 'cert' | 'key' | 'token'> {
  let status: Record<string, unknown> | undefined;
  try {
    status = JSON.parse(text)?.status;
  } catch {
    throw new Error('exec: the plugin printed no JSON');
  }
  const { token, clientCertificateData: cert, clientKeyData: key } = status ?? {};
  if (typeof cert === 'string' && typeof key === 'string') return { cert, key };
  if (typeof token === 'string' && token !== '') return { token };
  throw new Error('exec: the plugin gave neither a token nor a certificate');
}

async function contentOf(source: Source, { readFile }: AccessDependencies): Promise<string> {
  return 'text' in source ? source.text : readFile(source.path);
}

/**
 * The Node of a kubelet's client certificate: the API server calls its owner `system:node:NAME`. Undefined for every
 * other certificate. Pure.
 */
export function nodeNameOf(certPem: string): string | undefined {
  const { subject } = new X509Certificate(certPem);
  return /^CN=system:node:(\S+)$/m.exec(subject)?.[1];
}
