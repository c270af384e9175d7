import type { CloudConfigFile } from '../cloud.ts';
import { type GcfgReader, parseGcfg, readSection, unknownKeys } from '../gcfg.ts';
import { isPlainUrl, plainUrlExpected } from '../plain-url.ts';

/** What the cloud config of the classic controller says. */
export interface CloudStackConfig {
  /** Of the API, whole: `https://cloud.example.com/client/api`. */
  readonly endpoint: string;
  readonly apiKey: string;
  readonly secretKey: string;
  /** UUID. Undefined: what the account of the key has. */
  readonly project: string | undefined;
  /** What Nodes have as their region. Undefined: the name of their zone. */
  readonly region: string | undefined;
  /** No certificate of the API is checked. */
  readonly isInsecure: boolean;
  /** For the log. */
  readonly warnings: readonly string[];
}

const keys = ['api-url', 'api-key', 'secret-key', 'project-id', 'zone', 'region', 'ssl-no-verify'];
const knownKeys: ReadonlyMap<string, ReadonlySet<string>> = new Map([['global', new Set(keys)]]);
export const uuid = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;

/**
 * The INI file of the classic controller, with its section `[Global]`. `reportOnly` without a file or without keys.
 *
 * @throws CloudConfigError
 */
export function readConfig(file: CloudConfigFile | undefined): CloudStackConfig | { readonly reportOnly: string } {
  if (file === undefined) return { reportOnly: 'no --cloud-config, expected a file with [Global] api-url' };
  const config = parseGcfg(file.text, file.path);
  const global = readSection(config, 'global');
  const needed = ['api-url', 'api-key', 'secret-key'] as const;
  const missing = needed.filter((key) => !global.has(key));
  const unknown = unknownKeys(config, knownKeys).join(', ');
  const warnings = unknown === '' ? [] : [`unknown in the cloud config: ${unknown}`];
  if (missing.length === needed.length) {
    const why = `neither ${needed.join(' nor ')} in [Global] of ${file.path}`;
    return { reportOnly: [why, ...warnings].join('; ') };
  }
  if (missing.length > 0) throw global.error(missing[0]!, `missing, expected it beside ${needed.join(', ')}`);
  const project = global.text('project-id');
  if (project !== undefined && !uuid.test(project))
    throw global.error('project-id', `${JSON.stringify(project)}, expected the UUID of a project`);
  const isInsecure = global.boolean('ssl-no-verify') ?? false;
  return {
    endpoint: endpointOf(global),
    apiKey: keyOf(global, 'api-key'),
    secretKey: keyOf(global, 'secret-key'),
    project: project?.toLowerCase(),
    region: global.text('region'),
    isInsecure,
    warnings: [
      ...(global.has('zone') ? ['zone has no effect: each VM tells its own'] : []),
      ...(isInsecure ? ['ssl-no-verify: the certificate of the API is not checked'] : []),
      ...warnings,
    ],
  };
}

function endpointOf(global: GcfgReader): string {
  const value = global.text('api-url')!;
  if (isPlainUrl(value)) return value;
  throw global.error('api-url', plainUrlExpected);
}

function keyOf(global: GcfgReader, key: string): string {
  const value = global.text(key)!;
  if (/^[\x21-\x7e]+$/.test(value)) return value;
  throw global.error(key, 'a wrong value (not shown), expected one word of ASCII characters');
}
