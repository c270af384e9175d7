import { request } from 'node:https';

export interface TestAnswer {
  readonly status: number;
  readonly headers: NodeJS.Dict<string | string[]>;
  readonly text: string;
  readonly json: unknown;
}

export interface TestRequest {
  readonly port: number;
  readonly ca: string;
  readonly path: string;
  readonly method?: string;
  readonly servername?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string;
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** One request over a TLS connection of its own to 127.0.0.1, verified by `ca` and name. For tests. */
export function ask(options: TestRequest): Promise<TestAnswer> {
  return new Promise((resolve, reject) => {
    const outgoing = request(
      {
        host: '127.0.0.1',
        port: options.port,
        path: options.path,
        method: options.method ?? 'GET',
        ca: options.ca,
        servername: options.servername ?? 'mooring-controller.kube-system.svc',
        headers: { ...options.headers },
        agent: false,
      },
      (incoming) => {
        let text = '';
        incoming.setEncoding('utf8');
        incoming.on('data', (chunk: string) => {
          text += chunk;
        });
        incoming.on('end', () =>
          resolve({ status: incoming.statusCode ?? 0, headers: incoming.headers, text, json: parsed(text) }),
        );
        incoming.on('error', reject);
      },
    );
    outgoing.on('error', reject);
    outgoing.end(options.body);
  });
}
