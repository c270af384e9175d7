import { patternMatcher } from './name-pattern.ts';

/** How a pattern for names of subnets is meant; undefined when it cannot be read. */
export function nameMatcher(pattern: string): ((name: string) => boolean) | undefined {
  const negated = pattern.startsWith('!');
  const rest = negated ? pattern.slice(1) : pattern;
  const fits = patternMatcher(rest.startsWith('~') ? rest.slice(1) : globForm(rest));
  return fits && ((name) => fits(name) !== negated);
}

function globForm(glob: string): string {
  const literal = glob.replaceAll(/[.+^${}()|\\]/g, '\\$&');
  return literal.replaceAll('*', '.*').replaceAll('?', '.').replaceAll('[!', '[^');
}

/** `a,b` any; `&a,b` all; `!a,b` none; `!&a,b` not all. */
export function tagMatcher(filter: string): (tags: readonly string[]) => boolean {
  const negated = filter.startsWith('!');
  const rest = negated ? filter.slice(1) : filter;
  const all = rest.startsWith('&');
  const desired = (all ? rest.slice(1) : rest)
    .split(',')
    .map((one) => one.trim())
    .filter((one) => one !== '');
  return (tags) => {
    const has = (one: string) => tags.includes(one);
    return (all ? desired.every(has) : desired.some(has)) !== negated;
  };
}
