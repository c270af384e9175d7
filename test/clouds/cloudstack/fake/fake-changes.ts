import { randomUUID } from 'node:crypto';
import type { Json } from '../../fake-http.ts';
import type { Command, FakeAccount, FakeOpening, FakeRule } from './fake-account.ts';
import { FakeRefusal, invalid, noEntity, pairsIn, tagsIn } from './fake-api.ts';
import { showAddress, showRule } from './fake-shapes.ts';

/** What a command does at once, and what its job does at its end. */
interface Begun {
  readonly id?: string;
  readonly run: () => Json;
}

/** A job that does this, and answers no more than that it has. */
function doing(effect: () => void): Begun {
  return {
    run: () => {
      effect();
      return { success: true };
    },
  };
}

function one<T>(all: ReadonlyMap<string, T>, { name, params }: Command, param = 'id'): T {
  const found = all.get(params.get(param) ?? '');
  if (found === undefined) throw noEntity(name, param, params.get(param) ?? '');
  return found;
}
const listIn = ({ params }: Command, param: string) => params.get(param)?.split(',') ?? [];
const numberIn = ({ params }: Command, param: string) => Number(params.get(param));

function isIn(fake: FakeAccount, vm: string, { network }: FakeRule): boolean {
  return fake.vms.get(vm)?.networks.includes(network) ?? false;
}

/** What makes it sticky goes with it. */
function dropRule(fake: FakeAccount, id: string): void {
  for (const policy of [...fake.policies.values()]) if (policy.rule === id) fake.policies.delete(policy.id);
  fake.rules.delete(id);
}

/** Rules of an address go with it. */
function release(fake: FakeAccount, id: string): void {
  for (const rule of [...fake.rules.values()]) if (rule.address === id) dropRule(fake, rule.id);
  for (const rule of [...fake.firewall.values()]) if (rule.place === id) fake.firewall.delete(rule.id);
  fake.addresses.delete(id);
}

function tagged(fake: FakeAccount, command: Command) {
  const all = { PublicIpAddress: fake.addresses, Network: fake.networks }[command.params.get('resourcetype')!];
  if (all === undefined) throw invalid('the fake tags addresses and networks alone');
  return listIn(command, 'resourceids').map((id) => {
    const resource = all.get(id);
    if (resource === undefined) throw noEntity(command.name, 'resourceids', id);
    return resource;
  });
}

function open(command: Command, place: string, all: Map<string, FakeOpening>): Begun {
  const { params } = command;
  const opening: FakeOpening = {
    id: randomUUID(),
    place,
    protocol: params.get('protocol')!,
    state: 'Active',
    first: numberIn(command, 'startport'),
    last: numberIn(command, 'endport'),
    cidrs: listIn(command, 'cidrlist'),
    reason: params.get('reason') ?? '',
  };
  const isSame = (other: FakeOpening) =>
    other.place === place &&
    other.protocol === opening.protocol &&
    other.first <= opening.last &&
    opening.first <= other.last;
  const conflict = [...all.values()].find(
    (other) => isSame(other) && other.cidrs.some((cidr) => opening.cidrs.includes(cidr)),
  );
  if (conflict !== undefined && command.name === 'createFirewallRule')
    throw new FakeRefusal(
      537,
      `The range specified, ${opening.first}-${opening.last}, conflicts with rule ${conflict.id}`,
    );
  all.set(opening.id, opening);
  return { id: opening.id, run: () => ({ firewallrule: { id: opening.id } }) };
}

function close(command: Command, all: Map<string, FakeOpening>): Begun {
  const opening = one(all, command);
  opening.state = 'Revoke';
  return doing(() => all.delete(opening.id));
}

export const changes: Readonly<Record<string, (fake: FakeAccount, command: Command) => Begun>> = {
  associateIpAddress(fake, { params }) {
    const [network, vpc, ip] = [params.get('networkid'), params.get('vpcid'), params.get('ipaddress')];
    if (network === undefined && vpc === undefined) throw invalid('Unable to figure out zone to assign ip to.');
    const isVpc = network !== undefined && fake.networks.get(network)?.vpc !== undefined;
    if (isVpc) throw invalid('Ip address can be assigned to the network within VPC by VPC id alone');
    if (ip !== undefined && [...fake.addresses.values()].some((address) => address.ip === ip))
      throw invalid(`IP address ${ip} is already allocated`);
    if (fake.addresses.size >= fake.maxAddresses)
      throw new FakeRefusal(535, 'Maximum number of resources of type public_ip for account has been exceeded');
    const address = fake.addAddress({ network, vpc, state: 'Allocating', ...(ip !== undefined && { ip }) });
    return {
      id: address.id,
      run: () => {
        // As the recorded answer has it.
        const shown = showAddress(address);
        address.state = 'Allocated';
        return { ipaddress: shown };
      },
    };
  },
  disassociateIpAddress(fake, command) {
    const address = one(fake.addresses, command);
    if (address.isSourceNat) throw invalid('ip address is used for source nat purposes and can not be disassociated.');
    address.state = 'Releasing';
    return doing(() => release(fake, address.id));
  },
  createTags(fake, command) {
    const resources = tagged(fake, command);
    const tags = tagsIn(command);
    for (const { tags: there } of resources)
      for (const key of Object.keys(tags)) if (key in there) throw invalid(`tag ${key} already on the resource`);
    for (const [key, value] of Object.entries(tags))
      if (value === '') throw invalid(`Value for the key ${key} is either null or empty`);
    return doing(() => {
      if (resources.some((one) => 'isOthers' in one && one.isOthers))
        throw new FakeRefusal(530, 'Acct[nodes] does not have permission to operate with resource Acct[others]');
      for (const each of resources) Object.assign(each.tags, tags);
    });
  },
  deleteTags(fake, command) {
    const resources = tagged(fake, command);
    const asked = Object.keys(tagsIn(command)).map((key, at) => {
      const value = command.params.get(`tags[${at}].value`);
      return [key, value === '' && fake.emptyTagValueIsAny ? undefined : value] as const;
    });
    return doing(() => {
      let deleted = 0;
      for (const { tags } of resources)
        for (const [key, value] of asked) {
          // An empty value is one, and no tag has it; none stands for any.
          if (!(key in tags) || (value !== undefined && value !== tags[key])) continue;
          delete tags[key];
          deleted += 1;
        }
      if (deleted === 0) throw new FakeRefusal(530, 'Failed to delete tags');
    });
  },
  createLoadBalancerRule(fake, command) {
    const { params } = command;
    const address = one(fake.addresses, command, 'publicipid');
    const network = params.get('networkid') ?? address.network;
    if (network === undefined) throw invalid('Network id is required when the address is of no network');
    if (!fake.networks.get(network)?.services.includes('Lb'))
      throw invalid(`LB service is not supported in network ${network}`);
    if (address.state !== 'Allocated') throw invalid(`ip ${address.ip} is not allocated yet`);
    const rule: FakeRule = {
      id: randomUUID(),
      name: params.get('name')!,
      algorithm: params.get('algorithm')!,
      network,
      state: 'Add',
      protocol: params.get('protocol') ?? 'tcp',
      address: address.id,
      cidrs: listIn(command, 'cidrlist'),
      vms: [],
      publicPort: numberIn(command, 'publicport'),
      privatePort: numberIn(command, 'privateport'),
    };
    if (rule.protocol === 'udp' && !fake.takesUdp) throw invalid('LB service provider cannot support this rule');
    for (const other of fake.rules.values())
      if (other.address === rule.address && other.publicPort === rule.publicPort)
        throw new FakeRefusal(537, `The range specified, ${rule.publicPort}, conflicts with rule ${other.id}`);
    fake.rules.set(rule.id, rule);
    return {
      id: rule.id,
      run: () => {
        rule.state = 'Active';
        address.network ??= network;
        return { loadbalancer: showRule(rule, address.ip) };
      },
    };
  },
  updateLoadBalancerRule(fake, command) {
    const rule = one(fake.rules, command);
    const fields = ['name', 'algorithm', 'protocol'].flatMap((key) => {
      return command.params.has(key) ? [[key, command.params.get(key)]] : [];
    });
    return doing(() => Object.assign(rule, Object.fromEntries(fields)));
  },
  deleteLoadBalancerRule(fake, command) {
    const rule = one(fake.rules, command);
    rule.state = 'Revoke';
    return doing(() => dropRule(fake, rule.id));
  },
  createLBStickinessPolicy(fake, command) {
    const { params } = command;
    const rule = one(fake.rules, command, 'lbruleid').id;
    const method = params.get('methodname')!;
    if (!['LbCookie', 'AppCookie', 'SourceBased'].includes(method)) throw invalid(`no method ${method}`);
    if ([...fake.policies.values()].some((other) => other.rule === rule))
      throw invalid('Failed to create Stickiness policy: Already policy attached to the rule');
    const id = randomUUID();
    const given = pairsIn(command, 'param', 'name');
    fake.policies.set(id, { id, rule, name: params.get('name')!, method, params: given });
    return { id, run: () => ({ stickinesspolicies: { lbruleid: rule, stickinesspolicy: [{ id }] } }) };
  },
  deleteLBStickinessPolicy(fake, command) {
    const { id } = one(fake.policies, command);
    return doing(() => fake.policies.delete(id));
  },
  assignToLoadBalancerRule(fake, command) {
    const rule = one(fake.rules, command);
    const vms = listIn(command, 'virtualmachineids');
    for (const vm of vms) if (!fake.vms.has(vm)) throw noEntity(command.name, 'virtualmachineids', vm);
    return doing(() => {
      for (const vm of vms) {
        const { state } = fake.vms.get(vm) ?? {};
        if (state === undefined || ['Destroyed', 'Expunging'].includes(state))
          throw new FakeRefusal(530, 'Invalid instance id specified');
        if (!isIn(fake, vm, rule))
          throw new FakeRefusal(
            530,
            "VM with id specified cannot be added because it doesn't belong in the same network.",
          );
        if (rule.vms.includes(vm)) throw new FakeRefusal(530, `VM ${vm} is already mapped to load balancer.`);
      }
      rule.vms.push(...vms);
    });
  },
  removeFromLoadBalancerRule(fake, command) {
    const rule = one(fake.rules, command);
    const vms = listIn(command, 'virtualmachineids');
    return doing(() => {
      if (vms.some((vm) => !rule.vms.includes(vm))) throw new FakeRefusal(530, 'Internal error');
      rule.vms = rule.vms.filter((vm) => !vms.includes(vm));
    });
  },
  createFirewallRule: (fake, command) => open(command, one(fake.addresses, command, 'ipaddressid').id, fake.firewall),
  deleteFirewallRule: (fake, command) => close(command, fake.firewall),
  createNetworkACL: (fake, command) => open(command, command.params.get('aclid')!, fake.acls),
  updateNetworkACLItem(fake, command) {
    const opening = one(fake.acls, command);
    const cidrs = listIn(command, 'cidrlist');
    return {
      run: () => {
        opening.cidrs = cidrs;
        return { networkacl: { id: opening.id } };
      },
    };
  },
  deleteNetworkACL: (fake, command) => close(command, fake.acls),
};
