import { randomUUID } from 'node:crypto';
import {
  advanceDuring,
  type CloudCapabilities,
  type CloudWorld,
  cloudSuite,
  fakeClock,
  httpOf,
  openModule,
  sentCalls,
} from 'mooring/cloud-suite';
import * as module from './cloud.ts';
import { createFakeApi, token } from './fake-api.ts';

const capabilities: CloudCapabilities = {
  deletedVm: 'absent',
  loadBalancers: {
    protocols: ['TCP'],
    sourceRanges: false,
    sessionAffinity: false,
    healthChecks: false,
    uniqueNames: false,
    attach: false,
    drains: false,
    retain: false,
    refusesMembers: false,
    calls: { first: 1, further: 1, member: 1, removal: 1 },
  },
  routes: undefined,
  enumerateFaults: true,
};

cloudSuite({ name: 'example, on a fake one', capabilities, open: async () => exampleWorld() });

function exampleWorld(): CloudWorld {
  const [clock, api] = [fakeClock(), createFakeApi()];
  const sent = sentCalls(httpOf(api.answer), (method) => method !== 'GET');
  const config = JSON.stringify({ endpoint: 'http://example.test', token });
  const idOf = (providerID: string) => providerID.slice('example://'.length);
  const clients: { close(): void }[] = [];
  return {
    cluster: randomUUID(),
    mutations: sent.mutations,
    loseAnswer: sent.loseAnswer,
    keepsSourceRanges: false,
    async open(wrap) {
      const client = await openModule({ name: 'example', module, config, clock, http: sent.http }, wrap);
      clients.push(client);
      return client;
    },
    async createVm() {
      const { id, name, privateIp } = api.addServer(`node-${api.nextId()}`);
      return { name, providerID: `example://${id}`, addresses: [privateIp], zone: '' };
    },
    async deleteVm(providerID) {
      api.servers.delete(idOf(providerID));
    },
    async stopVm(providerID) {
      api.servers.get(idOf(providerID))!.status = 'off';
    },
    unusedProviderID: () => `example://srv-${api.nextId()}`,
    otherScopeProviderID: () => 'hcloud://321987',
    refuseCredential(refused) {
      api.refuses = refused;
    },
    inventory: async () =>
      [...api.balancers.values()].flatMap(({ name, ports, servers }) => [
        { kind: 'load balancer', name: `${name} ${ports.map(({ port }) => port).join()}` },
        ...servers.map(() => ({ kind: 'server', name })),
      ]),
    createForeignLoadBalancer: async (name) => api.addBalancer({ name, labels: {}, ports: [], servers: [] }).id,
    async describeLoadBalancer(id) {
      return api.balancers.has(id) ? JSON.stringify(api.balancers.get(id)) : undefined;
    },
    async deleteLoadBalancer(id) {
      api.balancers.delete(id);
    },
    async stripMarks({ id }) {
      const balancer = api.balancers.get(id);
      if (balancer) balancer.labels = {};
      return balancer !== undefined;
    },
    // Nothing beside its labels shows whose it is.
    comesBack: () => false,
    createForeignRoute: async () => {},
    deleteForeignRoute: async () => {},
    during: (work) => advanceDuring(clock, work),
    pass: (ms) => clock.advance(ms),
    async close() {
      for (const client of clients) client.close();
    },
  };
}
