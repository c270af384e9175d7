import type { AnswerFields, CloudConfigFile, CloudKit, KitApi, Machines, OutOfTreeCloud, Seen } from 'mooring/cloud';
import { createBalancerDriver } from './balancers.ts';

/** The contract that this module was written for; the controller refuses any other. */
export const contractVersion = 1;

/** The Example cloud: servers and load balancers of one account. The configuration file is JSON: endpoint and token. */
export function createCloud(kit: CloudKit): OutOfTreeCloud {
  return {
    async open(file, context) {
      const { endpoint, token } = readConfig(file);
      const authorization = `Bearer ${token}`;
      const api = kit.jsonApi(context, { endpoint, authorization, callsPerSecond: 20, burst: 50 });
      const readAccount = async (signal?: AbortSignal) =>
        (await api.call({ path: '/account', signal })).object('account').text('id');
      return {
        name: kit.name,
        async identify(signal) {
          const account = await readAccount(signal);
          return { scope: `${new URL(endpoint).host}/${account}`, account };
        },
        accepts: (providerID) => kit.instanceIdOf(providerID) !== undefined,
        instances: kit.instances(() => [createServers(kit, api)]),
        loadBalancerDriver: createBalancerDriver(kit, api),
        ping: async (signal) => void (await readAccount(signal)),
        async check(signal) {
          const { results, prove } = kit.checks();
          await prove({ name: 'account' }, 'see the token', () => readAccount(signal));
          await prove({ name: 'servers' }, 'the token may not read servers', async () => {
            return `${(await api.call({ path: '/servers', signal })).objects('servers').length} are shown`;
          });
          return results;
        },
        close: () => api.close(),
      };
    },
  };
}

/** What it throws is shown as a fault of the configuration. */
function readConfig(file: CloudConfigFile | undefined): { readonly endpoint: string; readonly token: string } {
  if (file === undefined) throw new Error('--cloud-config: missing, expected a JSON file with endpoint and token');
  const { endpoint, token } = JSON.parse(file.text);
  if (typeof endpoint !== 'string' || !URL.canParse(endpoint))
    throw new Error(`endpoint: ${JSON.stringify(endpoint)}, expected a URL`);
  if (typeof token !== 'string' || token === '') throw new Error('token: missing, expected a text');
  return { endpoint, token };
}

/** The servers of the account, for one pass of lookups. */
function createServers(kit: CloudKit, api: KitApi): Machines {
  async function list(signal: AbortSignal | undefined): Promise<ReadonlyMap<string, Seen>> {
    const answer = await api.call({ path: '/servers', urgency: 'refresh', signal });
    return new Map(answer.objects('servers').map((server) => [server.text('id'), seenServer(kit, server, 'list')]));
  }
  return {
    holds: () => true,
    all: (_ids, signal) => list(signal),
    named: async (names, signal) =>
      [...(await list(signal)).values()].filter(
        (seen) => seen.state === 'found' && names.includes(seen.instance.name ?? ''),
      ),
    // A 404 for this very id is the only proof that a server does not exist.
    get: async (id, signal) => {
      const path = `/servers/${encodeURIComponent(id)}`;
      const answer = await api.call({ path, operation: 'GET /servers/{id}', signal });
      return seenServer(kit, answer.object('server'), 'id');
    },
  };
}

function seenServer(kit: CloudKit, server: AnswerFields, request: 'list' | 'id'): Seen {
  const [id, name] = [server.text('id'), server.text('name')];
  return {
    state: 'found',
    power: server.text('status') === 'on' ? 'running' : 'stopped',
    request,
    instance: {
      cloud: kit.name,
      id,
      name,
      providerID: kit.providerIDOf(id),
      incarnation: id,
      region: server.text('region'),
      type: server.text('size'),
      addresses: [
        { type: 'Hostname', address: name },
        { type: 'InternalIP', address: server.text('privateIp') },
        { type: 'ExternalIP', address: server.text('publicIp') },
      ],
    },
  };
}
