import { createServer, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';

/** In front of an OpenStack: Keystone, and every endpoint that its catalog names. */
export interface CountingProxy {
  /** Of Keystone. */
  readonly authUrl: string;
  /** Every call so far. */
  readonly calls: readonly { readonly method: string; readonly path: string }[];
  close(): Promise<void>;
}

/** Not passed on: they are of one connection, or do not hold for what `fetch` has read. */
const ofConnection = /^(host|connection|keep-alive|transfer-encoding|content-length|content-encoding)$/;

/** @param keystone the URL of Keystone, as in clouds.yaml */
export async function startCountingProxy(keystone: string): Promise<CountingProxy> {
  const calls: { method: string; path: string }[] = [];
  /** Each has its number as the first part of the path. */
  const origins: string[] = [];
  let own = '';
  function throughProxy(address: string): string {
    const { origin, pathname } = new URL(address);
    if (!origins.includes(origin)) origins.push(origin);
    return `${own}/${origins.indexOf(origin)}${pathname}`;
  }

  const server = createServer(async (request, response) => {
    const { method = 'GET', url = '' } = request;
    const [, at, rest = ''] = /^\/(\d+)(\/.*)$/.exec(url) ?? [];
    calls.push({ method, path: rest.replace(/\?.*/, '') });
    try {
      const body = await bytesOf(request);
      const headers = Object.entries(request.headers).filter(([name]) => !ofConnection.test(name));
      const answer = await fetch(`${origins[Number(at)]}${rest}`, {
        method,
        headers: headers.map(([name, value]) => [name, String(value)]),
        redirect: 'manual',
        ...(body.length > 0 && { body }),
      });
      const text = await answer.text();
      response.writeHead(
        answer.status,
        Object.fromEntries([...answer.headers].filter(([name]) => !ofConnection.test(name))),
      );
      response.end(rest.endsWith('/auth/tokens') && answer.ok ? withCatalog(text, throughProxy) : text);
    } catch (error) {
      response.writeHead(502, { 'content-type': 'text/plain' });
      response.end(String(error));
    }
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  own = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return {
    authUrl: throughProxy(keystone),
    calls,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

/** Keystone's answer with other addresses of its endpoints. */
function withCatalog(text: string, addressOf: (url: string) => string): string {
  const answer = JSON.parse(text) as { token: { catalog?: { endpoints: { url: string }[] }[] } };
  for (const { endpoints } of answer.token.catalog ?? [])
    for (const endpoint of endpoints) endpoint.url = addressOf(endpoint.url);
  return JSON.stringify(answer);
}

async function bytesOf(request: IncomingMessage): Promise<Buffer<ArrayBuffer>> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk);
  return Buffer.concat(chunks);
}
