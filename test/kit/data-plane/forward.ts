import { connect, isIPv4, type Socket } from 'node:net';

/** Where one connection goes. */
export interface Backend {
  readonly host: string;
  readonly port: number;
  /** Begin with the client's address in a PROXY protocol header, version 1. */
  readonly proxyProtocol: boolean;
}

/** One connection through a load balancer. */
export interface Forwarded {
  /** Breaks both halves. */
  cut(): void;
}

/**
 * Joins a client with a backend until either ends. A backend that cannot be reached breaks the client's connection;
 * there is no second try.
 */
export function forward(client: Socket, { host, port, proxyProtocol }: Backend, onEnd: () => void): Forwarded {
  const backend = connect({ host, port, noDelay: true });
  let ended = false;
  const cut = () => {
    client.destroy();
    backend.destroy();
    if (ended) return;
    ended = true;
    onEnd();
  };
  backend.on('error', cut);
  client.on('error', cut);
  backend.on('close', cut);
  client.on('close', cut);
  if (proxyProtocol) backend.write(proxyHeader(client));
  client.pipe(backend);
  backend.pipe(client);
  return { cut };
}

function proxyHeader({ remoteAddress = '', remotePort = 0, localAddress = '', localPort = 0 }: Socket): string {
  const family = isIPv4(remoteAddress) ? 'TCP4' : 'TCP6';
  return `PROXY ${family} ${remoteAddress} ${localAddress} ${remotePort} ${localPort}\r\n`;
}
