import { readFile } from 'node:fs/promises';
import { systemClock } from '../../common/process/clock.ts';
import { type OpenStackConfig, readConfig } from '../../controller/clouds/openstack/config.ts';
import { authRequest } from '../../controller/clouds/openstack/credential.ts';
import { endpointOf, readSession, type Session } from '../../controller/clouds/openstack/session.ts';

type Json = Record<string, unknown>;

/** What the suite does to a cloud by itself: make, stop, start and delete servers. */
export interface Servers {
  readonly config: OpenStackConfig;
  create(name: string): Promise<string>;
  action(id: string, action: 'os-stop' | 'os-start'): Promise<void>;
  delete(id: string): Promise<void>;
  get(id: string): Promise<Json | undefined>;
  /** Waits until the server has the status; `undefined` = until Nova denies it. */
  waitFor(id: string, status: string | undefined): Promise<void>;
}

const waitMs = 300_000;

/** Speaks to the cloud that the environment names (`OS_CLOUD`, clouds.yaml). Image, flavour and network: the first that fits. */
export async function connect(env: NodeJS.ProcessEnv): Promise<Servers> {
  const config = await readConfig(undefined, env, (path) => readFile(path, 'utf8').catch(() => undefined));
  if ('reportOnly' in config) throw new Error(config.reportOnly);
  const answer = await fetch(`${config.authUrl}/auth/tokens`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(authRequest(config.credential)),
  });
  if (!answer.ok) throw new Error(`Keystone: ${answer.status}`);
  const session = readSession(
    answer.headers.get('x-subject-token'),
    await answer.json(),
    systemClock(),
    'POST /auth/tokens',
  );
  const compute = endpointOf(session, 'compute', config);
  const network = endpointOf(session, 'network', config);

  async function call(url: string, method = 'GET', body?: unknown): Promise<Json | undefined> {
    const response = await fetch(url, {
      method,
      headers: { 'x-auth-token': session.token, 'content-type': 'application/json' },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    const text = await response.text();
    if (response.status === 404) return undefined;
    if (!response.ok) throw new Error(`${method} ${url}: ${response.status} ${text.slice(0, 300)}`);
    return text === '' ? {} : (JSON.parse(text) as Json);
  }
  const first = async (url: string, collection: string, fits: (item: Json) => boolean): Promise<string> => {
    const items = ((await call(url))?.[collection] ?? []) as Json[];
    const item = items.find(fits);
    if (item === undefined) throw new Error(`${url} has none that fits`);
    return String(item['id']);
  };
  const imageUrl = baseOf(session, 'image', config.interface);

  const servers: Servers = {
    config,
    async create(name) {
      const server = {
        name,
        imageRef: await first(`${imageUrl}/v2/images`, 'images', ({ status }) => status === 'active'),
        flavorRef: await first(`${compute}/flavors`, 'flavors', () => true),
        networks: [
          { uuid: await first(`${network}/networks`, 'networks', (item) => item['router:external'] === false) },
        ],
      };
      const made = (await call(`${compute}/servers`, 'POST', { server }))?.['server'] as Json;
      return String(made['id']);
    },
    async action(id, action) {
      await call(`${compute}/servers/${id}/action`, 'POST', { [action]: null });
    },
    async delete(id) {
      await call(`${compute}/servers/${id}`, 'DELETE');
    },
    get: async (id) => (await call(`${compute}/servers/${id}`))?.['server'] as Json | undefined,
    async waitFor(id, status) {
      const until = Date.now() + waitMs;
      for (;;) {
        const server = await servers.get(id);
        if (server?.['status'] === status) return;
        if (server?.['status'] === 'ERROR' || Date.now() > until) {
          throw new Error(
            `server ${id} is ${String(server?.['status'])}, not ${status ?? 'gone'}: ${JSON.stringify(server?.['fault'])}`,
          );
        }
        await new Promise((resolve) => setTimeout(resolve, 500));
      }
    },
  };
  return servers;
}

function baseOf(session: Session, service: string, kind: string): string {
  const endpoint = session.endpoints.find((known) => known.service === service && known.interface === kind);
  if (endpoint === undefined) throw new Error(`no ${kind} ${service} endpoint`);
  return endpoint.url.replace(/\/(v2\/?)?$/, '');
}
