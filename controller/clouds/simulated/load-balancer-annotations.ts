import type { AnnotationDefinition, DesiredLoadBalancer, Refusal } from '../load-balancers.ts';
import type { Scheme } from './load-balancer-answer.ts';

const prefix = 'service.beta.kubernetes.io/simulated-load-balancer-';
const keys = {
  internal: `${prefix}internal`,
  proxyProtocol: `${prefix}proxy-protocol`,
  tls: `${prefix}tls`,
  healthCheckPath: `${prefix}health-check-path`,
  healthCheckPort: `${prefix}health-check-port`,
} as const;

const trueOrFalse = 'true or false';
const paths = 'a path that starts with /';
const portNumbers = 'a port number, 1 to 65535';
const portNames = 'names or numbers of TCP ports of the Service, separated by commas';

export const annotationDefinitions: readonly AnnotationDefinition[] = [
  {
    key: keys.internal,
    values: trueOrFalse,
    meaning:
      'The load balancer gets an internal address instead of an external one. A change gives it another address.',
  },
  {
    key: keys.proxyProtocol,
    values: trueOrFalse,
    meaning: "Members get the client's address in a PROXY protocol header, on every TCP port.",
  },
  { key: keys.tls, values: portNames, meaning: 'The load balancer ends TLS on these ports.' },
  {
    key: keys.healthCheckPath,
    values: paths,
    meaning: 'Path of the health check, instead of the one that Kubernetes gives.',
  },
  {
    key: keys.healthCheckPort,
    values: portNumbers,
    meaning: 'Port of the health check on every node, instead of the one that Kubernetes gives.',
  },
];

/** What the annotations ask for. Undefined = not understood: what is there stays, and without it nothing is made. */
export interface Settings {
  readonly scheme: Scheme | undefined;
  readonly proxyProtocol: boolean | undefined;
  /** By the port's number. */
  readonly tls: ReadonlySet<number> | undefined;
  readonly healthCheck: { readonly port: number; readonly path: string } | undefined;
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
  const internal = read(keys.internal, trueOrFalse, false, yes);
  const path = read(keys.healthCheckPath, paths, healthCheck.path, (value) =>
    /^\/[\x21-\x7e]*$/.test(value) ? value : undefined,
  );
  const port = read(keys.healthCheckPort, portNumbers, healthCheck.port, (value) => {
    const number = /^\d{1,5}$/.test(value) ? Number(value) : 0;
    return number >= 1 && number <= 65_535 ? number : undefined;
  });
  const tls = read(keys.tls, portNames, new Set<number>(), (value) => {
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
    proxyProtocol: read(keys.proxyProtocol, trueOrFalse, false, yes),
    tls,
    healthCheck: path === undefined || port === undefined ? undefined : { port, path },
    refusals,
  };
}
