import type { Socket } from 'node:net';
import type { Listener, Pool, SimulatedLoadBalancer } from '../cloud/load-balancer.ts';
import { admits, chooseMember } from './choose-member.ts';
import { type Forwarded, forward } from './forward.ts';
import { type HealthChecks, type HealthTarget, healthKey } from './health-checks.ts';
import { portOnLoopback } from './loopback.ts';
import type { Endpoint } from './tcp-servers.ts';

export interface BalancersOptions {
  /** Loopback address of an address of the cloud. */
  readonly hostOf: (ip: string) => string;
  /** Loopback address of an instance that is part of the network. */
  readonly instanceHost: (instanceId: string) => string | undefined;
  readonly checks: HealthChecks;
}

/** The forwarding of all load balancers: what they listen on, whom they check, and which connections they hold. */
export interface Balancers {
  /** The load balancers as they are now. Connections to members that have left are cut. */
  update(loadBalancers: readonly SimulatedLoadBalancer[]): void;
  endpoints(): Map<string, Endpoint>;
  targets(): Map<string, HealthTarget>;
  /** Undefined: not checked, or not yet. */
  healthy(pool: Pool, instanceId: string): boolean | undefined;
  /** Connections that are open through this load balancer to this instance. */
  open(loadBalancer: string, instanceId: string): number;
}

interface Connection extends Forwarded {
  readonly loadBalancer: string;
  readonly listener: string;
  readonly instance: string;
}

export function createBalancers({ hostOf, instanceHost, checks }: BalancersOptions): Balancers {
  let current = new Map<string, SimulatedLoadBalancer>();
  const connections = new Set<Connection>();
  let turn = 0;

  function targetOf({ healthCheck }: Pool, instanceId: string): HealthTarget | undefined {
    const host = instanceHost(instanceId);
    return host === undefined || healthCheck === undefined ? undefined : { host, ...healthCheck };
  }

  function healthy(pool: Pool, instanceId: string): boolean | undefined {
    if (instanceHost(instanceId) === undefined) return false;
    const target = targetOf(pool, instanceId);
    return target === undefined ? true : checks.healthy(healthKey(target));
  }

  function accept(loadBalancer: string, listenerId: string, socket: Socket): void {
    const { listener, pool } = find(current.get(loadBalancer), listenerId);
    const client = socket.remoteAddress ?? '';
    if (!listener || !pool || !admits(listener.sourceRanges, client)) {
      socket.destroy();
      return;
    }
    const takers = pool.members
      .filter(({ instanceId, weight }) => weight > 0 && healthy(pool, instanceId) === true)
      .map(({ instanceId }) => instanceId);
    turn += 1;
    const instance = chooseMember(takers, client, { affinity: pool.sessionAffinity !== undefined, turn });
    const host = instance === undefined ? undefined : instanceHost(instance);
    if (instance === undefined || host === undefined) {
      socket.destroy();
      return;
    }
    const backend = { host, port: listener.memberPort, proxyProtocol: listener.proxyProtocol };
    const forwarded = forward(socket, backend, () => connections.delete(connection));
    const connection: Connection = { ...forwarded, loadBalancer, listener: listenerId, instance };
    connections.add(connection);
  }

  return {
    update(loadBalancers) {
      current = new Map(loadBalancers.map((one) => [one.id, one]));
      for (const { loadBalancer, listener, instance, cut } of [...connections]) {
        const { pool } = find(current.get(loadBalancer), listener);
        if (!pool?.members.some(({ instanceId }) => instanceId === instance)) cut();
      }
    },
    endpoints() {
      const wanted = new Map<string, Endpoint>();
      for (const { id, state, addresses, listeners } of current.values()) {
        if (state !== 'active') continue;
        for (const { ip } of addresses) {
          for (const { id: listener, protocol, port: number } of listeners) {
            if (protocol !== 'TCP') continue;
            const [host, port] = [hostOf(ip), portOnLoopback(number)];
            wanted.set(`${host}:${port}`, { host, port, onConnection: (socket) => accept(id, listener, socket) });
          }
        }
      }
      return wanted;
    },
    targets() {
      const targets = new Map<string, HealthTarget>();
      for (const { pools } of current.values()) {
        for (const pool of pools) {
          for (const { instanceId } of pool.members) {
            const target = targetOf(pool, instanceId);
            if (target) targets.set(healthKey(target), target);
          }
        }
      }
      return targets;
    },
    healthy,
    open(loadBalancer, instanceId) {
      let count = 0;
      for (const each of connections)
        if (each.loadBalancer === loadBalancer && each.instance === instanceId) count += 1;
      return count;
    },
  };
}

function find(
  loadBalancer: SimulatedLoadBalancer | undefined,
  listenerId: string,
): { listener: Listener | undefined; pool: Pool | undefined } {
  const listener = loadBalancer?.listeners.find(({ id }) => id === listenerId);
  return { listener, pool: loadBalancer?.pools.find(({ id }) => id === listener?.pool) };
}
