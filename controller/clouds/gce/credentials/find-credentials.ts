import { join } from 'node:path';
import { CloudConfigError } from '../../cloud.ts';
import type { GceConfig } from '../config.ts';
import { type CredentialFile, parseCredentialFile } from './credential-file.ts';
import type { MetadataServer } from './metadata-server.ts';
import type { TokenSource } from './token.ts';
import { type TokenParts, tokensOfFile, tokensOfMetadata, tokensOfUrl } from './token-sources.ts';

type Env = Readonly<Record<string, string | undefined>>;

export interface FoundCredential {
  readonly tokens: TokenSource;
  /** For people; free of secrets. */
  readonly from: string;
  readonly files: readonly string[];
  readonly project: string | undefined;
  readonly universe: string;
}

/**
 * The order of Google's auth libraries (Application Default Credentials), after what the cloud config names: the file
 * of GOOGLE_APPLICATION_CREDENTIALS, that of gcloud, the metadata service.
 *
 * @throws CloudConfigError where a file that is named cannot be read or used
 */
export async function findCredential(
  config: Pick<GceConfig, 'credentialFile' | 'tokenSource'>,
  env: Env,
  metadata: MetadataServer,
  parts: TokenParts,
): Promise<FoundCredential | { readonly tried: string }> {
  const vm = tokensOfMetadata(metadata, parts);
  const surroundings = { files: [], project: undefined, universe: 'googleapis.com' };
  if (config.tokenSource !== undefined)
    return { ...surroundings, tokens: tokensOfUrl(config.tokenSource, vm, parts), from: 'token-url' };
  const ofFile = (path: string, { credential, ...rest }: CredentialFile, name: string): FoundCredential => ({
    ...rest,
    tokens: tokensOfFile(credential, parts),
    files: [path],
    from: `${name} (${credential.type})`,
  });
  for (const [name, path] of [
    ['credential-file', config.credentialFile],
    ['GOOGLE_APPLICATION_CREDENTIALS', env['GOOGLE_APPLICATION_CREDENTIALS']],
  ] as const) {
    if (!path) continue;
    const text = await parts.readText(path);
    if (text === undefined) throw new CloudConfigError(`gce: ${name}: ${path}: no such file`);
    return ofFile(path, parseCredentialFile(path, text), name);
  }
  const folder = env['CLOUDSDK_CONFIG'] || (env['HOME'] ? join(env['HOME'], '.config/gcloud') : undefined);
  const wellKnown = folder === undefined ? undefined : join(folder, 'application_default_credentials.json');
  // Nothing names this file, and the home of another user cannot be read.
  const text = wellKnown === undefined ? undefined : await parts.readText(wellKnown).catch(() => undefined);
  if (wellKnown !== undefined && text !== undefined)
    return ofFile(wellKnown, parseCredentialFile(wellKnown, text), 'the file of gcloud');
  if (await metadata.answers()) return { ...surroundings, tokens: vm, from: "the VM's service account" };
  return { tried: "GOOGLE_APPLICATION_CREDENTIALS, the file of gcloud, the VM's metadata service" };
}
