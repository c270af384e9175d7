import { readFile } from 'node:fs/promises';
import { evidenceKinds, isEvidenceCloud } from '../../../common/attestation.ts';
import { fileProblem } from '../../../common/process/file-problem.ts';
import type { FlagValues } from '../../../common/process/flags.ts';
import { providerIdCodecs } from '../../../common/provider-id/registry.ts';
import type { CloudConfigFile, CloudModule } from '../../clouds/cloud.ts';
import { cloudModules, cloudNameOf, endedPlatforms, isKnownName } from '../../clouds/registry.ts';
import { type LabelSelector, parseSelector } from '../../model/selector.ts';
import { selectorFault } from './expectations.ts';
import { allClouds, type cloudFlags, type commonFlags } from './own-flags.ts';

/**
 * An invalid command line or configuration: exit code 2. The message names the flag, the value and what was expected.
 */
export class OptionError extends Error {
  override readonly name = 'OptionError';
}

/** One cloud of the command line. */
export interface CloudRequest {
  readonly name: string;
  /** As the command line names it, where that is another name. */
  readonly given?: string | undefined;
  /** Of `--cloud-module`. Undefined: the registry has it, where it has controller support. */
  readonly module?: CloudModule | undefined;
  readonly config: CloudConfigFile | undefined;
  readonly selector: LabelSelector | undefined;
  /** `--require-attestation`. Default: no. */
  readonly requireAttestation?: boolean;
  /** `--allow-untagged-cloud`. Default: no. */
  readonly allowUntagged?: boolean;
  /** `--allowed-security-groups`. Default: none. */
  readonly allowedSecurityGroups?: readonly string[];
  /** `--bind-by-name`. Undefined: the default of the cloud's module. */
  readonly bindsByName?: boolean | undefined;
}

/** Commands without decisions about Nodes do not have their flags. */
export type CloudValues = FlagValues<typeof cloudFlags> & Partial<FlagValues<typeof commonFlags>>;

/**
 * Combines `--cloud-provider`, `--cloud-config` and `--node-selector`, and reads the files. The n-th configuration of a
 * name belongs to the n-th provider of that name, so one cloud may be served in two scopes. Loads the modules of
 * `--cloud-module`. Throws an OptionError, and a CloudConfigError for a module.
 */
export async function readCloudRequests(values: CloudValues): Promise<CloudRequest[]> {
  const providers = values.cloudProvider.map(cloudNameOf);
  if (providers.length === 0) throw new OptionError('--cloud-provider: missing, expected the name of a cloud');
  const paths = modulePaths(values.cloudModule, providers);
  for (const name of providers) {
    const ended = endedPlatforms.get(name);
    if (ended !== undefined) {
      const instead = `name the cloud that its machines run in, or nocloud; Nodes of ${name}:// stay foreign`;
      throw new OptionError(`--cloud-provider: ${JSON.stringify(name)}: ${ended}: ${instead}`);
    }
    if (!cloudModules.has(name) && !providerIdCodecs.has(name) && !paths.has(name)) {
      const known = [...new Set([...cloudModules.keys(), ...providerIdCodecs.keys(), ...paths.keys()])]
        .sort()
        .join(', ');
      throw new OptionError(`--cloud-provider: ${JSON.stringify(name)}, expected one of ${known}`);
    }
  }
  const required = requiredClouds((values.requireAttestation ?? []).map(cloudNameOf), providers);
  const bindByName = (values.bindByName ?? []).map(cloudNameOf);
  const unserved = bindByName.find((name) => name !== allClouds && !providers.includes(name));
  if (unserved !== undefined) {
    const expected = `one of ${providers.join(', ')}, or no value for all of them`;
    throw new OptionError(`--bind-by-name: ${JSON.stringify(unserved)}, expected ${expected}`);
  }
  const configs = assign('cloud-config', values.cloudConfig, providers);
  const selectors = assign('node-selector', values.nodeSelector ?? [], providers);
  const modules = await loadModules(paths);
  return Promise.all(
    providers.map(async (name, index) => ({
      name,
      given: values.cloudProvider[index],
      module: modules.get(name),
      config: await readConfig(configs[index]),
      selector: selectors[index] === undefined ? undefined : readSelector(selectors[index]),
      requireAttestation: required.has(name),
      allowUntagged: values.allowUntaggedCloud,
      allowedSecurityGroups: values.allowedSecurityGroups ?? [],
      bindsByName: bindByName.includes(allClouds) || bindByName.includes(name) || undefined,
    })),
  );
}

/**
 * The paths of `--cloud-module`, by the cloud's name. Throws an OptionError.
 *
 * @param providers names of `--cloud-provider`; undefined: the command serves none
 */
export function modulePaths(given: readonly string[], providers?: readonly string[]): ReadonlyMap<string, string> {
  const paths = new Map<string, string>();
  for (const text of given) {
    const at = text.indexOf('=');
    const name = text.slice(0, at);
    const wrong = (expected: string) =>
      new OptionError(`--cloud-module: ${JSON.stringify(text)}, expected ${expected}`);
    if (isKnownName(name)) throw wrong(`a NAME that no cloud has: ${name} is one that Mooring knows`);
    if (paths.has(name)) throw wrong(`each NAME once: ${name} is ${JSON.stringify(paths.get(name))} already`);
    if (providers?.includes(name) === false) throw wrong(`--cloud-provider=${name} beside it`);
    paths.set(name, text.slice(at + 1));
  }
  return paths;
}

/** Most controllers have none, and carry nothing of what guards them. */
async function loadModules(paths: ReadonlyMap<string, string>): Promise<ReadonlyMap<string, CloudModule>> {
  if (paths.size === 0) return new Map();
  const { loadCloudModule } = await import('../cloud-modules/load-cloud-module.ts');
  return new Map([...paths].map(([name, path]) => [name, loadCloudModule(name, path)]));
}

/** The clouds of `--require-attestation`. */
function requiredClouds(given: readonly string[], providers: readonly string[]): ReadonlySet<string> {
  const served = providers.filter(isEvidenceCloud);
  for (const name of given) {
    if (name === allClouds ? served.length > 0 : served.some((each) => each === name)) continue;
    const expected =
      served.length > 0
        ? `one of ${[allClouds, ...new Set(served)].join(', ')}`
        : `a --cloud-provider that signs the identity of its VMs: ${Object.keys(evidenceKinds).join(', ')}`;
    throw new OptionError(`--require-attestation: ${JSON.stringify(name)}, expected ${expected}`);
  }
  return new Set(given.includes(allClouds) ? served : given);
}

/** Assigns each text to a provider: NAME=text to the next one of that name, plain text to the only one. */
function assign(flag: string, texts: readonly string[], providers: readonly string[]): (string | undefined)[] {
  const given: (string | undefined)[] = providers.map(() => undefined);
  for (const text of texts) {
    const at = text.indexOf('=');
    const name = cloudNameOf(text.slice(0, at));
    const named = at > 0 && providers.includes(name);
    const free = providers.findIndex((provider, index) => given[index] === undefined && (!named || provider === name));
    if (!named && new Set(providers).size > 1) {
      throw new OptionError(
        `--${flag}: ${JSON.stringify(text)}, expected NAME=... with NAME one of ${providers.join(', ')}, ` +
          'since several clouds are served',
      );
    }
    if (free < 0)
      throw new OptionError(
        `--${flag}: ${JSON.stringify(text)}, expected no more of them than --cloud-provider has clouds`,
      );
    given[free] = named ? text.slice(at + 1) : text;
  }
  return given;
}

function readSelector(text: string): LabelSelector {
  const fault = selectorFault(text);
  if (fault !== undefined) throw new OptionError(`--node-selector: ${JSON.stringify(text)}, expected ${fault}`);
  return parseSelector(text);
}

async function readConfig(path: string | undefined): Promise<CloudConfigFile | undefined> {
  if (path === undefined || path === '') return undefined;
  try {
    return { path, text: await readFile(path, 'utf8') };
  } catch (error) {
    throw new OptionError(
      `--cloud-config: ${JSON.stringify(path)}, expected a file that can be read: ${fileProblem(error)}`,
    );
  }
}
