import type { Socket } from 'node:net';

const longestLine = 4096;

/**
 * The pod behind a node port: answers every line by `<node> <address of the client> <line>`. A first line of the PROXY
 * protocol (version 1) gives the client's address and gets no answer.
 */
export function answerLines(node: string, socket: Socket): void {
  let client = socket.remoteAddress ?? '';
  let first = true;
  let rest = '';
  socket.setEncoding('utf8');
  socket.on('data', (text: string) => {
    const lines = (rest + text).split('\n');
    rest = lines.pop() ?? '';
    if (rest.length > longestLine) {
      socket.destroy();
      return;
    }
    for (const line of lines) {
      const proxied = first ? /^PROXY TCP[46] (\S+) /.exec(line) : null;
      first = false;
      if (proxied) client = proxied[1] ?? client;
      else socket.write(`${node} ${client} ${line}\n`);
    }
  });
  socket.on('end', () => socket.end());
}

/** What kube-proxy answers to a health check: one HTTP/1.1 answer, then the end. */
export function answerHealth(healthy: () => boolean, socket: Socket): void {
  socket.once('data', () => {
    const body = JSON.stringify({ healthy: healthy() });
    const status = healthy() ? '200 OK' : '503 Service Unavailable';
    socket.end(
      `HTTP/1.1 ${status}\r\nContent-Type: application/json\r\nContent-Length: ${body.length}\r\nConnection: ` +
        `close\r\n\r\n${body}`,
    );
  });
}
