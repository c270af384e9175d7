/** Upstream's names of the loops and their aliases, and which of ours does it; undefined = known, not here. */
const loops: Readonly<Record<string, 'node' | 'lifecycle' | undefined>> = {
  'cloud-node-controller': 'node',
  'cloud-node': 'node',
  'cloud-node-lifecycle-controller': 'lifecycle',
  'cloud-node-lifecycle': 'lifecycle',
  'service-lb-controller': undefined,
  service: undefined,
  'node-route-controller': undefined,
  route: undefined,
  'node-ipam-controller': undefined,
  nodeipam: undefined,
  tagging: undefined,
  'tagging-controller': undefined,
};

export interface Loops {
  readonly node: boolean;
  readonly lifecycle: boolean;
}

/**
 * Reads `--controllers` as upstream does: the first explicit NAME or -NAME wins; otherwise a loop runs if `*` is there. Answers what was expected when a name is unknown.
 */
export function parseLoops(given: readonly string[]): Loops | { readonly expected: string } {
  for (const text of given) {
    const name = text.replace(/^-/, '');
    if (text !== '*' && !Object.hasOwn(loops, name))
      return { expected: `* or one of ${Object.keys(loops).join(', ')}` };
  }
  const runs = (loop: 'node' | 'lifecycle'): boolean => {
    const explicit = given.find((text) => text !== '*' && loops[text.replace(/^-/, '')] === loop);
    return explicit === undefined ? given.includes('*') : !explicit.startsWith('-');
  };
  return { node: runs('node'), lifecycle: runs('lifecycle') };
}
