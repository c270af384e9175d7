import type { Refusal } from '../../engine/resource.ts';
import { listOf, matching, numberIn } from '../annotation-reader.ts';
import type { DesiredLoadBalancer, NodeLabel } from '../load-balancers.ts';
import { parseNodeLabels } from '../node-labels.ts';
import { unsupported } from '../served-ports.ts';
import { prefix, table } from './annotations.ts';
import type { Scheme } from './load-balancer-answer.ts';

/** What the annotations ask for. Undefined = not understood: what is there stays, and without it nothing is made. */
export function readSettings({ annotations, healthCheck, ports }: DesiredLoadBalancer) {
  const refusals: Refusal[] = [];

  function read<T>(name: keyof typeof table, fallback: T, parse: (value: string) => T | undefined): T | undefined {
    const value = annotations[prefix + name]?.trim();
    if (value === undefined) return fallback;
    const parsed = parse(value);
    if (parsed === undefined)
      refusals.push(unsupported(`${prefix}${name}: ${JSON.stringify(value)}, expected ${table[name][0]}`));
    return parsed;
  }

  const yes = (value: string) => (value === 'true' ? true : value === 'false' ? false : undefined);
  const tcpPort = (given: string) =>
    ports.find(({ name, port, protocol }) => {
      return given !== '' && protocol === 'TCP' && [name, String(port)].includes(given);
    })?.port;
  const internal = read('internal', false, yes);
  const scheme: Scheme = internal ? 'internal' : 'external';
  const path = read('health-check-path', healthCheck.path, matching(/^\/[\x21-\x7e]*$/));
  const port = read('health-check-port', healthCheck.port, numberIn(1, 65_535));
  const tls = read('tls', [], listOf(tcpPort));
  return {
    scheme: internal === undefined ? undefined : scheme,
    proxyProtocol: read('proxy-protocol', false, yes),
    /** By the port's number. */
    tls: tls && new Set(tls),
    healthCheck: path === undefined || port === undefined ? undefined : { port, path },
    /** By which the members were chosen. */
    nodeLabels: read('node-selector', [], parseNodeLabels),
    refusals,
  };
}

/** Which Nodes alone may be members; empty = any; undefined: it cannot be read. */
export function nodeLabels(annotations: Readonly<Record<string, string>>): readonly NodeLabel[] | undefined {
  return parseNodeLabels(annotations[`${prefix}node-selector`] ?? '');
}
