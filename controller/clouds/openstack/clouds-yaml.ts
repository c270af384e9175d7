import { dirname, join } from 'node:path';
import { CloudConfigError } from '../cloud.ts';
import { readYaml } from '../yaml-text.ts';
import { type RawSettings, type SettingName, settingNames } from './credential.ts';

/** A file's text, or undefined when there is none. */
export type ReadText = (path: string) => Promise<string | undefined>;
type Env = Readonly<Record<string, string | undefined>>;
type Tree = { readonly [key: string]: string | Tree | readonly unknown[] | null | undefined };

export interface CloudsYamlRequest {
  readonly env: Env;
  readonly readText: ReadText;
  /** A path that must exist; otherwise `OS_CLIENT_CONFIG_FILE`, which must too, otherwise the search path. */
  readonly file?: string | undefined;
  /** Its text where it was read already. */
  readonly text?: string | undefined;
  /** Which entry; otherwise `OS_CLOUD`, otherwise the only one. */
  readonly cloud?: string | undefined;
}

export interface CloudsYaml {
  readonly name: string;
  readonly path: string;
  readonly settings: RawSettings;
  /** Those that were read. */
  readonly files: readonly string[];
}

/**
 * One cloud of a clouds.yaml as flat settings, found and merged as the OpenStack clients do: the profile of
 * clouds-public.yaml below it, secure.yaml on top. `verify: false` and `interface` are honoured. Undefined when there
 * is no such file and none was named.
 *
 * @throws CloudConfigError
 */
export async function readCloudsYaml(request: CloudsYamlRequest): Promise<CloudsYaml | undefined> {
  const { env, readText } = request;
  const asked = request.file ?? env['OS_CLIENT_CONFIG_FILE'];
  const found =
    request.text !== undefined && request.file !== undefined
      ? { path: request.file, text: request.text }
      : await firstFile(readText, asked ? [asked] : searchPath(env, 'clouds'));
  const cloudName = request.cloud ?? (env['OS_CLOUD'] || undefined);
  if (found === undefined) {
    if (asked) throw new CloudConfigError(`openstack: ${asked}: no such file`);
    if (cloudName !== undefined) {
      throw new CloudConfigError(
        `openstack: cloud ${JSON.stringify(cloudName)}: no clouds.yaml found in the search path`,
      );
    }
    return undefined;
  }
  const clouds = treeOf(parseYaml(found), 'clouds', found.path);
  const name = cloudName ?? onlyName(clouds, found.path);
  const entry = clouds[name];
  if (!isTree(entry)) {
    const known = Object.keys(clouds).join(', ');
    throw new CloudConfigError(`openstack: ${found.path}: no cloud ${JSON.stringify(name)}, it has: ${known}`);
  }
  const other = (named: string | undefined, name: string) => {
    const places = [...beside(dirname(found.path), name), ...searchPath(env, name)];
    return firstFile(readText, named ? [named, ...places] : places);
  };
  const publicFile = await other(env['OS_CLIENT_VENDOR_FILE'], 'clouds-public');
  const secureFile = await other(env['OS_CLIENT_SECURE_FILE'], 'secure');
  const profile = entry['profile'] ?? entry['cloud'];
  let merged: Tree = entry;
  if (typeof profile === 'string' && publicFile !== undefined) {
    merged = merge(childTree(parseYaml(publicFile)['public-clouds'], profile), merged);
  }
  if (secureFile !== undefined) merged = merge(merged, childTree(parseYaml(secureFile)['clouds'], name));
  return {
    name,
    path: found.path,
    settings: flatten(merged, `openstack: ${found.path}, cloud ${JSON.stringify(name)}`),
    files: [found, publicFile, secureFile].flatMap((file) => file?.path ?? []),
  };
}

const authTypes: ReadonlySet<string> = new Set([
  'password',
  'v3password',
  'token',
  'v3token',
  'v3applicationcredential',
]);

function flatten(cloud: Tree, where: string): RawSettings {
  const authType = cloud['auth_type'];
  if (typeof authType === 'string' && !authTypes.has(authType)) {
    throw new CloudConfigError(
      `${where}: auth_type: ${JSON.stringify(authType)}, expected one of ${[...authTypes].join(', ')}`,
    );
  }
  const auth = cloud['auth'] ?? {};
  if (!isTree(auth)) throw new CloudConfigError(`${where}: auth: expected a mapping such as auth_url: https://...`);
  const settings: Partial<Record<SettingName, string>> = {};
  for (const name of settingNames) {
    const value = auth[name] ?? cloud[name];
    // What it is instead may hold a password.
    if (typeof value === 'object' && value !== null) throw new CloudConfigError(`${where}: ${name}: expected a text`);
    if (typeof value === 'string' && value !== '') settings[name] = value;
  }
  const endpointType = cloud['endpoint_type'];
  if (settings.interface === undefined && typeof endpointType === 'string') settings.interface = endpointType;
  if (settings.interface !== undefined) settings.interface = settings.interface.replace(/URL$/, '');
  const verify = cloud['verify'];
  if (typeof verify === 'string' && /^(false|no|off|0)$/i.test(verify)) settings.insecure = 'true';
  return settings;
}

function parseYaml(file: { path: string; text: string }): Tree {
  const read = readYaml(file.text, { withNull: true });
  if (!('content' in read)) {
    const line = read.badLine === undefined ? '' : ` line ${read.badLine}`;
    throw new CloudConfigError(`openstack: ${file.path}${line}: not valid YAML`);
  }
  if (!isTree(read.content)) throw new CloudConfigError(`openstack: ${file.path}: expected a mapping`);
  return read.content;
}

function treeOf(tree: Tree, key: string, path: string): Tree {
  const child = tree[key];
  if (!isTree(child)) throw new CloudConfigError(`openstack: ${path}: ${key}: expected a mapping`);
  return child;
}

function childTree(tree: unknown, key: string): Tree {
  const child = isTree(tree) ? tree[key] : undefined;
  return isTree(child) ? child : {};
}

function onlyName(clouds: Tree, path: string): string {
  const names = Object.keys(clouds);
  if (names.length === 1) return names[0]!;
  throw new CloudConfigError(
    `openstack: ${path} has ${names.length} clouds (${names.join(', ')}): name one by OS_CLOUD`,
  );
}

function merge(below: Tree, above: Tree): Tree {
  const merged: Record<string, Tree[string]> = { ...below };
  for (const [key, value] of Object.entries(above)) {
    const under = merged[key];
    merged[key] = isTree(under) && isTree(value) ? merge(under, value) : value;
  }
  return merged;
}

function isTree(value: unknown): value is Tree {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function beside(folder: string, name: string): string[] {
  return [join(folder, `${name}.yaml`), join(folder, `${name}.yml`)];
}

function searchPath(env: Env, name: string): string[] {
  const home = env['HOME'];
  return ['.', ...(home ? [join(home, '.config', 'openstack')] : []), '/etc/openstack'].flatMap((folder) =>
    beside(folder, name),
  );
}

async function firstFile(
  readText: ReadText,
  paths: readonly string[],
): Promise<{ path: string; text: string } | undefined> {
  for (const path of paths) {
    const text = await readText(path);
    if (text !== undefined) return { path, text };
  }
  return undefined;
}
