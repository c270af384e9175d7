import { dirname, resolve } from 'node:path';
import { parse } from 'yaml';

/** What the kubelet shows to the API server. */
export type Credential =
  | { readonly kind: 'certificate'; readonly cert: Source; readonly key: Source }
  | { readonly kind: 'token'; readonly token: string }
  | { readonly kind: 'token-file'; readonly path: string }
  | {
      readonly kind: 'exec';
      readonly command: string;
      readonly args: readonly string[];
      readonly env: Env;
      readonly apiVersion: string;
    };

type Env = Readonly<Record<string, string>>;

/** A file, by its absolute path, or its content. */
export type Source = { readonly path: string } | { readonly text: string };

export interface Kubeconfig {
  /** Without a slash at its end. */
  readonly server: string;
  readonly ca: Source;
  readonly serverName: string | undefined;
  readonly credential: Credential;
}

/**
 * The current context of a kubelet's kubeconfig. Its paths are relative to its own folder. Throws an Error that names
 * the field: a setting that cannot be followed exactly as the kubelet does is refused, so that no other server is
 * trusted.
 */
export function parseKubeconfig(text: string, file: string): Kubeconfig {
  const folder = dirname(file);
  const document = record(parseYaml(text), 'the file');
  const context = named(document, 'contexts', 'context', string(document, 'current-context'));
  const cluster = named(document, 'clusters', 'cluster', string(context, 'cluster'));
  const user = named(document, 'users', 'user', string(context, 'user'));
  const server = string(cluster, 'server').replace(/\/+$/, '');
  if (!/^https:\/\/[^\s?#]+$/.test(server)) throw new Error(`server: ${JSON.stringify(server)}, expected https://host`);
  if (cluster['insecure-skip-tls-verify'] === true) {
    throw new Error('insecure-skip-tls-verify: true, expected a server that proves who it is');
  }
  if (cluster['proxy-url'] !== undefined) throw new Error('proxy-url: proxies are not supported');
  const ca = sourceOf(cluster, 'certificate-authority', folder);
  if (ca === undefined) throw new Error('certificate-authority: missing, expected a file or data');
  return { server, ca, serverName: optional(cluster, 'tls-server-name'), credential: credentialOf(user, folder) };
}

/** The parser's own message quotes what stands around the fault, which may be a token. */
function parseYaml(text: string): unknown {
  try {
    return parse(text);
  } catch (error) {
    const line = (error as { linePos?: readonly { line: number }[] }).linePos?.[0]?.line;
    throw new Error(`${line === undefined ? '' : `line ${line}: `}not valid YAML`);
  }
}

function credentialOf(user: Fields, folder: string): Credential {
  const cert = sourceOf(user, 'client-certificate', folder);
  const key = sourceOf(user, 'client-key', folder);
  if (cert !== undefined && key !== undefined) return { kind: 'certificate', cert, key };
  const tokenFile = optional(user, 'tokenFile');
  if (tokenFile !== undefined) return { kind: 'token-file', path: resolve(folder, tokenFile) };
  const token = optional(user, 'token');
  if (token !== undefined) return { kind: 'token', token };
  if (user['exec'] === undefined) throw new Error('user: expected a client certificate with its key, a token or exec');
  const exec = record(user['exec'], 'exec');
  const command = string(exec, 'command');
  return {
    kind: 'exec',
    command: command.includes('/') ? resolve(folder, command) : command,
    args: list(exec['args'] ?? [], 'exec.args').map(String),
    env: Object.fromEntries(
      list(exec['env'] ?? [], 'exec.env').map((entry) => {
        const fields = record(entry, 'exec.env');
        return [string(fields, 'name'), string(fields, 'value')];
      }),
    ),
    apiVersion: string(exec, 'apiVersion'),
  };
}

type Fields = Readonly<Record<string, unknown>>;

function record(value: unknown, field: string): Fields {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) throw new Error(`${field}: expected a map`);
  return value as Fields;
}

function list(value: unknown, field: string): readonly unknown[] {
  if (!Array.isArray(value)) throw new Error(`${field}: expected a list`);
  return value;
}

function optional(fields: Fields, field: string): string | undefined {
  const value = fields[field];
  if (value === undefined || value === null || value === '') return undefined;
  if (typeof value !== 'string') throw new Error(`${field}: expected a text`);
  return value;
}

function string(fields: Fields, field: string): string {
  const value = optional(fields, field);
  if (value === undefined) throw new Error(`${field}: missing`);
  return value;
}

/** The element of `document[group]` with that name, and of it what is under `key`. */
function named(document: Fields, group: string, key: string, name: string): Fields {
  const found = list(document[group] ?? [], group)
    .map((entry) => record(entry, group))
    .find((entry) => entry['name'] === name);
  if (found === undefined) throw new Error(`${group}: none is called ${JSON.stringify(name)}`);
  return record(found[key], `${group}[${name}].${key}`);
}

/** Data go before a file, as in client-go. */
function sourceOf(fields: Fields, field: string, folder: string): Source | undefined {
  const data = optional(fields, `${field}-data`);
  if (data !== undefined) return { text: Buffer.from(data, 'base64').toString('utf8') };
  const path = optional(fields, field);
  return path === undefined ? undefined : { path: resolve(folder, path) };
}
