import type { NodeAddress } from '../../../common/instance.ts';
import { digitalocean } from '../../../common/provider-id/digitalocean.ts';
import type { AnswerFields } from '../answer-fields.ts';
import { addressIn } from '../answer-values.ts';
import type { ApiRequest } from '../json-api.ts';
import { type Machines, type Seen, seenById } from '../machines.ts';
import { cloud, type DigitalOceanClient } from './client.ts';

export const dropletsPath = '/v2/droplets';
/** Up to so many names are searched one by one. */
const namesAtOnce = 3;

/** Droplets of one account, for one pass: each list is read at most once. */
export function createDroplets(client: DigitalOceanClient): Machines {
  const lists = new Map<string, Promise<ReadonlyMap<string, Seen>>>();

  async function search(request: ApiRequest): Promise<ReadonlyMap<string, Seen>> {
    const droplets = await client.list(request, 'droplets');
    return seenById(
      droplets,
      (one) => one.id('id'),
      (one) => readDroplet(one, 'list'),
    );
  }
  /** @param type `gpus`: the list of all others leaves them out */
  function all(type: 'droplets' | 'gpus', signal: AbortSignal | undefined): Promise<ReadonlyMap<string, Seen>> {
    const query = type === 'gpus' ? ([['type', type]] as const) : [];
    const read = lists.get(type) ?? search({ path: dropletsPath, query, urgency: 'refresh', signal });
    lists.set(type, read);
    return read;
  }

  return {
    holds: () => true,
    async all(ids, signal) {
      const seen = await all('droplets', signal);
      if (ids.every((id) => seen.has(id))) return seen;
      return new Map([...seen, ...(await all('gpus', signal))]);
    },
    async named(names, signal) {
      if (names.length > namesAtOnce)
        return [...(await all('droplets', signal)).values(), ...(await all('gpus', signal)).values()];
      const found = await Promise.all(
        names.map((name) => search({ path: dropletsPath, query: [['name', name]], signal })),
      );
      const withGpu = found.some((some) => some.size === 0) ? [await all('gpus', signal)] : [];
      return [...found, ...withGpu].flatMap((some) => [...some.values()]);
    },
    async get(id, signal) {
      const answer = await client.call({ path: `${dropletsPath}/${id}`, signal });
      return readDroplet(answer.object('droplet'), 'id');
    },
  };
}

function readDroplet(droplet: AnswerFields, request: 'list' | 'id'): Seen {
  const id = droplet.id('id');
  const name = droplet.text('name');
  const status = droplet.text('status');
  return {
    state: 'found',
    power: status === 'active' ? 'running' : status === 'off' ? 'stopped' : 'changing',
    request,
    instance: {
      cloud,
      id,
      name,
      incarnation: id,
      providerID: digitalocean.print({ instanceId: id }),
      // A region has no zones.
      region: droplet.object('region').text('slug'),
      type: droplet.text('size_slug'),
      addresses: [{ type: 'Hostname', address: name }, ...addressesOf(droplet.object('networks'))],
    },
  };
}

/**
 * The first of each, in the order of the agent and of the classic controller: further public ones are reserved
 * addresses, which move to other droplets.
 */
function addressesOf(networks: AnswerFields): NodeAddress[] {
  const [v4, v6] = [networks.objects('v4'), networks.optionalObjects('v6')];
  const first = (found: readonly AnswerFields[], kind: 'private' | 'public', type: 'InternalIP' | 'ExternalIP') => {
    const one = found.find((each) => each.text('type') === kind);
    return one === undefined ? [] : [{ type, address: addressIn(one, 'ip_address') }];
  };
  return [
    ...first(v4, 'private', 'InternalIP'),
    ...first(v4, 'public', 'ExternalIP'),
    ...first(v6, 'public', 'ExternalIP'),
  ];
}
