import { badRequest } from '../api-error.ts';

export interface FieldTerm {
  readonly field: string;
  readonly equal: boolean;
  readonly value: string;
}

/** Parses `a=b,c!=d`. `\,`, `\=` and `\\` are literal. Throws 400 for a term without an operator. */
export function parseFieldSelector(text: string): FieldTerm[] {
  const terms: FieldTerm[] = [];
  for (const part of split(text)) {
    if (part === '') continue;
    const match = /^((?:[^=!\\]|\\.)+?)\s*(!=|==|=)((?:.|\n)*)$/.exec(part);
    if (!match) throw badRequest(`invalid selector: '${text}'; can't understand '${part}'`);
    terms.push({ field: (match[1] ?? '').trim(), equal: match[2] !== '!=', value: unescaped(match[3] ?? '') });
  }
  return terms;
}

/** Splits at commas that are not escaped. */
function split(text: string): string[] {
  const parts: string[] = [];
  let part = '';
  for (let index = 0; index < text.length; index += 1) {
    const character = text.charAt(index);
    if (character === ',') {
      parts.push(part);
      part = '';
    } else if (character === '\\') {
      part += character + text.charAt(index + 1);
      index += 1;
    } else part += character;
  }
  return [...parts, part];
}

function unescaped(text: string): string {
  return text.replaceAll(/\\([\\,=])/g, '$1');
}

/** Throws 400 when a term names a field that this resource cannot be selected by. */
export function checkFields(terms: readonly FieldTerm[], known: Record<string, string>): void {
  for (const term of terms) {
    if (!Object.hasOwn(known, term.field)) throw badRequest(`field label not supported: ${term.field}`);
  }
}

export function matchesFields(terms: readonly FieldTerm[], fields: Record<string, string>): boolean {
  return terms.every((term) => ((fields[term.field] ?? '') === term.value) === term.equal);
}
