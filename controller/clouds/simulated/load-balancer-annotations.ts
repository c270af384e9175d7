import type { Refusal } from '../../engine/resource.ts';
import { listOf, matching, numberIn } from '../annotation-reader.ts';
import type { DesiredLoadBalancer, NodeLabel } from '../load-balancers.ts';
import { parseNodeLabels } from '../node-labels.ts';
import { keys, table } from './annotations.ts';
import type { Scheme } from './load-balancer-answer.ts';

/** What the annotations ask for. Undefined = not understood: what is there stays, and without it nothing is made. */
export interface Settings {
  readonly scheme: Scheme | undefined;
  readonly proxyProtocol: boolean | undefined;
  /** By the port's number. */
  readonly tls: ReadonlySet<number> | undefined;
  readonly healthCheck: { readonly port: number; readonly path: string } | undefined;
  /** By which the members were chosen. */
  readonly nodeLabels: readonly NodeLabel[] | undefined;
  readonly refusals: readonly Refusal[];
}

export function readSettings({ annotations, healthCheck, ports }: DesiredLoadBalancer): Settings {
  const refusals: Refusal[] = [];

  function read<T>(name: keyof typeof table, fallback: T, parse: (value: string) => T | undefined): T | undefined {
    const [key, values] = table[name];
    const value = annotations[key]?.trim();
    if (value === undefined) return fallback;
    const parsed = parse(value);
    if (parsed === undefined)
      refusals.push({ reason: 'Unsupported', message: `${key}: ${JSON.stringify(value)}, expected ${values}` });
    return parsed;
  }

  const yes = (value: string) => (value === 'true' ? true : value === 'false' ? false : undefined);
  const tcpPort = (given: string) =>
    ports.find(({ name, port, protocol }) => {
      return given !== '' && protocol === 'TCP' && [name, String(port)].includes(given);
    })?.port;
  const internal = read('internal', false, yes);
  const path = read('healthCheckPath', healthCheck.path, matching(/^\/[\x21-\x7e]*$/));
  const port = read('healthCheckPort', healthCheck.port, numberIn(1, 65_535));
  const tls = read('tls', [], listOf(tcpPort));
  return {
    scheme: internal === undefined ? undefined : internal ? 'internal' : 'external',
    proxyProtocol: read('proxyProtocol', false, yes),
    tls: tls && new Set(tls),
    healthCheck: path === undefined || port === undefined ? undefined : { port, path },
    nodeLabels: read('nodeSelector', [], parseNodeLabels),
    refusals,
  };
}

/** Which Nodes alone may be members; empty = any; undefined: it cannot be read. */
export function nodeLabels(annotations: Readonly<Record<string, string>>): readonly NodeLabel[] | undefined {
  return parseNodeLabels(annotations[keys.nodeSelector] ?? '');
}
