import { isIP } from 'node:net';
import { CloudError, isCloudError } from '../../../common/cloud-error.ts';
import type { NodeAddress } from '../../../common/instance.ts';
import { alibaba } from '../../../common/provider-id/alibaba.ts';
import type { AnswerFields } from '../answer-fields.ts';
import { pairsIn } from '../answer-values.ts';
import { canonical } from '../ip-address.ts';
import { type Machines, type Seen, seenById } from '../machines.ts';
import { chunks, inParallel } from '../parallel.ts';
import type { Urgency } from '../urgency.ts';
import type { AlibabaClient, Params } from './client.ts';
import { cloud, codeOf, invalid } from './fault.ts';

/** The most that one call takes. */
const idsAtOnce = 100;
const callsAtOnce = 4;
const action = 'DescribeInstances';

export function describeInstances(
  client: AlibabaClient,
  params: Params,
  urgency: Urgency,
  signal: AbortSignal | undefined,
): Promise<readonly AnswerFields[]> {
  return client.list({ product: 'ecs', action, params, urgency, signal, items: ['Instances', 'Instance'] });
}

/** ECS instances of one region, for one pass: a hundred ids a call. */
export function createInstances(client: AlibabaClient): Machines {
  const seenIn = (items: readonly AnswerFields[]) =>
    seenById(
      items,
      (one) => one.text('InstanceId'),
      (one) => readInstance(one, 'list'),
    );

  return {
    holds: () => true,
    async all(ids, signal) {
      const lists = await inParallel(callsAtOnce, chunks(ids, idsAtOnce), (some) =>
        describeInstances(client, { InstanceIds: JSON.stringify(some) }, 'refresh', signal),
      );
      return seenIn(lists.flat());
    },
    async named(names, signal) {
      const lists = await inParallel(callsAtOnce, names, (name) =>
        describeInstances(client, { InstanceName: name }, 'need', signal),
      );
      return [...(await seenIn(lists.flat())).values()];
    },
    async get(id, signal) {
      const params = { InstanceIds: JSON.stringify([id]), MaxResults: idsAtOnce };
      const answer = await client.call({ product: 'ecs', action, params, signal }).catch(asInvalid(action));
      // An answer without a list proves nothing.
      const [found] = answer.object('Instances').objects('Instance');
      if (found !== undefined) return readInstance(found, 'id');
      // A list may leave out what the policy does not show.
      const proof = 'DescribeInstanceAttribute';
      const request = { product: 'ecs', action: proof, params: { InstanceId: id }, signal } as const;
      await client.call(request).catch((error: unknown) => {
        if (codeOf(error) === 'InvalidInstanceId.NotFound') throw error;
        return asInvalid(proof)(error);
      });
      const message = `${id} exists, and the list for that very id does not show it`;
      throw new CloudError({ kind: 'Unavailable', cloud, operation: action, message });
    },
  };
}

/** `NotFound` is said of something else, too, as of the role of the credential. */
function asInvalid(operation: string): (error: unknown) => never {
  return (error) => {
    throw isCloudError(error) && error.kind === 'NotFound' ? invalid(operation, error.message) : error;
  };
}

function readInstance(one: AnswerFields, request: 'list' | 'id'): Seen {
  const [id, region, status] = [one.text('InstanceId'), one.text('RegionId'), one.text('Status')];
  const name = one.optionalText('InstanceName') ?? id;
  return {
    state: 'found',
    power: status === 'Running' ? 'running' : status === 'Stopped' ? 'stopped' : 'changing',
    request,
    instance: {
      cloud,
      id,
      name,
      incarnation: id,
      providerID: alibaba.print({ instanceId: id, region }),
      region,
      zone: one.text('ZoneId'),
      type: one.text('InstanceType'),
      addresses: addressesOf(one, name),
      tags: pairsIn(one.optionalObject('Tags'), 'Tag', ['TagKey', 'TagValue']),
    },
  };
}

/** As the agent reports them: of interfaces the first IPv6 address of the primary one, because others are pods'. */
function addressesOf(one: AnswerFields, name: string): NodeAddress[] {
  const texts = (fields: AnswerFields | undefined) =>
    fields?.json()['IpAddress'] === undefined ? [] : fields.texts('IpAddress');
  const vpc = one.optionalObject('VpcAttributes')?.optionalObject('PrivateIpAddress');
  const eip = one.optionalObject('EipAddress')?.optionalText('IpAddress');
  const interfaces = one.optionalObject('NetworkInterfaces')?.optionalObjects('NetworkInterface') ?? [];
  const primary = interfaces.find((each) => each.optionalText('Type') === 'Primary');
  const ipv6 = primary?.optionalObject('Ipv6Sets')?.optionalObjects('Ipv6Set')[0]?.text('Ipv6Address');
  const external = [...texts(one.optionalObject('PublicIpAddress')), ...(eip === undefined ? [] : [eip])];
  const internal = [...texts(vpc), ...texts(one.optionalObject('InnerIpAddress'))];
  return [
    ...internal.map((address) => ({ type: 'InternalIP' as const, address: addressOf(address) })),
    ...[...new Set(external)].map((address) => ({ type: 'ExternalIP' as const, address: addressOf(address) })),
    ...(ipv6 === undefined ? [] : [{ type: 'InternalIP' as const, address: addressOf(ipv6) }]),
    { type: 'Hostname', address: one.optionalText('HostName') ?? name },
  ];
}

function addressOf(text: string): string {
  if (isIP(text) !== 0) return canonical(text);
  const message = `address: ${JSON.stringify(text)}, expected an IP address`;
  throw new CloudError({ kind: 'Invalid', cloud, operation: action, message });
}
