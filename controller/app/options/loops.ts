/** The loops that `--controllers` switches. */
export interface Loops {
  readonly node: boolean;
  readonly lifecycle: boolean;
  readonly service: boolean;
  readonly route: boolean;
  /** Runs only if it is named. */
  readonly ipam: boolean;
  /** Runs only if it is named. */
  readonly tagging: boolean;
  /** Labels of PersistentVolumes. Runs only if it is named. */
  readonly volume: boolean;
}

/** Names and aliases of the loops, of upstream and of classic controllers, and our corresponding loop. */
const loops: Readonly<Record<string, keyof Loops>> = {
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
  // Of Azure's.
  'node-ipam': 'ipam',
  tagging: 'tagging',
  'tagging-controller': 'tagging',
  // Of Alibaba's: its name for network load balancers, and for both loops about Nodes.
  nlb: 'service',
  node: 'node',
  'persistent-volume-label-controller': 'volume',
  'persistent-volume-label': 'volume',
  // Its name while upstream had it, up to 1.13.
  'persistentvolume-binder': 'volume',
};

/** Of Alibaba's, which has no other name for it. */
const besides: Readonly<Record<string, keyof Loops>> = { node: 'lifecycle' };

/** Loops of classic controllers that can only be left out here, and why. */
const elsewhere: ReadonlyMap<string, string> = new Map([
  ['ingress', "Ingresses are served by the cloud's own ALB Ingress Controller"],
  ['pvtz', 'records of PrivateZone are written by ExternalDNS'],
]);

/** Upstream's short names, as in its metric `running_managed_controllers`. */
export const loopNames: Readonly<Record<keyof Loops, string>> = {
  node: 'cloud-node',
  lifecycle: 'cloud-node-lifecycle',
  service: 'service',
  route: 'route',
  ipam: 'nodeipam',
  tagging: 'tagging',
  volume: 'persistent-volume-label',
};

/** Each costs a watch, or writes what others may write: as upstream has it, not part of `*`. */
const onlyNamed: ReadonlySet<keyof Loops> = new Set(['ipam', 'tagging', 'volume']);

/** The names of the loops that `*` leaves out. */
export const leftOutNames: readonly string[] = [...onlyNamed].map((loop) => loopNames[loop]);

/**
 * Parses `--controllers` as upstream does: the first explicit NAME or -NAME wins; otherwise a loop runs if `*` is
 * given, except those that run only by name. Returns what was expected when a name is unknown.
 */
export function parseLoops(given: readonly string[]): Loops | { readonly expected: string } {
  for (const text of given) {
    const name = text.replace(/^-/, '');
    const why = elsewhere.get(name);
    if (why !== undefined && text === name) return { expected: `${available()} in place of ${name}: ${why}` };
    if (text !== '*' && why === undefined && !Object.hasOwn(loops, name))
      return { expected: `${available()} in place of ${name}` };
  }
  const explicitly = (loop: keyof Loops) =>
    given.find((text) => [loops, besides].some((table) => table[text.replace(/^-/, '')] === loop));
  const runs = (loop: keyof Loops): boolean => {
    const explicit = explicitly(loop);
    if (explicit === undefined) return given.includes('*') && !onlyNamed.has(loop);
    return !explicit.startsWith('-');
  };
  return {
    node: runs('node'),
    lifecycle: runs('lifecycle'),
    service: runs('service'),
    route: runs('route'),
    ipam: runs('ipam'),
    tagging: runs('tagging'),
    volume: runs('volume'),
  };
}

function available(): string {
  return `* or one of ${Object.keys(loops).join(', ')}`;
}
