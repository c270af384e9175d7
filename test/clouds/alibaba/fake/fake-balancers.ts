import type { FakeAnswer, Json } from '../../fake-http.ts';
import { FakeRefusal, type FakeRequest, invalid, notFound, ok, pageByNumber, read, required } from './fake-api.ts';
import type { FakeBalancer, FakeRegion } from './fake-region.ts';

export function balancerOf(region: FakeRegion, request: FakeRequest): FakeBalancer {
  const one = region.balancers.get(required(request, 'LoadBalancerId'));
  if (one === undefined) throw notFound('InvalidLoadBalancerId.NotFound');
  return one;
}

/** One that takes a change now: it is then busy for a while. */
export function changing(region: FakeRegion, one: FakeBalancer): void {
  if (region.now() < one.busyUntil)
    throw new FakeRefusal(400, 'OperationFailed.IncorrectStatus', 'the load balancer is being configured');
  one.busyUntil = region.now() + region.busyMs;
}

export function tagsOf(request: FakeRequest): Map<string, string> {
  const tags = new Map(read(request.params, 'Tag').map((tag) => [String(tag['Key']), String(tag['Value'] ?? '')]));
  if (tags.size > 20) throw new FakeRefusal(400, 'NumberExceed.Tags');
  for (const [key, value] of tags)
    if (key === '' || key.length > 128 || value.length > 128 || /^(aliyun|acs:)/.test(key)) throw invalid('Tag');
  return tags;
}

export function shownTags(tags: ReadonlyMap<string, string>) {
  return [...tags].map(([TagKey, TagValue]) => ({ TagKey, TagValue }));
}

export function describeBalancers(region: FakeRegion, request: FakeRequest): FakeAnswer {
  const { params } = request;
  const ids = params.get('LoadBalancerId')?.split(',');
  if (ids !== undefined && ids.length > 10) throw invalid('LoadBalancerId');
  const tags = tagsOf(request);
  const found = [...region.balancers.values()].filter(
    (one) =>
      !region.hidden.has(one.id) &&
      (ids?.includes(one.id) ?? true) &&
      (params.get('LoadBalancerName') ?? one.wire['LoadBalancerName']) === one.wire['LoadBalancerName'] &&
      [...tags].every(([key, value]) => one.tags.get(key) === value),
  );
  const { items, paging } = pageByNumber(found.map(shown), request, 100);
  return ok({ ...paging, LoadBalancers: { LoadBalancer: items } });
}

export function describeBalancer(region: FakeRegion, request: FakeRequest): FakeAnswer {
  return ok(shown(balancerOf(region, request)));
}

export function shown({ id, wire, tags }: FakeBalancer): Json {
  return { LoadBalancerId: id, ...wire, Tags: { Tag: shownTags(tags) } };
}

const byUse = { InstanceChargeType: 'PayByCLCU', LoadBalancerSpec: 'slb.lcu.elastic' };

export function createBalancer(region: FakeRegion, request: FakeRequest): FakeAnswer {
  const { params } = request;
  if (region.balancers.size >= region.maxBalancers)
    throw new FakeRefusal(400, 'QuotaExceeded.LoadBalancer', 'the quota of load balancers is used up');
  const type = params.get('AddressType') ?? 'internet';
  if (type === 'intranet' && !params.get('VSwitchId')) throw new FakeRefusal(400, 'MissingParam.VSwitchId');
  const id = region.nextId('lb');
  const number = Number(/\d+$/.exec(id)![0]) % 60_000;
  const usual = `${type === 'internet' ? '121.40' : '172.17'}.${(number >> 8) % 250}.${(number % 250) + 1}`;
  const Address = params.get('Address') ?? usual;
  const now = region.now();
  region.balancers.set(id, {
    id,
    tags: tagsOf(request),
    listeners: new Map(),
    groups: new Map(),
    busyUntil: now + region.busyMs,
    wire: {
      LoadBalancerName: params.get('LoadBalancerName') ?? `auto_named_slb`,
      LoadBalancerStatus: 'active',
      Address,
      AddressType: type,
      AddressIPVersion: params.get('AddressIPVersion') ?? 'ipv4',
      RegionId: region.id,
      VSwitchId: params.get('VSwitchId') ?? '',
      VpcId: params.get('VpcId') ?? '',
      NetworkType: 'vpc',
      MasterZoneId: params.get('MasterZoneId') ?? 'cn-hangzhou-h',
      InternetChargeType: '4',
      SlaveZoneId: params.get('SlaveZoneId') ?? 'cn-hangzhou-g',
      PayType: 'PayOnDemand',
      InternetChargeTypeAlias: 'paybytraffic',
      Bandwidth: 5120,
      CreateTimeStamp: now,
      // Since June 2025 no other ones are sold.
      ResourceGroupId: params.get('ResourceGroupId') ?? 'rg-d',
      ...byUse,
      DeleteProtection: params.get('DeleteProtection') ?? 'off',
      CreateTime: new Date(now).toISOString(),
      ModificationProtectionStatus: params.get('ModificationProtectionStatus') ?? 'NonProtection',
    },
  });
  return ok({ LoadBalancerId: id, Address, LoadBalancerName: params.get('LoadBalancerName'), NetworkType: 'vpc' });
}

/** Any action that sets fields of a load balancer under the names that they are shown with. */
export function setBalancer(region: FakeRegion, request: FakeRequest): FakeAnswer {
  const one = balancerOf(region, request);
  if (one.wire['InstanceChargeType'] === 'PayByCLCU' && request.params.get('InstanceChargeType') === 'PayBySpec')
    throw new FakeRefusal(400, 'OperationDenied.InstanceChargeType', 'the charge type cannot be changed to PayBySpec');
  changing(region, one);
  for (const [name, value] of request.params) {
    if (name === 'LoadBalancerId' || name === 'RegionId' || name === 'Bandwidth') continue;
    one.wire[name === 'InternetChargeType' ? 'InternetChargeTypeAlias' : name] = value;
  }
  const bandwidth = request.params.get('Bandwidth');
  if (one.wire['InstanceChargeType'] === 'PayByCLCU')
    Object.assign(one.wire, { ...byUse, InternetChargeTypeAlias: 'paybytraffic' });
  if (bandwidth && one.wire['InternetChargeTypeAlias'] === 'paybybandwidth') one.wire['Bandwidth'] = Number(bandwidth);
  return ok({});
}

export function deleteBalancer(region: FakeRegion, request: FakeRequest): FakeAnswer {
  const one = balancerOf(region, request);
  if (one.wire['DeleteProtection'] === 'on')
    throw new FakeRefusal(400, 'OperationUnsupported.DeleteProtection', 'delete protection is on');
  changing(region, one);
  region.balancers.delete(one.id);
  return ok({});
}

export function tagResources(region: FakeRegion, request: FakeRequest): FakeAnswer {
  const type = required(request, 'ResourceType');
  for (const { '': id } of read(request.params, 'ResourceId')) {
    const one = type === 'acl' ? region.lists.get(String(id)) : region.balancers.get(String(id));
    if (one === undefined) throw notFound('InvalidResourceId.NotFound');
    for (const [key, value] of tagsOf(request)) one.tags.set(key, value);
  }
  return ok({});
}
