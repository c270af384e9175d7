import { Agent, request } from 'node:https';

export interface RestAnswer {
  readonly status: number;
  // biome-ignore lint/suspicious/noExplicitAny: whatever object the server holds
  readonly body: any;
}

/**
 * A plain JSON client for the parts of kubelet, administrator and kube-controller-manager in the sandbox. Returns any
 * status.
 */
export interface KubeRest {
  call(
    method: string,
    path: string,
    body?: unknown,
    options?: { readonly type?: string; readonly token?: string },
  ): Promise<RestAnswer>;
  /** As `call`, but anything but a 2xx throws. */
  must(
    method: string,
    path: string,
    body?: unknown,
    options?: { readonly type?: string; readonly token?: string },
    // biome-ignore lint/suspicious/noExplicitAny: whatever object the server holds
  ): Promise<any>;
  close(): void;
}

export const mergePatch = 'application/merge-patch+json';
export const strategicPatch = 'application/strategic-merge-patch+json';

export function createKubeRest(api: {
  readonly url: string;
  readonly caPem: string;
  readonly adminToken: string;
}): KubeRest {
  const agent = new Agent({ keepAlive: true, maxSockets: 16, ca: api.caPem });
  const call: KubeRest['call'] = (method, path, body, options = {}) =>
    new Promise((resolve, reject) => {
      const outgoing = request(
        `${api.url}${path}`,
        {
          method,
          agent,
          headers: {
            authorization: `Bearer ${options.token ?? api.adminToken}`,
            accept: 'application/json',
            'user-agent': 'mooring-sandbox',
            ...(body === undefined ? {} : { 'content-type': options.type ?? 'application/json' }),
          },
        },
        (answer) => {
          const parts: Buffer[] = [];
          answer.on('data', (part: Buffer) => parts.push(part));
          answer.on('error', reject);
          answer.on('end', () => {
            const text = Buffer.concat(parts).toString('utf8');
            const json = answer.headers['content-type']?.includes('json') ?? false;
            resolve({ status: answer.statusCode ?? 0, body: json ? JSON.parse(text) : text });
          });
        },
      );
      outgoing.on('error', reject);
      outgoing.setTimeout(30_000, () => outgoing.destroy(new Error(`no answer to ${method} ${path}`)));
      outgoing.end(body === undefined ? undefined : JSON.stringify(body));
    });
  return {
    call,
    async must(method, path, body, options) {
      const answer = await call(method, path, body, options);
      if (answer.status >= 200 && answer.status < 300) return answer.body;
      throw new Error(`${method} ${path}: ${answer.status} ${answer.body?.message ?? answer.body}`);
    },
    close: () => agent.destroy(),
  };
}
