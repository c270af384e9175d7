import { FakeRefusal } from './fake-api.ts';

type Json = Readonly<Record<string, unknown>>;
/** Names below a field; empty: the whole field. */
interface Mask extends Map<string, Mask> {}

/** What the parameter `fields` leaves of an answer: `a,b/c,d(e,f/g),items/*`, as Google's APIs read it. */
export function partialResponse(answer: unknown, fields: string | null): unknown {
  return fields === null ? answer : select(answer, parse(fields));
}

function parse(text: string): Mask {
  let at = 0;
  const wrong = () => new FakeRefusal(400, 'invalidParameter', `Invalid field selection ${text.slice(at)}`);
  function list(): Mask {
    const mask: Mask = new Map();
    for (;;) {
      item(mask);
      if (text[at] !== ',') return mask;
      at += 1;
    }
  }
  function item(mask: Mask): void {
    const name = /^[A-Za-z0-9]+|^\*/.exec(text.slice(at))?.[0];
    if (name === undefined) throw wrong();
    at += name.length;
    const below: Mask = mask.get(name) ?? new Map();
    mask.set(name, below);
    if (text[at] === '/') {
      at += 1;
      item(below);
    } else if (text[at] === '(') {
      at += 1;
      for (const [one, more] of list()) below.set(one, more);
      if (text[at] !== ')') throw wrong();
      at += 1;
    }
  }
  const mask = list();
  if (at < text.length) throw wrong();
  return mask;
}

function select(value: unknown, mask: Mask): unknown {
  if (mask.size === 0 || typeof value !== 'object' || value === null) return value;
  if (Array.isArray(value)) return value.map((one) => select(one, mask));
  const entries = Object.entries(value as Json).flatMap(([name, one]) => {
    const below = mask.get(name) ?? mask.get('*');
    return below === undefined ? [] : [[name, select(one, below)] as const];
  });
  return Object.fromEntries(entries);
}
