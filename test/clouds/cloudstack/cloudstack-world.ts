import { randomUUID } from 'node:crypto';
import type { Clock } from '../../../common/process/clock.ts';
import type { Http } from '../../../common/process/http.ts';
import { silentLog } from '../../../common/process/log.ts';
import { seededRandom } from '../../../common/process/random.ts';
import { advanceDuring, fakeClock } from '../../../common/testing/fake-clock.ts';
import type { Cloud, CloudCall, OpenedCloud } from '../../../controller/clouds/cloud.ts';
import { prefix } from '../../../controller/clouds/cloudstack/annotations.ts';
import { readConfig } from '../../../controller/clouds/cloudstack/config.ts';
import { openCloudStack } from '../../../controller/clouds/cloudstack/index.ts';
import { ownerTags } from '../../../controller/clouds/load-balancers.ts';
import { withLoadBalancers } from '../../../controller/services/balancers/with-load-balancers.ts';
import { withDriver } from '../suite/recorded-driver.ts';
import { sentCalls } from '../suite/sent-calls.ts';
import type { CloudCapabilities, CloudWorld, InventoryItem, WrapDriver } from '../suite/world.ts';
import type { FakeAccount } from './fake/fake-account.ts';
import { createFakeCloudStack } from './fake/fake-cloudstack.ts';
import { apiKey, secretKey } from './fake/fake-keys.ts';

export const cloudStackCapabilities: CloudCapabilities = {
  deletedVm: 'absent',
  loadBalancers: {
    protocols: ['TCP'],
    sourceRanges: true,
    sessionAffinity: true,
    healthChecks: false,
    // An address has no name.
    uniqueNames: false,
    attach: false,
    drains: false,
    retain: true,
    markedLater: ['public address'],
    refusesMembers: true,
    createdElsewhere: { 'ACL rule': 'test/clouds/cloudstack/conformance.test.ts' },
    // An address and its tags, and a tag of the network for as long as it has none; a rule, its VMs and a firewall rule
    // for each of two ports. All go with the address.
    calls: { first: 10, further: 10, member: 2, removal: 1 },
  },
  routes: undefined,
  enumerateFaults: true,
};

/** The rules of an ACL do not go with the address. */
export const vpcCapabilities: CloudCapabilities = {
  ...cloudStackCapabilities,
  loadBalancers: {
    ...cloudStackCapabilities.loadBalancers!,
    createdElsewhere: { 'firewall rule': 'test/clouds/cloudstack/conformance.test.ts' },
    calls: { ...cloudStackCapabilities.loadBalancers!.calls!, removal: 3 },
  },
};

export interface CloudStackWorldOptions {
  /** The nodes are in a VPC, whose ACL is this one. */
  readonly acl?: string;
  onCall?(call: CloudCall): void;
}

export interface CloudStackWorld extends CloudWorld {
  open(wrap?: WrapDriver): Promise<OpenedCloud & Pick<Cloud, 'loadBalancers'>>;
  readonly fake: FakeAccount;
  readonly clock: Clock & { advance(ms: number): Promise<void> };
}

const mutating = /(^|&)command=(?!list|query)/;

/** An account of CloudStack as the conformance suite drives it: the client that ships. */
export function cloudStackWorld({ acl, onCall = () => {} }: CloudStackWorldOptions = {}): CloudStackWorld {
  const clock = fakeClock();
  const fake = createFakeCloudStack(clock);
  const endpoint = 'http://cloudstack.test/client/api';
  // The command stands in the body.
  let isMutating = false;
  const counted = sentCalls(fake.http, () => isMutating);
  const http: Http = (request) => {
    isMutating = mutating.test(request.body ?? '');
    return counted.http(request);
  };
  if (acl !== undefined) {
    fake.network.vpc = randomUUID();
    fake.network.services = ['Lb', 'NetworkACL', 'SourceNat'];
    fake.network.acl = { id: randomUUID(), name: acl };
  }
  const clients: { close(): void }[] = [];
  const vmOf = (providerID: string) => providerID.slice('external-cloudstack://'.length);
  let made = 0;

  return {
    cluster: randomUUID(),
    fake,
    clock,
    mutations: counted.mutations,
    loseAnswer: counted.loseAnswer,
    during: (work) => advanceDuring(clock, work),
    pass: (ms) => clock.advance(ms),
    async open(wrap) {
      const text = `[Global]\napi-url = ${endpoint}\napi-key = ${apiKey}\nsecret-key = ${secretKey}\n`;
      const config = readConfig({ path: 'cloud.conf', text });
      if ('reportOnly' in config) throw new Error(config.reportOnly);
      const context = { clock, random: seededRandom(1), log: silentLog, env: {}, onCall };
      const opened = openCloudStack({ config, context, wrapHttp: () => http });
      const client = withLoadBalancers<typeof opened>(withDriver(opened, wrap), clock);
      clients.push(client);
      return client;
    },
    async createVm() {
      made += 1;
      const { id, name, number } = fake.addVm(`node-${made}`);
      return { name, providerID: `external-cloudstack://${id}`, addresses: [`10.1.1.${number}`], zone: 'SimZone1' };
    },
    async deleteVm(providerID) {
      fake.vms.delete(vmOf(providerID));
      for (const rule of fake.rules.values()) rule.vms = rule.vms.filter((id) => id !== vmOf(providerID));
    },
    async stopVm(providerID) {
      fake.vms.get(vmOf(providerID))!.state = 'Stopped';
    },
    unusedProviderID: () => `external-cloudstack://${randomUUID()}`,
    otherScopeProviderID: () => 'hcloud://321987',
    refuseCredential(refused) {
      const body = { errorresponse: { errorcode: 401, errortext: 'unable to verify user credentials' } };
      fake.fault = refused ? () => ({ status: 401, body }) : undefined;
    },
    inventory: async () => inventoryOf(fake),
    async createForeignLoadBalancer(name, consent) {
      const { id } = fake.addAddress({ tags: consent === undefined ? {} : { [ownerTags.consent]: consent } });
      const fields = { address: id, network: fake.network.id, algorithm: 'roundrobin', protocol: 'tcp', cidrs: [] };
      const rule = { id: randomUUID(), name, publicPort: 81, privatePort: 30_081, state: 'Active' as const, vms: [] };
      fake.rules.set(rule.id, { ...rule, ...fields });
      return id;
    },
    async describeLoadBalancer(id) {
      const found = fake.addresses.get(id);
      return found && JSON.stringify([found, [...fake.rules.values()].filter(({ address }) => address === id)]);
    },
    async deleteLoadBalancer(id) {
      for (const [key, { rule }] of fake.policies) if (fake.rules.get(rule)?.address === id) fake.policies.delete(key);
      for (const all of [fake.rules, fake.firewall] as Map<string, { address?: string; place?: string }>[])
        for (const [key, one] of all) if (one.address === id || one.place === id) all.delete(key);
      fake.addresses.delete(id);
    },
    async stripMarks({ kind, id }) {
      const address = kind === 'public address' ? fake.addresses.get(id) : undefined;
      if (address !== undefined) address.tags = {};
      return address !== undefined;
    },
    // Rules and firewall have no marks.
    comesBack: () => false,
    async markAsClassic({ id }) {
      fake.addresses.get(id)!.tags = {};
    },
    async freeAddress(consent) {
      return fake.addAddress({ tags: consent === undefined ? {} : { [ownerTags.consent]: consent } }).ip;
    },
    examples: [
      { annotations: { [`${prefix}proxy-protocol`]: 'true', [`${prefix}hostname`]: 'web.example.com' } },
      { annotations: { [`${prefix}source-cidrs`]: '192.0.2.0/24' }, sessionAffinity: { timeoutSeconds: 10_800 } },
      { annotations: { [`${prefix}stickiness`]: 'SourceBased' }, sessionAffinity: { timeoutSeconds: 600 } },
    ],
    createForeignRoute: async () => {},
    deleteForeignRoute: async () => {},
    async close() {
      for (const client of clients) client.close();
    },
  };
}

/** Without ids and the numbers of addresses: two runs are compared. */
function inventoryOf(fake: FakeAccount): InventoryItem[] {
  const nameOf = (id: string) => fake.addresses.get(id)?.tags[ownerTags.service] ?? 'untagged';
  const ports = (one: { first: number; last: number; cidrs: readonly string[] }) => `${one.first} ${one.cidrs.join()}`;
  return [
    ...[...fake.addresses.keys()].map((id) => ({ kind: 'address', name: nameOf(id) })),
    ...[...fake.networks.values()].flatMap(({ tags }) => Object.keys(tags).map((name) => ({ kind: 'tag', name }))),
    ...[...fake.rules.values()].map((rule) => ({
      kind: 'rule',
      name: `${rule.name} ${rule.protocol} ${rule.publicPort} ${rule.privatePort} ${rule.algorithm} ${rule.vms.length}`,
    })),
    ...[...fake.policies.values()].map(({ method, params }) => {
      return { kind: 'policy', name: `${method} ${JSON.stringify(params)}` };
    }),
    ...[...fake.firewall.values()].map((one) => ({ kind: 'firewall', name: `${nameOf(one.place)} ${ports(one)}` })),
    ...[...fake.acls.values()].map((one) => ({ kind: 'acl', name: `${one.reason} ${ports(one)}` })),
  ];
}
