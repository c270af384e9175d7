import { CloudError } from '../../../common/cloud-error.ts';
import type { AnswerFields } from '../answer-fields.ts';
import { unlessNotFound } from '../not-found.ts';
import type { HetznerClient } from './client.ts';
import { cloud } from './fault.ts';

/** The private network of the nodes, that HCLOUD_NETWORK names. */
export interface Network {
  /**
   * Asked once: a network keeps its id. Throws `Invalid` where the project has no such network, since `NotFound` would
   * be taken for a server's.
   */
  id(signal?: AbortSignal): Promise<string>;
  /** As it is now. */
  read(signal?: AbortSignal): Promise<AnswerFields>;
}

export function createNetwork(client: HetznerClient, nameOrId: string): Network {
  let known: string | undefined;

  const byId = async (id: string, signal: AbortSignal | undefined) =>
    (await client.call({ path: `/networks/${id}`, signal })).object('network');

  async function find(signal: AbortSignal | undefined): Promise<string> {
    if (/^[1-9]\d*$/.test(nameOrId)) {
      // A network may have digits for a name.
      const network = await unlessNotFound(byId(nameOrId, signal));
      if (network !== undefined) return network.id('id');
    }
    const [network] = await client.list({ path: '/networks', query: [['name', nameOrId]], signal }, 'networks');
    if (network !== undefined) return network.id('id');
    const message = `HCLOUD_NETWORK: ${JSON.stringify(nameOrId)}, expected the name or id of a network of this project`;
    throw new CloudError({ kind: 'Invalid', cloud, operation: 'GET /networks', message });
  }

  async function id(signal?: AbortSignal): Promise<string> {
    known ??= await find(signal);
    return known;
  }
  return { id, read: async (signal) => byId(await id(signal), signal) };
}
