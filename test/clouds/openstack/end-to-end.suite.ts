import assert from 'node:assert/strict';
import { randomInt, randomUUID } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { after, before, describe, it } from 'node:test';
import { isDeepStrictEqual } from 'node:util';
import { conditions, taints } from '../../../common/well-known.ts';
import { until } from '../../kit/world/scenario.ts';
import type { CloudVm } from '../suite/world.ts';
import { type Cluster, lastLines, startCluster } from './cluster.ts';
import { type Connection, connectTo, type Json } from './connection.ts';
import { metadataService } from './metadata-proxy.ts';
import { firstRouter } from './real-world.ts';
import { type Servers, serversOf } from './servers.ts';

const run = randomUUID().slice(0, 8);
const nodeNames = [1, 2].map((number) => `mooring-e2e-${run}-${number}`);
/** One of its own for each run. */
const podPrefix = `10.${128 + randomInt(100)}.`;

describe(`a cluster on OpenStack, cloud ${process.env['OS_CLOUD']}`, () => {
  let connection: Connection;
  let servers: Servers;
  let cluster: Cluster;
  let router: string;
  const vms: CloudVm[] = [];
  const credentials: Record<string, string>[] = [];
  const idOf = ({ providerID }: CloudVm) => providerID.slice(providerID.lastIndexOf('/') + 1);

  before(async () => {
    connection = await connectTo(process.env);
    servers = serversOf(connection);
    router = await firstRouter(connection);
    for (const name of nodeNames) {
      const id = await servers.create(name);
      await servers.waitFor(id, 'ACTIVE');
      const shown = await servers.get(id);
      const networks = Object.values(shown?.['addresses'] as Record<string, { addr: string }[]>);
      const zone = String(shown?.['OS-EXT-AZ:availability_zone']);
      vms.push({ name, providerID: `openstack:///${id}`, addresses: networks.flat().map(({ addr }) => addr), zone });
    }
    cluster = await startCluster({
      nodeNames,
      podRange: `${podPrefix}0.0/16`,
      env: process.env,
      projectId: connection.projectId,
      cloudConfig: configOf(await anotherCredential()),
      metadata: await metadataService(process.env),
    });
    for (const vm of vms) await cluster.boot(vm);
  });
  after(async () => {
    await cluster?.stop();
    const path = `/routers/${router}/remove_extraroutes`;
    await connection.call('network', 'PUT', path, { router: { routes: await routes() } });
    for (const vm of vms) await servers.delete(idOf(vm));
    for (const credential of credentials) await dropCredential(credential);
  });

  /** An application credential where one may be made, else what the environment has. */
  async function anotherCredential(): Promise<Record<string, string> | undefined> {
    const { config, call, userId } = connection;
    if (config.credential.method === 'application_credential') return undefined;
    const path = `/users/${userId}/application_credentials`;
    const name = `mooring-e2e-${run}-${credentials.length + 1}`;
    const made = (await call('identity', 'POST', path, { application_credential: { name } }))?.[
      'application_credential'
    ];
    credentials.push(made as Record<string, string>);
    return made as Record<string, string>;
  }
  const dropCredential = async ({ id }: Record<string, string>) => {
    await connection.call('identity', 'DELETE', `/users/${connection.userId}/application_credentials/${id}`);
  };
  function configOf(credential: Record<string, string> | undefined): string {
    const { authUrl, region } = connection.config;
    const lines =
      credential === undefined
        ? ['use-clouds = true']
        : [
            `auth-url = ${authUrl}`,
            `application-credential-id = ${credential['id']}`,
            `application-credential-secret = ${credential['secret']}`,
            `tenant-id = ${connection.projectId}`,
            ...(region === undefined ? [] : [`region = ${region}`]),
          ];
    return ['[Global]', ...lines, '[Route]', `router-id = ${router}`, ''].join('\n');
  }

  // biome-ignore lint/suspicious/noExplicitAny: a Node as the API server sends it
  const nodeOf = async (name: string): Promise<any> => {
    const answer = await cluster.rest.call('GET', `/api/v1/nodes/${name}`);
    return answer.status === 200 ? answer.body : undefined;
  };
  const routes = async (): Promise<{ destination: string; nexthop: string }[]> => {
    const answer = (await connection.call('network', 'GET', `/routers/${router}`))?.['router'] as Json;
    return (answer['routes'] as { destination: string; nexthop: string }[]).filter(({ destination }) =>
      destination.startsWith(podPrefix),
    );
  };
  const services = '/api/v1/namespaces/default/services';
  /** The parts of load balancers, and what a failed removal leaves behind: those that name one of the ids. */
  const thingsOf = async (...ids: readonly string[]): Promise<string[]> => {
    const lists = [
      ['load-balancer', '/lbaas/loadbalancers', 'loadbalancers'],
      ['load-balancer', '/lbaas/listeners', 'listeners'],
      ['load-balancer', '/lbaas/pools', 'pools'],
      ['network', '/floatingips', 'floatingips'],
      ['network', '/ports', 'ports'],
      ['network', '/security-groups', 'security_groups'],
    ] as const;
    const items = await Promise.all(
      lists.map(async ([service, path, collection]) =>
        (await connection.list(service, path, collection)).map((item) => ({ collection, text: JSON.stringify(item) })),
      ),
    );
    return items
      .flat()
      .filter(({ text }) => ids.some((id) => text.includes(id)))
      .map(({ collection }) => collection)
      .toSorted();
  };
  let balancer: Json | undefined;
  let floating: Json | undefined;
  const balancerNow = async () =>
    (await connection.call('load-balancer', 'GET', `/lbaas/loadbalancers/${balancer?.['id']}`))?.['loadbalancer'];
  const state = async () => [await connection.call('network', 'GET', `/routers/${router}`), await balancerNow()];
  const memberAddresses = async (): Promise<unknown[][]> => {
    const path = `/lbaas/pools?loadbalancer_id=${balancer?.['id']}`;
    const pools = await connection.list('load-balancer', path, 'pools');
    return Promise.all(
      pools.map(async ({ id }) =>
        (await connection.list('load-balancer', `/lbaas/pools/${id}/members`, 'members'))
          .map(({ address }) => address)
          .toSorted(),
      ),
    );
  };
  const waitFor = async <T>(what: string, seconds: number, probe: () => Promise<T | undefined | false>): Promise<T> => {
    try {
      return await until(what, seconds * 1000, probe);
    } catch (error) {
      throw new Error(`${String(error)}\n${await lastLines(cluster.controllerLog)}`);
    }
  };

  it("initialises a Node from Nova's answer", async () => {
    for (const vm of vms) {
      const node = await waitFor(`${vm.name} is initialised`, 60, async () => {
        const seen = await nodeOf(vm.name);
        const keys = (seen?.spec?.taints ?? []).map(({ key }: { key: string }) => key);
        return seen?.spec?.providerID !== undefined && !keys.includes(taints.uninitialized) && seen;
      });
      const shown = await servers.get(idOf(vm));
      assert.equal(node.spec.providerID, vm.providerID);
      const addresses = node.status.addresses.map(({ type, address }: Json) => `${type} ${address}`);
      assert.ok(addresses.includes(`InternalIP ${vm.addresses[0]}`), addresses.join());
      assert.equal(node.metadata.labels['topology.kubernetes.io/zone'], vm.zone);
      assert.equal(node.metadata.labels['topology.kubernetes.io/region'], connection.config.region);
      const flavor = (shown?.['flavor'] as Json | undefined)?.['id'];
      const named = (await connection.call('compute', 'GET', `/flavors/${String(flavor)}`))?.['flavor'] as Json;
      assert.equal(node.metadata.labels['node.kubernetes.io/instance-type'], named['name']);
    }
  });

  it("takes the report of an agent that reads Nova's own metadata service", async (t) => {
    if (cluster.agents.length === 0) return t.skip('the address of the metadata service is not set');
    for (const { logFile } of cluster.agents) {
      await waitFor('a report is accepted', 60, async () => /accepted/.test(await readFile(logFile, 'utf8')));
      const log = await readFile(logFile, 'utf8');
      assert.doesNotMatch(log, /"level":"error"/);
    }
  });

  it('routes each pod range in the real router, and allows it on the port', async () => {
    for (const vm of vms) {
      const range: string = await waitFor(`${vm.name} has its network`, 60, async () => {
        const node = await nodeOf(vm.name);
        const condition = node?.status?.conditions?.find(({ type }: Json) => type === conditions.networkUnavailable);
        return condition?.status === 'False' ? node.spec.podCIDR : undefined;
      });
      assert.ok(
        (await routes()).some(({ destination, nexthop }) => destination === range && nexthop === vm.addresses[0]),
        JSON.stringify(await routes()),
      );
      const [port] = await connection.list('network', `/ports?device_id=${idOf(vm)}`, 'ports');
      const pairs = port?.['allowed_address_pairs'] as Json[];
      assert.ok(pairs.some(({ ip_address: address }) => address === range));
    }
  });

  it('gives a Service a load balancer of Octavia with its nodes as members and a floating IP', async () => {
    await cluster.rest.must('POST', services, {
      apiVersion: 'v1',
      kind: 'Service',
      metadata: { name: 'web', namespace: 'default' },
      spec: {
        type: 'LoadBalancer',
        selector: { app: 'web' },
        ports: [
          { name: 'http', port: 80 },
          { name: 'dns', port: 53, protocol: 'UDP' },
        ],
      },
    });
    const service = await waitFor('the Service has an address', 120, async () => {
      const seen = await cluster.rest.must('GET', `${services}/web`);
      const condition = seen.status?.conditions?.find(({ type }: Json) => type === conditions.loadBalancer);
      return seen.status?.loadBalancer?.ingress?.length > 0 && condition?.status === 'True' && seen;
    });
    const ip: string = service.status.loadBalancer.ingress[0].ip;
    [floating] = await connection.list('network', `/floatingips?floating_ip_address=${ip}`, 'floatingips');
    assert.ok(floating, `${ip} is no floating IP`);
    const balancers = await connection.list('load-balancer', '/lbaas/loadbalancers', 'loadbalancers');
    balancer = balancers.find(({ vip_port_id: port }) => port === floating?.['port_id']);
    assert.equal(balancer?.['provisioning_status'], 'ACTIVE');
    const all = vms.map((vm) => vm.addresses[0]).toSorted();
    assert.deepEqual(await memberAddresses(), [all, all]);
  });

  it('changes nothing after a restart of the controller', async () => {
    const before = await state();
    const leader = async () => {
      const path = '/apis/coordination.k8s.io/v1/namespaces/kube-system/leases/cloud-controller-manager';
      return (await cluster.rest.must('GET', path)).spec.holderIdentity as string;
    };
    const old = await leader();
    await cluster.restartController();
    await waitFor('the new process leads', 30, async () => ![old, '', undefined].includes(await leader()));
    // Its first looks at servers, routes and load balancers.
    await new Promise((resolve) => setTimeout(resolve, 5000));
    assert.deepEqual(await state(), before);
  });

  it('changes nothing when another application credential takes over at run time', async (t) => {
    const [first] = credentials;
    if (first === undefined) return t.skip('an application credential may not make others');
    const before = await state();
    await cluster.configure(configOf(await anotherCredential()));
    await waitFor('it is at work', 90, async () =>
      /the new credential is in use/.test(await readFile(cluster.controllerLog, 'utf8')),
    );
    await dropCredential(first);
    assert.deepEqual(await state(), before);
    // It is used from now on: the next scenes go on with it.
    assert.ok(cluster.controller.running);
  });

  it('deletes Node, route and membership of a server that is deleted in Nova', async () => {
    const [gone, kept] = [vms[1]!, vms[0]!];
    const range: string = (await nodeOf(gone.name)).spec.podCIDR;
    await cluster.powerLoss(gone.name);
    await servers.delete(idOf(gone));
    const startedAt = Date.now();
    await waitFor('its Node is gone', cluster.aged ? 120 : 480, async () => (await nodeOf(gone.name)) === undefined);
    const seconds = Math.round((Date.now() - startedAt) / 1000);
    await waitFor(
      'its route is gone',
      60,
      async () => !(await routes()).some(({ destination }) => destination === range),
    );
    console.log(`# a deleted server's Node was gone after ${seconds} s`);
    assert.ok(await nodeOf(kept.name));
    assert.equal((await routes()).length, 1);
    const rest = [kept.addresses[0]];
    await waitFor('it is no member any more', 60, async () => isDeepStrictEqual(await memberAddresses(), [rest, rest]));
  });

  it('leaves nothing behind of a deleted Service', async () => {
    const ids = [String(balancer?.['id']), String(floating?.['id'])];
    assert.ok((await thingsOf(...ids)).length >= 7, 'there was less than there should be');
    await cluster.rest.must('DELETE', `${services}/web`);
    await waitFor('the Service is gone', 120, async () => {
      return (await cluster.rest.call('GET', `${services}/web`)).status === 404;
    });
    assert.deepEqual(await thingsOf(...ids), []);
  });
});
