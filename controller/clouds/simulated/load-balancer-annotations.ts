import type { Refusal } from '../../engine/resource.ts';
import type { DesiredLoadBalancer, NodeLabel } from '../load-balancers.ts';
import { keys, takes } from './annotations.ts';
import type { Scheme } from './load-balancer-answer.ts';
import { parseNodeLabels } from './node-labels.ts';

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

  function read<T>(key: string, values: string, fallback: T, parse: (value: string) => T | undefined): T | undefined {
    const value = annotations[key]?.trim();
    if (value === undefined) return fallback;
    const parsed = parse(value);
    if (parsed === undefined) {
      refusals.push({ reason: 'Unsupported', message: `${key}: ${JSON.stringify(value)}, expected ${values}` });
    }
    return parsed;
  }

  const yes = (value: string) => (value === 'true' ? true : value === 'false' ? false : undefined);
  const internal = read(keys.internal, takes.trueOrFalse, false, yes);
  const path = read(keys.healthCheckPath, takes.path, healthCheck.path, (value) =>
    /^\/[\x21-\x7e]*$/.test(value) ? value : undefined,
  );
  const port = read(keys.healthCheckPort, takes.portNumber, healthCheck.port, (value) => {
    const number = /^\d{1,5}$/.test(value) ? Number(value) : 0;
    return number >= 1 && number <= 65_535 ? number : undefined;
  });
  const tls = read(keys.tls, takes.portNames, new Set<number>(), (value) => {
    const found = new Set<number>();
    for (const given of value.split(',').map((one) => one.trim())) {
      const match = ports.find(
        ({ name, port: n, protocol }) => protocol === 'TCP' && [name, String(n)].includes(given),
      );
      if (given === '' || !match) return undefined;
      found.add(match.port);
    }
    return found;
  });
  return {
    scheme: internal === undefined ? undefined : internal ? 'internal' : 'external',
    proxyProtocol: read(keys.proxyProtocol, takes.trueOrFalse, false, yes),
    tls,
    healthCheck: path === undefined || port === undefined ? undefined : { port, path },
    nodeLabels: read(keys.nodeSelector, takes.nodeLabels, [], parseNodeLabels),
    refusals,
  };
}
