import { CloudError } from '../../common/cloud-error.ts';
import type { FieldsContext } from './fields.ts';
import { parseLosslessJson } from './lossless-json.ts';

/**
 * Marks a value that is not parsed: a list, a mapping, a multi-line text, a value with anchors, tags or unusual
 * escapes, or a duplicate key. A reader of that key gets an error that it is no text, so nothing is guessed.
 */
const unread: Readonly<Record<string, never>> = Object.freeze({});

/**
 * Parses the top-level keys of a YAML document whose values are plain or quoted scalars on one line, without converting
 * the scalars. Metadata documents consist of these, and a complete YAML parser would be larger than the rest of the
 * agent's sources. A document that begins with a brace is parsed as JSON. Throws a CloudError `Invalid`, without any of
 * the text, when there is no key at all. Pure.
 */
export function readTopLevel(context: FieldsContext, text: string): unknown {
  if (text.trimStart().startsWith('{')) return parseLosslessJson(context.cloud, context.operation, text);
  const lines = linesOf(text).filter((line) => !/^\s*(#|$)/.test(line));
  const found = new Map<string, unknown>();
  for (const [index, line] of lines.entries()) {
    const entry = keyed(line);
    if (entry === undefined) continue;
    found.set(entry.key, found.has(entry.key) ? unread : scalarOf(entry.rest, lines[index + 1]));
  }
  if (found.size === 0) {
    const message = `answer of ${text.length} bytes is no YAML mapping`;
    throw new CloudError({ ...context, kind: 'Invalid', message });
  }
  return Object.fromEntries(found);
}

/** The scalar values of `key` anywhere below the top-level `section`, in order. Pure. */
export function valuesBelow(text: string, section: string, key: string): string[] {
  const lines = linesOf(text);
  const start = lines.findIndex((line) => keyed(line)?.key === section) + 1;
  if (start === 0) return [];
  const end = lines.findIndex((line, index) => index >= start && keyed(line) !== undefined);
  return valuesOf(lines.slice(start, end < 0 ? undefined : end), key, /^[\s-]*/);
}

/** The values of `key` in a document that is a list of mappings; items without the key are left out. Pure. */
export function valuesOfItems(text: string, key: string): string[] {
  return valuesOf(linesOf(text), key, /^(?:- | {2}(?=\S))/);
}

function valuesOf(lines: readonly string[], key: string, lead: RegExp): string[] {
  return lines.flatMap((line) => {
    const indent = lead.exec(line)?.[0];
    const entry = indent === undefined ? undefined : keyed(line.slice(indent.length));
    const value = entry?.key === key ? scalarOf(entry.rest, undefined) : undefined;
    return typeof value === 'string' && value !== '' ? [value] : [];
  });
}

function linesOf(text: string): string[] {
  return text.replace(/^\uFEFF/, '').split(/\r?\n/);
}

function keyed(line: string): { readonly key: string; readonly rest: string } | undefined {
  const found = /^(["']?)([A-Za-z0-9_.-]+)\1[ \t]*:(|[ \t].*)$/.exec(line);
  return found === null ? undefined : { key: found[2]!, rest: found[3]!.trim() };
}

/**
 * @param rest what follows the colon
 * @param next the next line that is neither empty nor a comment
 */
function scalarOf(rest: string, next: string | undefined): string | typeof unread {
  const continued = next !== undefined && /^\s/.test(next);
  if (rest === '' || rest.startsWith('#')) return continued || /^-(\s|$)/.test(next ?? '') ? unread : '';
  if (continued) return unread;
  const double = /^"((?:[^"\\]|\\["\\/bfnrt])*)"(?:\s+#.*)?$/.exec(rest);
  if (double !== null) return unescaped(double[1]!);
  const single = /^'((?:[^']|'')*)'(?:\s+#.*)?$/.exec(rest);
  if (single !== null) return single[1]!.replaceAll("''", "'");
  if (/^[[\]{},&*!|>%@`"'?]|^-(\s|$)|:(\s|$)/.test(rest)) return unread;
  const plain = rest.split(/\s#/, 1)[0]!.trimEnd();
  return /^(~|null|Null|NULL)$/.test(plain) ? '' : plain;
}

function unescaped(text: string): string | typeof unread {
  try {
    return JSON.parse(`"${text}"`);
  } catch {
    return unread;
  }
}
