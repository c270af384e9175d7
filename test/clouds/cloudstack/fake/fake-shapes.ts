import type { Json } from '../../fake-http.ts';
import type { FakeAddress, FakeNetwork, FakeOpening, FakePolicy, FakeRule, FakeVm } from './fake-account.ts';

const owner = { account: 'admin', domain: 'ROOT', domainid: 'e4874e10-5fdf-11ea-9a56-1e006800018c' };
const zoneid = '1d8d87d4-1425-459c-8d81-c6f57dca2bd2';
const zonename = 'SimZone1';

/** With the fields of the recorded answers of a management server. */
export function showVm(vm: FakeVm): Json {
  const { number } = vm;
  return {
    ...owner,
    affinitygroup: [],
    cpunumber: 1,
    cpuspeed: 100,
    created: '2021-10-04T09:24:38+0000',
    displayvm: true,
    details: {},
    displayname: vm.name,
    haenable: false,
    hypervisor: 'Simulator',
    id: vm.id,
    name: vm.name,
    hostname: 'SimulatedAgent.4234d24b-37fd-42bf-9184-874889001baf',
    instancename: `i-2-${number}-QA`,
    memory: 256,
    nic: vm.networks.map((networkid, index) => ({
      id: `47d79da1-2fe1-4a44-a503-${String(number * 8 + index).padStart(12, '0')}`,
      broadcasturi: 'vlan://1994',
      gateway: '10.1.1.1',
      netmask: '255.255.255.0',
      isdefault: index === 0,
      secondaryip: [],
      type: 'Isolated',
      ipaddress: `10.1.${index + 1}.${number}`,
      macaddress: '02:00:34:fb:00:01',
      networkid,
      traffictype: 'Guest',
    })),
    passwordenabled: false,
    securitygroup: [],
    serviceofferingname: vm.offering,
    state: vm.state,
    tags: [],
    serviceofferingid: '498ce071-a077-4237-9492-e55c42553327',
    zoneid,
    zonename: vm.zone,
    ...vm.more,
  };
}

export function showNetwork({ id, name, services, vpc, acl, tags }: FakeNetwork): Json {
  return {
    ...owner,
    id,
    name,
    displaytext: name,
    broadcastdomaintype: 'Vlan',
    traffictype: 'Guest',
    gateway: '10.1.1.1',
    netmask: '255.255.255.0',
    cidr: '10.1.1.0/24',
    zoneid,
    zonename,
    state: 'Implemented',
    type: 'Isolated',
    acltype: 'Account',
    issystem: false,
    service: services.map((one) => ({ name: one, capability: [] })),
    tags: showTags(tags, id, 'Network'),
    ...(vpc !== undefined && { vpcid: vpc }),
    ...(acl !== undefined && { aclid: acl.id, aclname: acl.name }),
  };
}

function showTags(tags: Readonly<Record<string, string>>, resourceid: string, resourcetype: string): Json[] {
  return Object.entries(tags).map(([key, value]) => {
    return { ...owner, key, value, resourceid, resourcetype };
  });
}

export function showAddress(one: FakeAddress): Json {
  return {
    ...owner,
    id: one.id,
    ipaddress: one.ip,
    allocated: one.allocatedAt,
    zoneid,
    zonename,
    issystem: false,
    issourcenat: one.isSourceNat,
    isstaticnat: false,
    isportable: false,
    forvirtualnetwork: true,
    fordisplay: true,
    state: one.state,
    tags: showTags(one.tags, one.id, 'PublicIpAddress'),
    vlanname: 'vlan://untagged',
    hasannotations: false,
    ...(one.network !== undefined && { associatednetworkid: one.network, associatednetworkname: 'nodes' }),
    ...(one.vpc !== undefined && { vpcid: one.vpc }),
  };
}

export function showRule(one: FakeRule, ip: string): Json {
  return {
    ...owner,
    algorithm: one.algorithm,
    cidrlist: one.cidrs.join(' '),
    fordisplay: true,
    id: one.id,
    name: one.name,
    networkid: one.network,
    privateport: String(one.privatePort),
    protocol: one.protocol,
    publicip: ip,
    publicipid: one.address,
    publicport: String(one.publicPort),
    state: one.state,
    tags: [],
    zoneid,
    zonename,
  };
}

export function showFirewall(one: FakeOpening, ip: string): Json {
  return {
    id: one.id,
    protocol: one.protocol,
    startport: one.first,
    endport: one.last,
    ipaddressid: one.place,
    ipaddress: ip,
    state: one.state,
    cidrlist: one.cidrs.join(','),
    tags: [],
    fordisplay: true,
  };
}

export function showAcl(one: FakeOpening): Json {
  return {
    id: one.id,
    protocol: one.protocol,
    startport: String(one.first),
    endport: String(one.last),
    number: 1,
    traffictype: 'Ingress',
    state: one.state,
    cidrlist: one.cidrs.join(','),
    tags: [],
    aclid: one.place,
    action: 'Allow',
    fordisplay: true,
    reason: one.reason,
  };
}

export function showPolicy({ id, name, method, params }: FakePolicy): Json {
  return { id, name, methodname: method, params: { ...params }, state: 'Active', fordisplay: true };
}
