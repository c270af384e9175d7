import type { GcfgReader } from '../gcfg.ts';

const hyphenated = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;
const example = '8bd0f2e5-93e5-4d61-a5a9-f0a1a0fe5b3c';

/** Whether a text is an id as Nova, Neutron and Octavia give them. */
export function isHyphenatedUuid(text: string): boolean {
  return hyphenated.test(text);
}

/** The same without hyphens, too: people and other tools write them so. */
export function isUuid(text: string): boolean {
  return hyphenated.test(text) || /^[0-9a-f]{32}$/i.test(text);
}

/**
 * The id under a key of a cloud.conf.
 *
 * @throws CloudConfigError naming file, line, section, key, value and what was expected
 */
export function uuidOf(section: GcfgReader, key: string): string | undefined {
  const value = section.text(key);
  if (value === undefined || isUuid(value)) return value;
  throw section.error(key, `${JSON.stringify(value)}, expected a UUID such as ${example}`);
}
