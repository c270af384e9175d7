import { parse } from 'yaml';
import { CloudConfigError } from './cloud.ts';
import type { GcfgEntry, GcfgFile, GcfgSection } from './gcfg.ts';

/**
 * A YAML file as the sections that the same configuration has as a gcfg file: `vcenter: {a: {caFile: x, datacenters:
 * [d, e]}}` becomes `[vcenter "a"]` with `ca-file = x` and `datacenters` twice. What is empty is left out.
 *
 * @param withSubsections names of sections whose keys are subsections
 * @throws CloudConfigError naming the file and, if it is no text, the key; never a value, which may be a password
 */
export function readYamlSections(text: string, path: string, withSubsections: ReadonlySet<string>): GcfgFile {
  let root: unknown;
  try {
    // Every scalar a text: a password 0123 stays what it is.
    root = parse(text, { schema: 'failsafe', logLevel: 'error' });
  } catch (error) {
    const line = (error as { linePos?: readonly { line: number }[] }).linePos?.[0]?.line;
    throw new CloudConfigError(`${path}${line === undefined ? '' : ` line ${line}`}: it is no YAML`);
  }
  const fieldsOf = (value: unknown, where: string): [string, unknown][] => {
    if (value === undefined || value === null || value === '') return [];
    if (typeof value === 'object' && !Array.isArray(value)) return Object.entries(value);
    throw new CloudConfigError(`${path}: ${where}: expected keys and values`);
  };
  const sectionOf = (name: string, subsection: string | undefined, value: unknown): GcfgSection => {
    const where = subsection === undefined ? name : `${name}.${subsection}`;
    const entries = fieldsOf(value, where).flatMap(([key, one]) =>
      [one].flat().flatMap((item): GcfgEntry[] => {
        if (item === undefined || item === null) return [];
        if (typeof item === 'object') throw new CloudConfigError(`${path}: ${where}.${key}: expected a text or a list`);
        return [{ key: key.replace(/[A-Z]/g, (char) => `-${char}`).toLowerCase(), value: String(item), line: 0 }];
      }),
    );
    return { name: name.toLowerCase(), subsection, entries };
  };
  const sections = fieldsOf(root, 'the whole').flatMap(([name, value]) =>
    withSubsections.has(name)
      ? fieldsOf(value, name).map(([subsection, inner]) => sectionOf(name, subsection, inner))
      : [sectionOf(name, undefined, value)],
  );
  return { path, sections };
}
