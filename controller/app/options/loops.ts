/** The loops that `--controllers` switches. */
export interface Loops {
  readonly node: boolean;
  readonly lifecycle: boolean;
  readonly service: boolean;
  readonly route: boolean;
  /** Runs only if it is named. */
  readonly ipam: boolean;
}

/**
 * Upstream's names and aliases of the loops, and our corresponding loop; undefined: known upstream, but not available
 * here.
 */
const loops: Readonly<Record<string, keyof Loops | undefined>> = {
  'cloud-node-controller': 'node',
  'cloud-node': 'node',
  'cloud-node-lifecycle-controller': 'lifecycle',
  'cloud-node-lifecycle': 'lifecycle',
  'service-lb-controller': 'service',
  service: 'service',
  'node-route-controller': 'route',
  route: 'route',
  'node-ipam-controller': 'ipam',
  nodeipam: 'ipam',
  tagging: undefined,
  'tagging-controller': undefined,
};

/** Upstream's short names, as in its metric `running_managed_controllers`. */
export const loopNames: Readonly<Record<keyof Loops, string>> = {
  node: 'cloud-node',
  lifecycle: 'cloud-node-lifecycle',
  service: 'service',
  route: 'route',
  ipam: 'nodeipam',
};

/**
 * Parses `--controllers` as upstream does: the first explicit NAME or -NAME wins; otherwise a loop runs if `*` is
 * given, except node IPAM. Returns what was expected when a name is unknown.
 */
export function parseLoops(given: readonly string[]): Loops | { readonly expected: string } {
  for (const text of given) {
    const name = text.replace(/^-/, '');
    if (text !== '*' && !Object.hasOwn(loops, name))
      return { expected: `* or one of ${Object.keys(loops).join(', ')}` };
  }
  const runs = (loop: keyof Loops): boolean => {
    const explicit = given.find((text) => text !== '*' && loops[text.replace(/^-/, '')] === loop);
    if (explicit === undefined) return given.includes('*') && loop !== 'ipam';
    return !explicit.startsWith('-');
  };
  return {
    node: runs('node'),
    lifecycle: runs('lifecycle'),
    service: runs('service'),
    route: runs('route'),
    ipam: runs('ipam'),
  };
}
