import { isCloudError } from '../../../common/cloud-error.ts';
import type { Http } from '../../../common/process/http.ts';
import { fakeClock } from '../../../common/testing/fake-clock.ts';
import { createClient } from '../../../controller/clouds/openstack/client.ts';
import { createRateLimiters } from '../../../controller/clouds/openstack/rate-limiters.ts';
import { createRoutes, type OpenStackRoute } from '../../../controller/clouds/openstack/routes/index.ts';
import type { DesiredRoute, Routes } from '../../../controller/clouds/routes.ts';
import { createFakeOpenStack, fakeHttp, password } from './fake/fake-openstack.ts';
import type { FakeOpenStack } from './fake/openstack-state.ts';

export const always = { permit: () => {} };
export const addressOf = (n: number) => `10.20.0.${10 + n}`;
export const range = (n: number) => `10.244.${n}.0/24`;

export interface Setup {
  readonly fake: FakeOpenStack;
  /** As a process of its own has them. */
  routes(http?: Http): Routes<OpenStackRoute>;
}

/** A router in one network, and servers `s0`... with a port each, the last without. */
export function setUp({ servers = 4, atomic = true, ifMatch = true } = {}): Setup {
  const fake = createFakeOpenStack();
  if (!atomic) fake.extensions.splice(fake.extensions.indexOf('extraroute-atomic'), 1);
  if (!ifMatch) fake.extensions.splice(fake.extensions.indexOf('revision-if-match'), 1);
  fake.networks.set('n1', 'k8s-net');
  fake.subnets.push({ id: 's1', networkId: 'n1', cidr: '10.20.0.0/16' });
  fake.subnets.push({ id: 's6', networkId: 'n1', cidr: 'fd20::/64' });
  fake.routers.set('r1', { id: 'r1', routes: [], revision: 1 });
  const routerPort = { deviceOwner: 'network:router_interface', portSecurity: false };
  fake.ports.push({ id: 'rp', deviceId: 'r1', networkId: 'n1', ips: ['10.20.0.1'], ...routerPort });
  for (let n = 0; n < servers; n += 1) {
    fake.ports.push({ id: `p${n}`, deviceId: `s${n}`, networkId: 'n1', ips: [addressOf(n), `fd20::${10 + n}`] });
  }
  return {
    fake,
    routes(http = fakeHttp(fake)) {
      const clock = fakeClock();
      const client = createClient({
        http,
        clock,
        rateLimiters: createRateLimiters({ clock, random: () => 0.5 }),
        onCall: () => {},
        authUrl: `${fake.authUrl}/v3`,
        credential: { method: 'password', user: { id: 'u1' }, password, scope: { project: { id: 'p1' } } },
        interface: 'public',
        region: undefined,
        timeoutMs: 60_000,
        mutationTimeoutMs: 10_000,
      });
      return createRoutes({
        client,
        routerId: 'r1',
        serverIdOf: (providerID) => (providerID.startsWith('openstack:///') ? providerID.slice(13) : undefined),
        providerIDOf: (serverId) => `openstack:///${serverId}`,
      });
    },
  };
}

export function desired(n: number, destination = range(n)): DesiredRoute {
  return {
    cluster: 'c',
    node: `node-${n}`,
    nodeUid: `uid-${n}`,
    destination,
    providerID: `openstack:///s${n}`,
    addresses: [addressOf(n)],
  };
}

export const kindOf = (error: unknown) => (isCloudError(error) ? error.kind : String(error));
export const refused = (work: Promise<unknown>) => work.then(() => 'made', kindOf);
export const table = ({ fake }: Setup) =>
  fake.routers
    .get('r1')!
    .routes.map(({ destination, nexthop }) => `${destination} ${nexthop}`)
    .toSorted();
export const pairs = ({ fake }: Setup, port: string) =>
  (fake.ports.find(({ id }) => id === port)?.pairs ?? []).map(({ ip_address: address }) => address).toSorted();
export const writes = ({ fake }: Setup) =>
  fake.calls.filter(({ method }) => method === 'PUT').map(({ path }) => path.replace(/^\/(ports|routers)\//, '$1 '));
