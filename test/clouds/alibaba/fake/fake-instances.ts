import type { FakeAnswer, Json } from '../../fake-http.ts';
import { FakeRefusal, type FakeRequest, invalid, ok, pageByToken, required } from './fake-api.ts';
import type { FakeInstance, FakeRegion } from './fake-region.ts';

export function describeInstances(region: FakeRegion, request: FakeRequest): FakeAnswer {
  const { params } = request;
  const asked = params.get('InstanceIds');
  let ids: readonly string[] | undefined;
  if (asked !== undefined) {
    ids = JSON.parse(asked);
    if (!Array.isArray(ids) || ids.length > 100) throw invalid('InstanceIds');
    if (!ids.every((id) => /^i-[0-9a-z]+$/.test(id))) throw new FakeRefusal(400, 'InvalidInstanceIds.Malformed');
  }
  const name = params.get('InstanceName');
  const matching =
    name === undefined ? undefined : new RegExp(`^${name.replaceAll('.', '\\.').replaceAll('*', '.*')}$`);
  const found = [...region.instances.values()].filter(
    (one) => !region.hidden.has(one.id) && (ids?.includes(one.id) ?? true) && (matching?.test(one.name) ?? true),
  );
  const { items, paging } = pageByToken(
    found.map((one) => shown(region, one)),
    request,
    100,
  );
  return ok({ ...paging, TotalCount: 0, PageNumber: 0, PageSize: 0, Instances: { Instance: items } });
}

export function describeInstance(region: FakeRegion, request: FakeRequest): FakeAnswer {
  const one = region.instances.get(required(request, 'InstanceId'));
  if (one === undefined)
    throw new FakeRefusal(404, 'InvalidInstanceId.NotFound', 'The specified InstanceId does not exist.');
  return ok({ InstanceId: one.id, InstanceName: one.name, Status: one.status, RegionId: region.id });
}

function shown(region: FakeRegion, one: FakeInstance): Json {
  return {
    InstanceId: one.id,
    InstanceName: one.name,
    HostName: one.name,
    Status: one.status,
    RegionId: region.id,
    ZoneId: one.zone,
    InstanceType: one.type,
    InstanceNetworkType: 'vpc',
    CreationTime: '2026-02-08T16:02Z',
    PublicIpAddress: { IpAddress: one.publicAddress === '' ? [] : [one.publicAddress] },
    EipAddress: { IpAddress: one.eip, AllocationId: one.eip === '' ? '' : 'eip-2ze88m67qx5z', Bandwidth: 5 },
    InnerIpAddress: { IpAddress: [] },
    VpcAttributes: {
      VpcId: region.vpc,
      VSwitchId: region.vswitch,
      NatIpAddress: '',
      PrivateIpAddress: { IpAddress: [one.address] },
    },
    NetworkInterfaces: {
      NetworkInterface: [
        {
          NetworkInterfaceId: one.interfaceId,
          Type: 'Primary',
          PrimaryIpAddress: one.address,
          MacAddress: '00:16:3e:32:b4:01',
          Ipv6Sets: { Ipv6Set: one.ipv6.map((ip) => ({ Ipv6Address: ip })) },
          PrivateIpSets: { PrivateIpSet: [{ PrivateIpAddress: one.address, Primary: true }] },
        },
        {
          NetworkInterfaceId: `${one.interfaceId}s`,
          Type: 'Secondary',
          PrimaryIpAddress: '10.244.255.9',
          MacAddress: '00:16:3e:32:b4:02',
          Ipv6Sets: { Ipv6Set: [{ Ipv6Address: '2001:db8::dead' }] },
          PrivateIpSets: { PrivateIpSet: [] },
        },
      ],
    },
    Tags: { Tag: Object.entries(one.tags).map(([TagKey, TagValue]) => ({ TagKey, TagValue })) },
    SecurityGroupIds: { SecurityGroupId: ['sg-bp67acfmxazb4p'] },
    OperationLocks: {},
  };
}
