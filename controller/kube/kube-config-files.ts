import { existsSync, readFileSync } from 'node:fs';
import { delimiter, dirname, join, resolve } from 'node:path';
import { KubeConfig } from '@kubernetes/client-node';
import { parse } from 'yaml';
import { fileProblem } from '../../common/process/file-problem.ts';

type Env = Readonly<Record<string, string | undefined>>;

/**
 * The kubeconfig files to read, as kubectl finds them: the file given, else those of `KUBECONFIG` that are there, else
 * `~/.kube/config`. None in a Pod without the first two, and where nothing is found. Throws an Error where `KUBECONFIG`
 * names files and none is there.
 */
export function findKubeConfigs(given: string | undefined, env: Env): readonly string[] {
  if (given !== undefined) return [given];
  const named = (env['KUBECONFIG'] ?? '').split(delimiter).filter((path) => path !== '');
  const there = named.filter((path) => existsSync(path));
  if (there.length > 0) return there;
  if (named.length > 0) throw new Error(`KUBECONFIG is ${JSON.stringify(env['KUBECONFIG'])}, which names no file`);
  if (env['KUBERNETES_SERVICE_HOST'] || !env['HOME']) return [];
  const own = join(env['HOME'], '.kube', 'config');
  return existsSync(own) ? [own] : [];
}

/**
 * Reads kubeconfig files into one: what an earlier file names counts, also the current context where none is given.
 * Throws an Error that names the file and never quotes it, since it has tokens.
 */
export function readKubeConfigs(files: readonly string[], context: string | undefined): KubeConfig {
  const [first = new KubeConfig(), ...others] = files.map((file) => readKubeConfig(file, context));
  for (const other of others) {
    first.clusters = firstOfName([...first.clusters, ...other.clusters]);
    first.users = firstOfName([...first.users, ...other.users]);
    first.contexts = firstOfName([...first.contexts, ...other.contexts]);
    first.currentContext ||= other.currentContext;
  }
  return first;
}

function firstOfName<T extends { readonly name: string }>(all: readonly T[]): T[] {
  return all.filter((one, at) => all.findIndex(({ name }) => name === one.name) === at);
}

function readKubeConfig(file: string, context: string | undefined): KubeConfig {
  const config = new KubeConfig();
  try {
    config.loadFromFile(file);
    if (context !== undefined) config.setCurrentContext(context);
    readTokenFiles(config, file);
    return config;
  } catch (error) {
    const line = yamlLine(error);
    if (line !== undefined) throw new Error(`kubeconfig ${file}: line ${line}: not valid YAML`);
    throw new Error(`kubeconfig ${file}: ${fileProblem(error)}`);
  }
}

/**
 * The line of a YAML syntax error, by either parser; undefined for other failures. The parsers' messages quote the
 * text, which may be a token.
 */
function yamlLine(error: unknown): number | undefined {
  const { mark, linePos } = error as { mark?: { line: number }; linePos?: readonly { line: number }[] };
  return mark === undefined ? linePos?.[0]?.line : mark.line + 1;
}

/**
 * Reads `users[].user.tokenFile`, which client-node 2.0.1 silently ignores (it looks for `token-file`), so requests
 * would be anonymous. A file that is not there matters to its own user alone.
 */
function readTokenFiles(config: KubeConfig, file: string): void {
  const document = parse(readFileSync(file, 'utf8')) as { readonly users?: readonly RawUser[] } | null;
  config.users = config.users.map((user) => {
    const raw = document?.users?.find((entry) => entry.name === user.name)?.user;
    if (typeof raw?.tokenFile !== 'string' || user.token) return user;
    const tokenFile = resolve(dirname(file), raw.tokenFile);
    if (config.getCurrentUser()?.name !== user.name && !existsSync(tokenFile)) return user;
    return { ...user, token: readFileSync(tokenFile, 'utf8').trim() };
  });
}

interface RawUser {
  readonly name?: unknown;
  readonly user?: { readonly tokenFile?: unknown };
}
