import { Agent, get, type RequestOptions } from 'node:https';

/** What kube-proxy needs to know of a Service. */
export interface WatchedService {
  /** `namespace/name`. */
  readonly key: string;
  readonly type: string;
  readonly policy: 'Cluster' | 'Local';
  readonly healthCheckNodePort: number;
  readonly nodePorts: readonly number[];
}

export interface ServiceWatch {
  readonly services: ReadonlyMap<string, WatchedService>;
  /** Whether they are known; false until the first list. */
  readonly listed: boolean;
  stop(): void;
}

interface RawService {
  readonly metadata: { readonly namespace: string; readonly name: string; readonly resourceVersion: string };
  readonly spec: {
    readonly type?: string;
    readonly externalTrafficPolicy?: 'Cluster' | 'Local';
    readonly healthCheckNodePort?: number;
    readonly ports?: readonly { readonly nodePort?: number; readonly protocol?: string }[];
  };
}

const path = '/api/v1/services';
const restMs = 200;

/** Follows all Services: list, then watch, and again when the watch ends. */
export function watchServices(
  api: { readonly url: string; readonly caPem: string; readonly adminToken: string },
  onChange: () => void,
): ServiceWatch {
  const agent = new Agent({ keepAlive: false, ca: api.caPem });
  const services = new Map<string, WatchedService>();
  const stopping = new AbortController();
  let listed = false;
  let timer: NodeJS.Timeout | undefined;

  function open(query: string, onText: (text: string) => void): Promise<void> {
    return new Promise((resolve, reject) => {
      const options: RequestOptions = {
        agent,
        headers: { authorization: `Bearer ${api.adminToken}`, accept: 'application/json' },
        signal: stopping.signal,
      };
      const request = get(`${api.url}${path}${query}`, options, (answer) => {
        if (answer.statusCode !== 200) {
          answer.resume();
          reject(new Error(`${path}${query}: ${answer.statusCode}`));
          return;
        }
        answer.setEncoding('utf8');
        answer.on('data', onText);
        answer.on('error', reject);
        answer.on('end', resolve);
      });
      request.on('error', reject);
    });
  }

  async function round(): Promise<void> {
    let whole = '';
    await open('', (text) => {
      whole += text;
    });
    const list: { metadata: { resourceVersion: string }; items: RawService[] } = JSON.parse(whole);
    services.clear();
    for (const raw of list.items) put(raw);
    listed = true;
    onChange();
    let rest = '';
    await open(`?watch=1&resourceVersion=${list.metadata.resourceVersion}`, (text) => {
      const lines = (rest + text).split('\n');
      rest = lines.pop() ?? '';
      for (const line of lines) {
        const event: { type: string; object: RawService } = JSON.parse(line);
        if (event.type === 'ERROR') continue;
        if (event.type === 'DELETED') services.delete(keyOf(event.object));
        else put(event.object);
      }
      onChange();
    });
  }

  function put(raw: RawService): void {
    const { spec } = raw;
    services.set(keyOf(raw), {
      key: keyOf(raw),
      type: spec.type ?? 'ClusterIP',
      policy: spec.externalTrafficPolicy ?? 'Cluster',
      healthCheckNodePort: spec.healthCheckNodePort ?? 0,
      nodePorts: (spec.ports ?? []).flatMap(({ nodePort, protocol }) =>
        nodePort && (protocol ?? 'TCP') === 'TCP' ? [nodePort] : [],
      ),
    });
  }

  function next(): void {
    void round()
      .catch(() => {})
      .then(() => {
        if (!stopping.signal.aborted) timer = setTimeout(next, restMs);
      });
  }

  next();
  return {
    services,
    get listed() {
      return listed;
    },
    stop() {
      stopping.abort();
      clearTimeout(timer);
      agent.destroy();
    },
  };
}

function keyOf({ metadata }: RawService): string {
  return `${metadata.namespace}/${metadata.name}`;
}
