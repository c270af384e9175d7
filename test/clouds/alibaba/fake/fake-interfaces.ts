import type { FakeAnswer, Json } from '../../fake-http.ts';
import { type FakeRequest, invalid, ok, pageByToken, read } from './fake-api.ts';
import type { FakeRegion } from './fake-region.ts';

/** Network interfaces by id, with their addresses, the primary one first: of instances, and of pods. */
export function interfacesOf({ instances, podAddresses }: FakeRegion): ReadonlyMap<string, readonly string[]> {
  const all = new Map([...instances.values()].map((one) => [one.interfaceId, [one.address]]));
  for (const [address, id] of podAddresses) all.set(id, [...(all.get(id) ?? []), address]);
  return all;
}

/** Whether a server that is a network interface exists: without an address it is the primary one. */
export function isInterface(region: FakeRegion, { ServerId, ServerIp }: Json): boolean {
  const addresses = interfacesOf(region).get(String(ServerId));
  return addresses !== undefined && (!ServerIp || addresses.includes(String(ServerIp)));
}

export function describeInterfaces(region: FakeRegion, request: FakeRequest): FakeAnswer {
  const { params } = request;
  const asked = read(params, 'PrivateIpAddress').map(({ '': one }) => String(one));
  if (asked.length > 100) throw invalid('PrivateIpAddress');
  const isHere = (params.get('VpcId') ?? region.vpc) === region.vpc;
  const found = [...(isHere ? interfacesOf(region) : [])].filter(
    ([, addresses]) => asked.length === 0 || addresses.some((one) => asked.includes(one)),
  );
  const { items, paging } = pageByToken(
    found.map(([id, addresses]) => shown(region, id, addresses)),
    request,
    500,
  );
  return ok({ ...paging, NetworkInterfaceSets: { NetworkInterfaceSet: items } });
}

function shown(region: FakeRegion, id: string, addresses: readonly string[]): Json {
  const owner = [...region.instances.values()].find(({ interfaceId }) => interfaceId === id);
  return {
    NetworkInterfaceId: id,
    VpcId: region.vpc,
    VSwitchId: region.vswitch,
    Status: 'InUse',
    Type: owner === undefined ? 'Secondary' : 'Primary',
    InstanceId: owner?.id ?? '',
    ZoneId: 'cn-hangzhou-h',
    PrivateIpAddress: addresses[0],
    MacAddress: '00:16:3e:32:b4:03',
    PrivateIpSets: { PrivateIpSet: addresses.map((PrivateIpAddress, at) => ({ PrivateIpAddress, Primary: at === 0 })) },
  };
}
