import { CloudConfigError, type CloudConfigFile } from '../cloud.ts';
import { isPlainUrl, plainUrlExpected } from '../plain-url.ts';
import { readYaml } from '../yaml-text.ts';

export type SimulatedConfig = ReturnType<typeof parseSimulatedConfig>;

const keys = ['endpoint', 'project', 'region', 'credential', 'credentialFile', 'maxMembers', 'settleSeconds'];
const word = /^[A-Za-z0-9][A-Za-z0-9._-]*$/;

/**
 * Reads the YAML of a `--cloud-config` file: `endpoint`, `project`, `region`, `credential` or `credentialFile`, and,
 * where they differ from the defaults, `maxMembers` and `settleSeconds`.
 * Throws a CloudConfigError that names the key; a credential is never repeated in it.
 */
export function parseSimulatedConfig({ path, text }: CloudConfigFile) {
  const bad = (problem: string) => new CloudConfigError(`${path}: ${problem}`);
  const read = readYaml(text, { schema: 'core' });
  if (!('content' in read)) throw bad(`${read.badLine === undefined ? '' : `line ${read.badLine}: `}it is no YAML`);
  const { content } = read;
  if (typeof content !== 'object' || content === null || Array.isArray(content)) {
    throw bad(`expected the keys ${keys.join(', ')}`);
  }
  const fields = content as Readonly<Record<string, unknown>>;
  for (const key of Object.keys(fields)) {
    if (!keys.includes(key)) throw bad(`unknown key ${JSON.stringify(key)}, expected ${keys.join(', ')}`);
  }

  function name(key: 'project' | 'region'): string {
    const value = fields[key];
    if (typeof value === 'string' && word.test(value)) return value;
    throw bad(`${key}: ${JSON.stringify(value) ?? 'missing'}, expected a name of letters, digits, '.', '_' and '-'`);
  }

  function secretText(key: 'credential' | 'credentialFile'): string | undefined {
    const value = fields[key];
    if (value === undefined || value === null) return undefined;
    // A header takes no line breaks and no other control characters.
    if (typeof value === 'string' && /^[\x21-\x7e]+( [\x21-\x7e]+)*$/.test(value)) return value;
    throw bad(`${key}: expected a text in one line`);
  }

  function wholeNumber(key: 'maxMembers' | 'settleSeconds', least: number): number | undefined {
    const value = fields[key] ?? undefined;
    if (value === undefined) return undefined;
    if (typeof value === 'number' && Number.isInteger(value) && value >= least && value <= 1_000_000) return value;
    throw bad(`${key}: ${JSON.stringify(value)}, expected a whole number from ${least}`);
  }

  /** How many members one load balancer takes; undefined = any number. */
  const maxMembers = wholeNumber('maxMembers', 1);
  /** For how long a search may still miss what has been made. Default 5 s. */
  const settleSeconds = wholeNumber('settleSeconds', 0);
  const credential = secretText('credential');
  const file = secretText('credentialFile');
  if (credential !== undefined && file !== undefined) throw bad('credential and credentialFile exclude each other');
  return {
    /** Without a slash at the end. */
    endpoint: endpointOf(fields['endpoint'], bad),
    project: name('project'),
    region: name('region'),
    ...(credential !== undefined && { credential: { text: credential } }),
    ...(file !== undefined && { credential: { file } }),
    ...(maxMembers !== undefined && { maxMembers }),
    ...(settleSeconds !== undefined && { settleMs: settleSeconds * 1000 }),
  };
}

function endpointOf(value: unknown, bad: (problem: string) => CloudConfigError): string {
  if (value === undefined) throw bad('endpoint: missing, expected an http or https URL');
  if (typeof value !== 'string' || !isPlainUrl(value)) throw bad(`endpoint: ${plainUrlExpected}`);
  const url = new URL(value);
  return url.origin + url.pathname.replace(/\/+$/, '');
}
