/** A label selector, as in `--node-selector`: `a=b,c!=d,e,!f,g in (h,i),j notin (k)`. */
export type LabelSelector = (labels: Readonly<Record<string, string>>) => boolean;

const requirement = new RegExp(
  [
    String.raw`^(?:!\s*(?<absent>[\w./-]+)`,
    String.raw`(?<setKey>[\w./-]+)\s+(?<setOp>in|notin)\s+\((?<set>[^()]*)\)`,
    String.raw`(?<key>[\w./-]+)\s*(?:(?<op>==|=|!=)\s*(?<value>[\w.-]*))?)$`,
  ].join('|'),
);

/** Splits at commas outside parentheses. */
function split(text: string): string[] {
  return text.split(/,(?![^(]*\))/).map((part) => part.trim());
}

/** Parses a selector. Throws a RangeError that names the part that does not parse. An empty text selects everything. */
export function parseSelector(text: string): LabelSelector {
  const tests: LabelSelector[] = [];
  for (const part of text.trim() === '' ? [] : split(text)) {
    const groups = requirement.exec(part)?.groups;
    if (!groups)
      throw new RangeError(
        `${JSON.stringify(part)}, expected key, !key, key=value, key!=value, key in (a,b) or key notin (a,b)`,
      );
    const { absent, setKey, setOp, set, key, op, value } = groups;
    if (absent !== undefined) tests.push((labels) => labels[absent] === undefined);
    else if (setKey !== undefined) {
      const values = new Set((set ?? '').split(',').map((each) => each.trim()));
      // Kubernetes: `notin` and `!=` also select objects without the key.
      tests.push((labels) => {
        const held = labels[setKey];
        return setOp === 'in' ? held !== undefined && values.has(held) : held === undefined || !values.has(held);
      });
    } else if (key !== undefined && op === undefined) tests.push((labels) => labels[key] !== undefined);
    else if (key !== undefined) tests.push((labels) => (op === '!=' ? labels[key] !== value : labels[key] === value));
  }
  return (labels) => tests.every((test) => test(labels));
}
