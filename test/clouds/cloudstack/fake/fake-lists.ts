import type { Json } from '../../fake-http.ts';
import type { Command, FakeAccount } from './fake-account.ts';
import { invalid, noEntity, tagsIn } from './fake-api.ts';
import { apiKey } from './fake-keys.ts';
import { showAcl, showAddress, showFirewall, showNetwork, showPolicy, showRule, showVm } from './fake-shapes.ts';

interface List {
  readonly collection: string;
  items(fake: FakeAccount, command: Command): readonly Json[];
}

/** What the filters of the command leave. An id of nothing is refused. */
function filtered<T extends { readonly id: string }>(
  all: ReadonlyMap<string, T>,
  { name, params }: Command,
  filters: Readonly<Record<string, (one: T, value: string) => boolean>>,
): T[] {
  const id = params.get('id')?.toLowerCase();
  if (id !== undefined && !all.has(id)) throw noEntity(name, 'id', id);
  const some = id === undefined ? [...all.values()] : [all.get(id)!];
  return some.filter((one) =>
    Object.entries(filters).every(([param, fits]) => {
      const value = params.get(param);
      return value === undefined || fits(one, value);
    }),
  );
}

function known(all: ReadonlyMap<string, unknown>, { name, params }: Command, param: string): void {
  const value = params.get(param);
  if (value !== undefined && !all.has(value)) throw noEntity(name, param, value);
}

export const lists: Readonly<Record<string, List>> = {
  listAccounts: {
    collection: 'account',
    items: (fake) => [{ id: fake.account, name: 'admin', user: [{ id: fake.account, apikey: apiKey }] }],
  },
  listProjects: {
    collection: 'project',
    items: ({ project }, { name, params }) => {
      if (params.get('id') !== project) throw noEntity(name, 'id', params.get('id') ?? '');
      return project === undefined ? [] : [{ id: project, name: 'nodes', state: 'Active' }];
    },
  },
  listVirtualMachines: {
    collection: 'virtualmachine',
    // A name also finds those that have it in theirs.
    items: (fake, command) => filtered(fake.vms, command, { name: (vm, value) => vm.name.includes(value) }).map(showVm),
  },
  listNetworks: {
    collection: 'network',
    items: (fake, command) => filtered(fake.networks, command, {}).map(showNetwork),
  },
  listPublicIpAddresses: {
    collection: 'publicipaddress',
    items: (fake, command) => {
      const tags = Object.entries(tagsIn(command));
      return filtered(fake.addresses, command, { ipaddress: ({ ip }, value) => ip === value })
        .filter((one) => tags.every(([key, value]) => one.tags[key] === value))
        .map(showAddress);
    },
  },
  listLoadBalancerRules: {
    collection: 'loadbalancerrule',
    items: (fake, command) => {
      known(fake.addresses, command, 'publicipid');
      const found = filtered(fake.rules, command, {
        publicipid: ({ address }, value) => address === value,
        keyword: ({ name }, value) => name.includes(value),
      });
      return found.map((rule) => showRule(rule, fake.addresses.get(rule.address)!.ip));
    },
  },
  listLoadBalancerRuleInstances: {
    collection: 'loadbalancerruleinstance',
    items: (fake, { name, params }) => {
      const rule = fake.rules.get(params.get('id')!);
      if (rule === undefined) throw noEntity(name, 'id', params.get('id')!);
      return rule.vms.flatMap((id) => fake.vms.get(id) ?? []).map(showVm);
    },
  },
  listLBStickinessPolicies: {
    collection: 'stickinesspolicies',
    items: (fake, command) => {
      known(fake.rules, command, 'lbruleid');
      const rule = command.params.get('lbruleid');
      if (rule === undefined) return [];
      const policies = [...fake.policies.values()].filter((one) => one.rule === rule);
      return [{ lbruleid: rule, stickinesspolicy: policies.map(showPolicy) }];
    },
  },
  listFirewallRules: {
    collection: 'firewallrule',
    items: (fake, command) => {
      known(fake.addresses, command, 'ipaddressid');
      const asked = fake.addresses.get(command.params.get('ipaddressid') ?? '');
      if (asked !== undefined && asked.state !== 'Allocated')
        throw invalid(`Ip address id=${asked.id} not ready for firewall rules yet`);
      const found = filtered(fake.firewall, command, { ipaddressid: ({ place }, value) => place === value });
      return found.map((rule) => showFirewall(rule, fake.addresses.get(rule.place)!.ip));
    },
  },
  listNetworkACLs: {
    collection: 'networkacl',
    items: (fake, command) =>
      filtered(fake.acls, command, { aclid: ({ place }, value) => place === value }).map(showAcl),
  },
};
