/** A place in a pattern. Without `fits` the next ones are reached without a character. */
interface State {
  readonly fits?: RegExp;
  readonly next: State[];
}
/** Puts its states in front of another. */
type Part = (next: State) => State;

const longest = 255;
const maxStates = 2000;

/**
 * Whether a whole name fits a regular expression as Go's are written; undefined when it cannot be read. Not read are
 * flags, named groups, word boundaries, anchors in the middle, classes of POSIX and Unicode, and what is longer than
 * the names of OpenStack. Such a pattern is a user's: a RegExp could take for ever, this takes time in proportion to
 * both lengths. Pure.
 */
export function patternMatcher(pattern: string): ((name: string) => boolean) | undefined {
  if (pattern.length > longest) return undefined;
  const end: State = { next: [] };
  try {
    // The whole name has to fit anyway.
    const start = parse(pattern.replace(/^(\^|\\A)/, '').replace(/(?<!\\)\$$|\\z$/, ''))(end);
    return (name) => {
      let states = reached([start]);
      for (const character of name.split(''))
        states = reached([...states].flatMap(({ fits, next }) => (fits?.test(character) ? next : [])));
      return states.has(end);
    };
  } catch {
    return undefined;
  }
}

/** These, and all that is reached from them without a character. */
function reached(states: readonly State[]): ReadonlySet<State> {
  const all = new Set(states);
  for (const { fits, next } of all) if (fits === undefined) for (const one of next) all.add(one);
  return all;
}

/** @throws SyntaxError, by the parts too when they are too many */
function parse(pattern: string): Part {
  let rest = pattern;
  let states = 0;

  function take(form: RegExp): RegExpExecArray | null {
    const found = form.exec(rest);
    rest = rest.slice(found?.[0].length ?? 0);
    return found;
  }
  function state(next: State[], fits?: RegExp): State {
    states += 1;
    if (states > maxStates) throw new SyntaxError('too many states');
    return { next, ...(fits && { fits }) };
  }
  const inTurn = (parts: readonly Part[]): Part => {
    return (next) => parts.reduceRight((after, part) => part(after), next);
  };
  const optional = (part: Part): Part => {
    return (next) => state([part(next), next]);
  };
  const repeated = (part: Part): Part => {
    return (next) => {
      const again = state([next]);
      again.next.push(part(again));
      return again;
    };
  };

  function alternatives(): Part {
    const all: Part[] = [];
    do {
      const parts: Part[] = [];
      while (rest !== '' && !/^[|)]/.test(rest)) parts.push(counted(atom()));
      all.push(inTurn(parts));
    } while (take(/^\|/));
    return (next) => state(all.map((part) => part(next)));
  }
  function counted(part: Part): Part {
    // A question mark after it says which match is preferred, which is the same for a whole name.
    const [sign, least = '', range, most] = take(/^(?:[*+?]|\{(\d{1,4})(,(\d{0,4}))?\})\??/) ?? [];
    if (sign === undefined) return part;
    if (sign.startsWith('*')) return repeated(part);
    if (sign.startsWith('+')) return inTurn([part, repeated(part)]);
    if (sign.startsWith('?')) return optional(part);
    const parts = Array.from({ length: Number(least) }, () => part);
    if (range === undefined) return inTurn(parts);
    if (most === '') return inTurn([...parts, repeated(part)]);
    if (Number(most) < Number(least)) throw new SyntaxError('more than at most');
    return inTurn([...parts, ...Array.from({ length: Number(most) - Number(least) }, () => optional(part))]);
  }
  function atom(): Part {
    if (take(/^\((\?:)?/)) {
      const inside = alternatives();
      if (!take(/^\)/)) throw new SyntaxError('an open group');
      return inside;
    }
    const [text = ''] = take(/^(?:\\.|\[\^?(?:\\.|[^\\\]])+\]|[^*+?^$[\]{}\\])/) ?? [];
    if (text === '' || /\\(?![dDsSwW])[A-Za-z0-9]|\[:/.test(text)) throw new SyntaxError('not read');
    const fits = new RegExp(`^${text}$`);
    return (next) => state([next], fits);
  }

  const whole = alternatives();
  if (rest !== '') throw new SyntaxError('a closed group');
  return whole;
}
