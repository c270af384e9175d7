import { OptionError } from '../../app/options/options.ts';

/** What is explained. The namespace is undefined where none was named. */
export type Subject =
  | { readonly kind: 'node'; readonly name: string }
  | { readonly kind: 'service'; readonly namespace: string | undefined; readonly name: string };

const kinds: Readonly<Record<string, Subject['kind']>> = {
  node: 'node',
  nodes: 'node',
  no: 'node',
  service: 'service',
  services: 'service',
  svc: 'service',
};

/**
 * Reads operands as kubectl takes them: `node a b`, `svc web`, `node/a svc/web`; also `service shop/web`, with its
 * namespace. Throws an OptionError that names the operand.
 */
export function readSubjects(operands: readonly string[], namespace: string | undefined): readonly Subject[] {
  const [first = '', ...names] = operands;
  if (first.includes('/')) {
    return operands.map((operand) => {
      const at = operand.indexOf('/');
      if (at < 0) throw wrong('NAME', operand, 'KIND/NAME, as the first one');
      return subjectOf(kindOf(operand.slice(0, at)), operand.slice(at + 1), namespace);
    });
  }
  const kind = kindOf(first);
  if (names.length === 0) {
    const expected = kind === 'node' ? 'the name of a Node' : 'the name of a Service';
    throw new OptionError(`NAME: missing, expected ${expected}; the command status shows all by state and reason`);
  }
  return names.map((name) => subjectOf(kind, name, namespace));
}

function kindOf(text: string): Subject['kind'] {
  const name = text.toLowerCase();
  const kind = Object.hasOwn(kinds, name) ? kinds[name] : undefined;
  if (kind === undefined) throw wrong('KIND', text, 'node or service');
  return kind;
}

function subjectOf(kind: Subject['kind'], text: string, namespace: string | undefined): Subject {
  const parts = text.split('/');
  if (parts.length > (kind === 'node' ? 1 : 2) || parts.includes(''))
    throw wrong('NAME', text, kind === 'node' ? 'the name of a Node' : 'NAME or NAMESPACE/NAME of a Service');
  const [first = '', second] = parts;
  if (kind === 'node') return { kind, name: first };
  if (second === undefined) return { kind, namespace, name: first };
  if (namespace !== undefined && namespace !== first)
    throw new OptionError(`--namespace: ${JSON.stringify(namespace)}, but NAME is ${JSON.stringify(text)}`);
  return { kind, namespace: first, name: second };
}

function wrong(operand: string, text: string, expected: string): OptionError {
  return new OptionError(`${operand}: ${JSON.stringify(text)}, expected ${expected}`);
}
