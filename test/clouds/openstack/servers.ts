import type { Connection, Json } from './connection.ts';

/** What the suites do to servers by themselves: make, stop, start and delete them. */
export interface Servers {
  create(name: string): Promise<string>;
  action(id: string, action: 'os-stop' | 'os-start'): Promise<void>;
  delete(id: string): Promise<void>;
  get(id: string): Promise<Json | undefined>;
  /** Waits until the server has the status; `undefined` = until Nova denies it. */
  waitFor(id: string, status: string | undefined): Promise<void>;
}

const waitMs = 300_000;

/**
 * Image and flavour: the first that fits.
 *
 * @param network its id. Default: the first that fits
 */
export function serversOf({ call, list }: Connection, network?: string): Servers {
  const first = async (items: Promise<Json[]>, what: string, fits: (item: Json) => boolean): Promise<string> => {
    const item = (await items).find(fits);
    if (item === undefined) throw new Error(`there is no ${what}`);
    return String(item['id']);
  };
  const place = Promise.all([
    first(list('image', '/images', 'images'), 'image', ({ status }) => status === 'active'),
    first(list('compute', '/flavors', 'flavors'), 'flavour', () => true),
    network ?? first(list('network', '/networks', 'networks'), 'network', (item) => item['router:external'] === false),
  ]);
  place.catch(() => {});

  const servers: Servers = {
    async create(name) {
      const [imageRef, flavorRef, uuid] = await place;
      const server = { name, imageRef, flavorRef, networks: [{ uuid }] };
      const made = (await call('compute', 'POST', '/servers', { server }))?.['server'] as Json | undefined;
      return String(made?.['id']);
    },
    async action(id, action) {
      await call('compute', 'POST', `/servers/${id}/action`, { [action]: null });
    },
    async delete(id) {
      await call('compute', 'DELETE', `/servers/${id}`);
    },
    get: async (id) => (await call('compute', 'GET', `/servers/${id}`))?.['server'] as Json | undefined,
    async waitFor(id, status) {
      const until = Date.now() + waitMs;
      for (;;) {
        const server = await servers.get(id);
        if (server?.['status'] === status) return;
        if (server?.['status'] === 'ERROR' || Date.now() > until) {
          throw new Error(
            `server ${id} is ${String(server?.['status'])}, not ${status ?? 'gone'}: ` +
              `${JSON.stringify(server?.['fault'])}`,
          );
        }
        await new Promise((resolve) => setTimeout(resolve, 300));
      }
    },
  };
  return servers;
}
