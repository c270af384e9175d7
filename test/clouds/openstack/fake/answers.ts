import type { ServerResponse } from 'node:http';

export function answerJson(
  response: ServerResponse,
  status: number,
  body: unknown,
  headers: Record<string, string> = {},
): 'answered' {
  response.writeHead(status, { 'content-type': 'application/json', ...headers });
  response.end(JSON.stringify(body));
  return 'answered';
}

export function answerText(
  response: ServerResponse,
  status: number,
  text: string,
  headers: Record<string, string> = {},
): 'answered' {
  response.writeHead(status, { 'content-type': 'text/html', ...headers });
  response.end(text);
  return 'answered';
}

/** A fault as Nova words it. */
export function answerNovaFault(
  response: ServerResponse,
  status: number,
  name: string,
  message: string,
  headers: Record<string, string> = {},
): 'answered' {
  return answerJson(response, status, { [name]: { code: status, message } }, headers);
}

/** A fault as Neutron words it. */
export function answerNeutronError(
  response: ServerResponse,
  status: number,
  type: string,
  message: string,
): 'answered' {
  return answerJson(response, status, { NeutronError: { type, message, detail: '' } });
}

/**
 * One page from `marker` on, with the links of all three services; a link names a host that only exists inside the
 * cloud.
 */
export function answerPage(
  pageSize: number,
  response: ServerResponse,
  url: URL,
  name: string,
  items: readonly Record<string, unknown>[],
): void {
  const marker = url.searchParams.get('marker');
  const from = marker === null ? 0 : items.findIndex(({ id }) => id === marker) + 1;
  const limit = Math.min(pageSize, Number(url.searchParams.get('limit') ?? pageSize));
  const page = items.slice(from, from + limit);
  const next = new URL(url.href);
  next.host = 'inside.cloud:8774';
  const last = page.at(-1)?.['id'];
  const more = from + page.length < items.length && typeof last === 'string';
  if (more) next.searchParams.set('marker', last);
  answerJson(response, 200, {
    [name]: page,
    ...(more ? { [`${name}_links`]: [{ rel: 'next', href: next.href }] } : {}),
  });
}
