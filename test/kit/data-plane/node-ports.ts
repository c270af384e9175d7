import { answerHealth, answerLines } from './answering.ts';
import type { WatchedService } from './service-watch.ts';
import type { Endpoint } from './tcp-servers.ts';

/** kube-proxy's own health port. */
export const proxyHealthPort = 10_256;

/** One VM that runs, as the network sees it. */
export interface NetworkNode {
  readonly name: string;
  /** Its loopback address. */
  readonly host: string;
}

/** Nodes where pods of the Service run; undefined = on every node. */
export type PodPlacement = (service: string) => ReadonlySet<string> | undefined;

/**
 * What kube-proxy opens on every node: the node ports of all Services (with `externalTrafficPolicy: Local` only where
 * pods run), the health-check node ports, which say whether pods run there, and its own health port.
 */
export function nodeEndpoints(
  nodes: readonly NetworkNode[],
  services: Iterable<WatchedService>,
  podsOf: PodPlacement,
): Map<string, Endpoint> {
  const served = new Map<string, Endpoint>();
  // Opened after all that they tell of, so that nothing is healthy before it answers.
  const checked = new Map<string, Endpoint>();
  const all = [...services];
  for (const { name, host } of nodes) {
    const open = (endpoints: Map<string, Endpoint>, port: number, onConnection: Endpoint['onConnection']) =>
      endpoints.set(`${host}:${port}`, { host, port, onConnection });
    open(checked, proxyHealthPort, (socket) => answerHealth(() => true, socket));
    for (const { key, policy, nodePorts, healthCheckNodePort } of all) {
      const local = podsOf(key)?.has(name) ?? true;
      const serves = policy === 'Local' ? local : (podsOf(key)?.size ?? 1) > 0;
      if (serves) for (const port of nodePorts) open(served, port, (socket) => answerLines(name, socket));
      if (healthCheckNodePort > 0) open(checked, healthCheckNodePort, (socket) => answerHealth(() => local, socket));
    }
  }
  return new Map([...served, ...checked]);
}
