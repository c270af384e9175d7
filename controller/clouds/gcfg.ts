import ipaddr from 'ipaddr.js';
import { parseDuration } from '../../common/process/duration.ts';
import { CloudConfigError } from './cloud.ts';

export type Cidr = readonly [ipaddr.IPv4 | ipaddr.IPv6, number];

export interface GcfgEntry {
  /** Lower case. */
  readonly key: string;
  /** `undefined` for a bare key (`key` without `=`). */
  readonly value: string | undefined;
  /** 0 where the file was of another format. */
  readonly line: number;
}

/** All sections with the same name and subsection, joined in the order of the file. */
export interface GcfgSection {
  /** Lower case. */
  readonly name: string;
  /** As written; subsections are case-sensitive. */
  readonly subsection: string | undefined;
  readonly entries: readonly GcfgEntry[];
}

export interface GcfgFile {
  readonly path: string;
  readonly sections: readonly GcfgSection[];
}

const sectionHeader = /^\[\s*([A-Za-z][\w-]*)\s*(?:"((?:[^"\\\n]|\\.)*)")?\s*\]\s*(?:[;#].*)?$/;
const keyAndRest = /^([A-Za-z][\w-]*)\s*(=)?(.*)$/s;
const escapes: ReadonlyMap<string, string> = new Map([
  ['\\', '\\'],
  ['"', '"'],
  ['n', '\n'],
  ['t', '\t'],
]);

/**
 * Reads the format of the classic cloud-provider configuration files (Go's gcfg, a dialect of git-config): `[section]`
 * and `[section "sub"]`, case-insensitive section and key names, `;` and `#` comments, quoted values with `\\ \" \n
 * \t`, a trailing backslash joining lines, a bare key, repeated keys. Does not depend on the names of sections and
 * keys.
 *
 * @throws CloudConfigError naming file, line and key; never the value, which may be a password
 */
export function parseGcfg(text: string, path: string): GcfgFile {
  const sections: { name: string; subsection: string | undefined; entries: GcfgEntry[] }[] = [];
  let entries: GcfgEntry[] | undefined;
  for (const { content, line } of logicalLines(text)) {
    const trimmed = content.trim();
    if (trimmed === '' || trimmed.startsWith(';') || trimmed.startsWith('#')) continue;
    if (trimmed.startsWith('[')) {
      const match = sectionHeader.exec(trimmed);
      if (match === null) throw syntax(path, line, 'section header: expected [section] or [section "subsection"]');
      const name = match[1]!.toLowerCase();
      const subsection = match[2]?.replace(/\\(.)/g, '$1');
      let section = sections.find((known) => known.name === name && known.subsection === subsection);
      if (section === undefined) {
        section = { name, subsection, entries: [] };
        sections.push(section);
      }
      entries = section.entries;
      continue;
    }
    const match = keyAndRest.exec(trimmed);
    if (match === null) throw syntax(path, line, 'expected key = value');
    const written = match[1]!;
    const key = written.toLowerCase();
    if (entries === undefined) throw syntax(path, line, `${written}: stands before the first [section]`);
    const rest = match[3]!;
    if (match[2] === undefined) {
      if (rest !== '' && !/^[;#]/.test(rest)) throw syntax(path, line, `${written}: expected "=" after the key`);
      entries.push({ key, value: undefined, line });
      continue;
    }
    entries.push({ key, value: unquote(rest, (problem) => syntax(path, line, `${written}: ${problem}`)), line });
  }
  return { path, sections };
}

function syntax(path: string, line: number, problem: string): CloudConfigError {
  return new CloudConfigError(`${path} line ${line}: ${problem}`);
}

/** Lines of the file, those that end in an escaping backslash joined with the next. */
function* logicalLines(text: string): Generator<{ content: string; line: number }> {
  const lines = text.replace(/^\uFEFF/, '').split(/\r?\n/);
  for (let at = 0; at < lines.length; at += 1) {
    const line = at + 1;
    let content = lines[at]!;
    while (endsInBackslash(content) && at + 1 < lines.length) {
      at += 1;
      content = content.slice(0, -1) + lines[at]!;
    }
    yield { content, line };
  }
}

function endsInBackslash(content: string): boolean {
  if (/^\s*[;#[]/.test(content)) return false;
  const backslashes = /\\+$/.exec(content);
  return backslashes !== null && backslashes[0].length % 2 === 1;
}

/** A value without its quotes, escapes, trailing comment and outer white space. */
function unquote(rest: string, error: (problem: string) => CloudConfigError): string {
  let value = '';
  // White space that belongs to the value only if more text follows.
  let pending = '';
  let quoted = false;
  for (let at = 0; at < rest.length; at += 1) {
    const char = rest[at]!;
    if (char === '\\') {
      at += 1;
      const plain = escapes.get(rest[at] ?? '');
      if (plain === undefined) throw error(`unknown escape \\${rest[at] ?? ''}, expected \\\\, \\", \\n or \\t`);
      value += pending + plain;
      pending = '';
    } else if (char === '"') {
      quoted = !quoted;
      value += pending;
      pending = '';
    } else if (!quoted && (char === ';' || char === '#')) {
      break;
    } else if (!quoted && /\s/.test(char)) {
      if (value !== '') pending += char;
    } else {
      value += pending + char;
      pending = '';
    }
  }
  if (quoted) throw error('the closing quote is missing');
  return value;
}

/**
 * Typed access to one section by key, in any case; errors spell it as it is asked for. Of repeated keys the last one
 * counts, except in `list`.
 */
export interface GcfgReader {
  /** Whether the key has a value that is not empty. */
  has(key: string): boolean;
  /** The value, or undefined when the key is missing or empty. */
  text(key: string): string | undefined;
  /** Repeated keys in order; a bare key empties the list, as gcfg does. */
  list(key: string): readonly string[];
  /** The same, each value split at its commas. */
  words(key: string): readonly string[];
  /** `words` in lower case, each one of those that are allowed. */
  choices<Choice extends string>(key: string, allowed: readonly Choice[]): readonly Choice[];
  /** `words` that are CIDRs of either family. */
  cidrs(key: string): readonly Cidr[];
  /** A whole number from 0 to `most`. */
  integer(key: string, most: number): number | undefined;
  /** `true yes on 1` and a bare key are true; `false no off 0` are false. */
  boolean(key: string): boolean | undefined;
  /** A Go duration (`1m30s`, `500ms`) in milliseconds. */
  durationMs(key: string): number | undefined;
  /** A CloudConfigError that names file, section, line and key. */
  error(key: string, problem: string): CloudConfigError;
}

/** The keys of several readers: the first reader that has a key provides all of its values. */
export function layered(...readers: readonly [GcfgReader, ...GcfgReader[]]): GcfgReader {
  const of = (key: string) => readers.find((reader) => reader.has(key)) ?? readers[0];
  return {
    has: (key) => of(key).has(key),
    text: (key) => of(key).text(key),
    list: (key) => of(key).list(key),
    words: (key) => of(key).words(key),
    choices: (key, allowed) => of(key).choices(key, allowed),
    cidrs: (key) => of(key).cidrs(key),
    integer: (key, most) => of(key).integer(key, most),
    boolean: (key) => of(key).boolean(key),
    durationMs: (key) => of(key).durationMs(key),
    error: (key, problem) => of(key).error(key, problem),
  };
}

export function readSection(file: GcfgFile, name: string, subsection?: string): GcfgReader {
  const section = file.sections.find((known) => known.name === name.toLowerCase() && known.subsection === subsection);
  const title = subsection === undefined ? `[${name}]` : `[${name} ${JSON.stringify(subsection)}]`;
  return readEntries(file.path, title, section?.entries ?? []);
}

/** @param title what errors call the place: a section, or variables of the environment */
export function readEntries(path: string, title: string, entries: readonly GcfgEntry[]): GcfgReader {
  const named = (key: string) => entries.filter((entry) => entry.key === key.toLowerCase());
  const last = (key: string) => named(key).at(-1);
  function error(key: string, problem: string): CloudConfigError {
    const line = last(key)?.line;
    return new CloudConfigError(`${path}${line ? ` line ${line}` : ''}: ${title} ${key}: ${problem}`);
  }
  function list(key: string): readonly string[] {
    const values: string[] = [];
    for (const { value } of named(key)) {
      if (value === undefined) values.length = 0;
      else if (value !== '') values.push(value);
    }
    return values;
  }
  const words = (key: string) => list(key).flatMap((value) => value.split(',').flatMap((part) => part.trim() || []));
  return {
    has: (key) => (last(key)?.value ?? '') !== '',
    text(key) {
      const entry = last(key);
      if (entry === undefined) return undefined;
      if (entry.value === undefined) throw error(key, 'expected a value');
      return entry.value === '' ? undefined : entry.value;
    },
    list,
    words,
    choices: (key, allowed) =>
      words(key).map((word) => {
        const choice = allowed.find((one) => one === word.toLowerCase());
        if (choice === undefined) throw error(key, `${JSON.stringify(word)}, expected ${allowed.join(' or ')}`);
        return choice;
      }),
    cidrs: (key) =>
      words(key).map((word) => {
        if (!ipaddr.isValidCIDR(word)) throw error(key, `${JSON.stringify(word)}, expected a CIDR`);
        return ipaddr.parseCIDR(word);
      }),
    integer(key, most) {
      const text = last(key)?.value;
      if (!text) return undefined;
      if (/^\d+$/.test(text) && Number(text) <= most) return Number(text);
      throw error(key, `${JSON.stringify(text)}, expected a whole number up to ${most}`);
    },
    boolean(key) {
      const entry = last(key);
      if (entry === undefined || entry.value === '') return undefined;
      const word = (entry.value ?? 'true').toLowerCase();
      if (['true', 'yes', 'on', '1'].includes(word)) return true;
      if (['false', 'no', 'off', '0'].includes(word)) return false;
      throw error(key, `${JSON.stringify(entry.value)}, expected true or false`);
    },
    durationMs(key) {
      const value = last(key)?.value;
      if (value === undefined || value === '') return undefined;
      const ms = parseDuration(value);
      if (ms === undefined || ms < 0)
        throw error(key, `${JSON.stringify(value)}, expected a duration such as 5s or 1m30s`);
      return ms;
    },
    error,
  };
}

/**
 * The keys of the file that are not known, as `[section] key`, once each, for one warning. `'any'`: every key of the
 * section is known, because another program reads it.
 */
export function unknownKeys(
  file: GcfgFile,
  known: ReadonlyMap<string, ReadonlySet<string> | 'any'>,
): readonly string[] {
  const found = new Set<string>();
  for (const section of file.sections) {
    const keys = known.get(section.name);
    if (keys === undefined) found.add(`[${section.name}]`);
    else if (keys !== 'any') {
      for (const { key } of section.entries) if (!keys.has(key)) found.add(`[${section.name}] ${key}`);
    }
  }
  return [...found];
}
