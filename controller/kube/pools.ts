import { Agent as PlainAgent } from 'node:http';
import { Agent as TlsAgent } from 'node:https';
import type { Socket } from 'node:net';
import { createSecureContext } from 'node:tls';
import { throughProxy } from '../../common/process/proxy.ts';
import type { TlsMaterial } from './connection.ts';

/**
 * Connections for calls: 32 in total, one of them reserved for urgent calls. More do not help (two cores were busy with
 * 8) and load the server.
 */
export const maxCallSockets = 31;
const maxUrgentSockets = 1;

/**
 * kube-apiserver closes an idle connection after 90 s, load balancers in front of it after 60 s. Ours close earlier, so
 * that no request is written into a connection that is being closed.
 */
const idleMs = 45_000;
/** When the kernel begins to ask the other side of a quiet connection, as of a watch. */
const keepAliveMs = 30_000;

export interface Pool {
  readonly calls: PlainAgent;
  readonly urgent: PlainAgent;
  readonly watches: PlainAgent;
}

/**
 * The connections to one server, in pools for calls and for watches. New TLS material gets new pools; old connections
 * close when their requests have ended.
 */
export function createPools(
  secure: boolean,
  proxy: string | undefined,
): {
  of(tls: TlsMaterial): Pool;
  close(): void;
} {
  const all = new Set<Pool>();
  let current: { readonly tls: TlsMaterial; readonly pool: Pool } | undefined;

  function create(tls: TlsMaterial): Pool {
    const keep = { keepAlive: true, keepAliveMsecs: keepAliveMs, scheduling: 'lifo', timeout: idleMs } as const;
    const common = { ...keep, ...throughProxy(proxy) };
    const calls = { maxSockets: maxCallSockets };
    const urgent = { maxSockets: maxUrgentSockets };
    if (!secure) {
      return {
        calls: new PlainAgent({ ...common, ...calls }),
        urgent: new PlainAgent({ ...common, ...urgent }),
        watches: new PlainAgent(common),
      };
    }
    const { ca, cert, key, pfx, passphrase, ...rest } = tls;
    // One shared context: creating one per connection costs more than the handshake, and passing its parts as options
    // makes them a pool key of several KB.
    const material = Object.fromEntries(
      Object.entries({ ca, cert, key, pfx, passphrase }).filter(([, value]) => value !== undefined),
    );
    const secureOptions = {
      ...common,
      ...rest,
      secureContext: createSecureContext(material),
      ALPNProtocols: ['http/1.1'],
    };
    return {
      calls: keptAlive(new TlsAgent({ ...secureOptions, ...calls })),
      urgent: keptAlive(new TlsAgent({ ...secureOptions, ...urgent })),
      watches: keptAlive(new TlsAgent(secureOptions)),
    };
  }

  return {
    of(tls) {
      if (current?.tls === tls) return current.pool;
      if (current) retire(current.pool);
      for (const pool of all) if (isUnused(pool)) all.delete(pool);
      current = { tls, pool: create(tls) };
      all.add(current.pool);
      return current.pool;
    },
    close() {
      for (const { calls, urgent, watches } of all) {
        for (const agent of [calls, urgent, watches]) agent.destroy();
      }
      all.clear();
      current = undefined;
    },
  };
}

/** The agent by itself does not for the connection to a proxy, through which there is a tunnel. */
function keptAlive(agent: TlsAgent): TlsAgent {
  const connect = agent.createConnection.bind(agent);
  agent.createConnection = (...args) => {
    const socket = connect(...args) as Socket | undefined;
    return socket?.once('connect', () => socket.setKeepAlive(true, keepAliveMs));
  };
  return agent;
}

function isUnused({ calls, urgent, watches }: Pool): boolean {
  const used = [calls, urgent, watches].flatMap(({ sockets, requests }) => [sockets, requests]);
  return used.every((byHost) => Object.values(byHost).flat().length === 0);
}

/** Closes idle connections, and the others when they become idle. */
function retire(pool: Pool): void {
  for (const agent of [pool.calls, pool.urgent, pool.watches]) {
    agent.maxFreeSockets = 0;
    for (const sockets of Object.values(agent.freeSockets)) {
      for (const socket of sockets ?? []) socket.destroy();
    }
  }
}
