import { CloudConfigError } from './cloud.ts';
import type { GcfgEntry, GcfgFile, GcfgSection } from './gcfg.ts';
import { readYaml } from './yaml-text.ts';

/**
 * A YAML file as the sections that the same configuration has as a gcfg file: `vcenter: {a: {caFile: x, datacenters:
 * [d, e]}}` becomes `[vcenter "a"]` with `ca-file = x` and `datacenters` twice. What is empty is left out.
 *
 * @param known by name in lower case; other sections are named and not read, because others may write them as they like
 * @param withSubsections names of sections whose keys are subsections
 * @throws CloudConfigError naming the file and, if it is no text, the key; never a value, which may be a password
 */
export function readYamlSections(
  text: string,
  path: string,
  known: ReadonlyMap<string, unknown>,
  withSubsections: ReadonlySet<string>,
): GcfgFile {
  const read = readYaml(text);
  if (!('content' in read))
    throw new CloudConfigError(`${path}${read.badLine === undefined ? '' : ` line ${read.badLine}`}: it is no YAML`);
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
  const sections = fieldsOf(read.content, 'the whole').flatMap(([name, value]) => {
    if (!known.has(name.toLowerCase())) return [sectionOf(name, undefined, undefined)];
    return withSubsections.has(name)
      ? fieldsOf(value, name).map(([subsection, inner]) => sectionOf(name, subsection, inner))
      : [sectionOf(name, undefined, value)];
  });
  return { path, sections };
}
