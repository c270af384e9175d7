import { admin } from '../auth/user.ts';
import type { KubeApiCore } from '../kube-api-core.ts';

/** One request of a cluster admin, answered at once. Undefined = 404; throws for every other refusal. */
export type AdminClient = <T>(method: string, path: string, body?: unknown, contentType?: string) => T | undefined;

export function adminClient(core: KubeApiCore, userAgent: string): AdminClient {
  return <T>(method: string, path: string, body?: unknown, contentType = 'application/json') => {
    const answer = core.handle({
      method,
      path,
      query: new URLSearchParams(),
      headers: {
        accept: 'application/json',
        'user-agent': userAgent,
        ...(body === undefined ? {} : { 'content-type': contentType }),
      },
      body: body === undefined ? undefined : JSON.stringify(body),
      user: admin,
    });
    if (answer.watch !== undefined) throw new Error('unexpected watch');
    if (answer.status === 404) return undefined;
    if (answer.status > 299) throw new Error(`${method} ${path}: ${answer.status} ${answer.body}`);
    return JSON.parse(answer.body) as T;
  };
}
