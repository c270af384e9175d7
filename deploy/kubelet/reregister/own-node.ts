import type { Clock } from '../../../common/process/clock.ts';
import { createHttp, type HttpFailure } from '../../../common/process/http.ts';
import type { Access } from './access.ts';

/** Whether the Node is there. `gone` is the API server's own word about this very Node; everything else is unknown. */
export type Answer =
  | { readonly kind: 'there' }
  | { readonly kind: 'gone' }
  | { readonly kind: 'unknown'; readonly reason: string };

export interface Question {
  readonly name: string;
  /** A cached answer is cheap for the API server but may be old; a fresh one comes from etcd. */
  readonly fresh: boolean;
  readonly timeoutMs: number;
}

/** Asks for one Node, over a connection of its own. Never throws. */
export async function askForNode(access: Access, { name, fresh, timeoutMs }: Question, clock: Clock): Promise<Answer> {
  const { server, ca, cert, key, token, serverName } = access;
  const { http, close } = createHttp({
    clock,
    tls: {
      ca,
      ...(cert === undefined ? {} : { cert }),
      ...(key === undefined ? {} : { key }),
      ...(serverName === undefined ? {} : { servername: serverName }),
    },
  });
  try {
    const answer = await http({
      url: `${server}/api/v1/nodes/${encodeURIComponent(name)}${fresh ? '' : '?resourceVersion=0'}`,
      headers: { accept: 'application/json', ...(token === undefined ? {} : { authorization: `Bearer ${token}` }) },
      timeoutMs,
    });
    return answerOf(answer.status, answer.text, name);
  } catch (error) {
    return { kind: 'unknown', reason: (error as HttpFailure).message };
  } finally {
    close();
  }
}

/**
 * What an answer proves. A 404 alone proves nothing: a proxy, another server at that address or an API server that has
 * not installed its resources yet sends one too. Only a Status that names this Node is proof. Pure.
 */
export function answerOf(status: number, text: string, name: string): Answer {
  const body = parseJson(text);
  if (status === 200 && body?.['kind'] === 'Node' && field(body, 'metadata', 'name') === name) return { kind: 'there' };
  if (
    status === 404 &&
    body?.['kind'] === 'Status' &&
    body['reason'] === 'NotFound' &&
    field(body, 'details', 'kind') === 'nodes' &&
    field(body, 'details', 'name') === name
  ) {
    return { kind: 'gone' };
  }
  return {
    kind: 'unknown',
    reason: `status ${status}${status === 200 || status === 404 ? ' about something else' : ''}`,
  };
}

function field(body: Record<string, unknown>, outer: string, inner: string): unknown {
  return (body[outer] as Record<string, unknown> | undefined)?.[inner];
}

function parseJson(text: string): Record<string, unknown> | undefined {
  try {
    return JSON.parse(text) ?? undefined;
  } catch {
    return undefined;
  }
}
