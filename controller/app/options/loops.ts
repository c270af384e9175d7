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
 * Upstream's names and aliases of the loops, and our corresponding loop; undefined: known upstream, not available here,
 * so it can only be left out.
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
 * given, except node IPAM. Returns what was expected when a name is unknown or asks for a loop that is not available.
 */
export function parseLoops(given: readonly string[]): Loops | { readonly expected: string } {
  for (const text of given) {
    const name = text.replace(/^-/, '');
    if (text !== '*' && !Object.hasOwn(loops, name)) return { expected: `${available()} in place of ${name}` };
  }
  const explicitly = (loop: keyof Loops | undefined) =>
    given.find((text) => text !== '*' && loops[text.replace(/^-/, '')] === loop);
  const unavailable = explicitly(undefined);
  if (unavailable !== undefined && !unavailable.startsWith('-'))
    return { expected: `${available()}: ${unavailable} is not available` };
  const runs = (loop: keyof Loops): boolean => {
    const explicit = explicitly(loop);
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

function available(): string {
  const listed = Object.keys(loops).filter((name) => loops[name] !== undefined);
  return `* or one of ${listed.join(', ')}`;
}
