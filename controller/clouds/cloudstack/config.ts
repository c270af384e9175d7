import type { CloudConfigFile, ReportOnlyCloud } from '../cloud.ts';
import { parseGcfg, readSection, unknownKeys } from '../gcfg.ts';
import { matchingText, secretText, urlText } from '../gcfg-values.ts';

export type CloudStackConfig = Exclude<ReturnType<typeof readConfig>, ReportOnlyCloud>;

const keys = ['api-url', 'api-key', 'secret-key', 'project-id', 'zone', 'region', 'ssl-no-verify'];
const knownKeys: ReadonlyMap<string, ReadonlySet<string>> = new Map([['global', new Set(keys)]]);
export const uuid = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;

/**
 * The INI file of the classic controller, with its section `[Global]`. `reportOnly` without a file or without keys.
 *
 * @throws CloudConfigError
 */
export function readConfig(file: CloudConfigFile | undefined) {
  const without = (reportOnly: string): ReportOnlyCloud => ({ reportOnly });
  if (file === undefined) return without('no --cloud-config, expected a file with [Global] api-url');
  const config = parseGcfg(file.text, file.path);
  const global = readSection(config, 'global');
  const needed = ['api-url', 'api-key', 'secret-key'] as const;
  const missing = needed.filter((key) => !global.has(key));
  const unknown = unknownKeys(config, knownKeys).join(', ');
  const warnings = unknown === '' ? [] : [`unknown in the cloud config: ${unknown}`];
  if (missing.length === needed.length) {
    const why = `neither ${needed.join(' nor ')} in [Global] of ${file.path}`;
    return without([why, ...warnings].join('; '));
  }
  if (missing.length > 0) throw global.error(missing[0]!, `missing, expected it beside ${needed.join(', ')}`);
  const isInsecure = global.boolean('ssl-no-verify') ?? false;
  return {
    /** Of the API, whole: `https://cloud.example.com/client/api`. */
    endpoint: urlText(global, 'api-url')!,
    apiKey: secretText(global, 'api-key')!,
    secretKey: secretText(global, 'secret-key')!,
    /** UUID. Undefined: what the account of the key has. */
    project: matchingText(global, 'project-id', uuid, 'the UUID of a project')?.toLowerCase(),
    /** What Nodes have as their region. Undefined: the name of their zone. */
    region: global.text('region'),
    /** No certificate of the API is checked. */
    isInsecure,
    /** For the log. */
    warnings: [
      ...(global.has('zone') ? ['zone has no effect: each VM tells its own'] : []),
      ...(isInsecure ? ['ssl-no-verify: the certificate of the API is not checked'] : []),
      ...warnings,
    ],
  };
}
