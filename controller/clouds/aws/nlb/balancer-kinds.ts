import {
  CreateLoadBalancerCommand,
  DeleteLoadBalancerCommand,
  ModifyLoadBalancerAttributesCommand,
  SetIpAddressTypeCommand,
  SetSecurityGroupsCommand,
  SetSubnetsCommand,
  type SubnetMapping,
} from '@aws-sdk/client-elastic-load-balancing-v2';
import { CloudError } from '../../../../common/cloud-error.ts';
import type { Answer, Found, Kind, WriteIo } from '../../../engine/resource.ts';
import { ownerTags } from '../../load-balancers.ts';
import { tagFront, tagTargetGroups } from '../adopted-parts.ts';
import { invalid } from '../errors.ts';
import { keys } from '../load-balancer-annotations.ts';
import { ownedBy, sdkTags, serviceNameTag, type Tags } from '../load-balancer-tags.ts';
import type { LoadBalancerView } from '../load-balancer-view.ts';
import type { AwsParts } from '../parts.ts';
import { allowedIds, type GroupsUse } from '../security-groups/allowed-groups.ts';
import type { Carrier, Carriers } from '../security-groups/carriers.ts';
import type { NetworkReads } from '../security-groups/network-reads.ts';
import type { SecurityGroupCalls } from '../security-groups/security-group-calls.ts';
import { chooseSubnets } from '../subnets.ts';
import { loadBalancerOf } from './answers.ts';
import { addressChange, type NetworkSpec, networkChanges, type PlaceSpec } from './balancer-spec.ts';
import type { TagMarks } from './marks.ts';
import type { AttributeList, NetworkLoadBalancer } from './network-load-balancer.ts';
import type { NlbQueries } from './queries.ts';
import { attributeChanges, comparison, networkKinds, showDetail, showNetworkBalancer } from './resources.ts';

const defaultAttributes = { 'load_balancing.cross_zone.enabled': 'false', 'access_logs.s3.enabled': 'false' };

export interface NetworkKindsParts {
  readonly parts: Pick<AwsParts, 'config' | 'context' | 'allowedGroups' | 'elbv2'>;
  readonly reads: NetworkReads;
  readonly carriers: Carriers;
  readonly groups: Pick<SecurityGroupCalls, 'carrying' | 'tag'>;
  readonly queries: NlbQueries;
  readonly marks: TagMarks;
  readonly view: LoadBalancerView;
}

/** As a list of both types shows it. */
export function carrierOf({ arn, name, hostname, securityGroups, tags }: NetworkLoadBalancer): Carrier {
  return { name, id: arn, hostname, groups: securityGroups, tags };
}

/** The load balancer itself, and its attributes. */
export function createNetworkBalancerKinds(given: NetworkKindsParts) {
  const { parts, reads, carriers, queries, marks, view } = given;
  const options = ({ permit, signal }: WriteIo) => ({ permit, signal });

  function take(balancer: NetworkLoadBalancer): Found {
    carriers.take(carrierOf(balancer));
    return showNetworkBalancer(balancer, view);
  }

  const groupIds = (groups: readonly string[], use: GroupsUse, io: WriteIo) =>
    allowedIds(groups, use, { allowed: parts.allowedGroups, groups: reads.lastGroups() }, io);

  async function create(spec: NetworkSpec, io: WriteIo): Promise<Answer> {
    const { name, service, addressType } = spec;
    const scheme = spec.scheme ?? 'internet-facing';
    const groups = groupIds(spec.groups ?? [], { service, carried: [], operation: 'CreateLoadBalancer' }, io);
    const tags = marks.of(io.owner, spec);
    const command = new CreateLoadBalancerCommand({
      Name: name,
      Type: 'network',
      Scheme: scheme,
      IpAddressType: addressType,
      SubnetMappings: (await placesFor(spec.place, scheme === 'internal', addressType, io)).map(
        ({ mapping }) => mapping,
      ),
      ...(groups.length > 0 && { SecurityGroups: groups }),
      Tags: sdkTags(tags),
    });
    const make = () => parts.elbv2().change(command, options(io));
    const { LoadBalancers } = await given.groups.carrying(name, groups, make);
    const [answer] = LoadBalancers ?? [];
    if (answer?.LoadBalancerArn === undefined) throw invalid('CreateLoadBalancer', `the answer has no ARN for ${name}`);
    const made = loadBalancerOf(answer, tags);
    // With the defaults, of which what differs is one of its first changes.
    return {
      id: made.arn,
      found: [take(made), showDetail(networkKinds.attributes, made.arn, { name, attributes: {} })],
    };
  }

  /** One for each subnet, in the order of their zones. */
  async function placesFor(
    place: PlaceSpec | undefined,
    internal: boolean,
    addressType: string,
    { signal }: WriteIo,
  ): Promise<NewPlace[]> {
    const { subnets = [], eips = [], privateAddresses = [] } = place ?? {};
    const choice = chooseSubnets(await reads.subnets({ urgency: 'change', signal }), {
      internal,
      named: subnets,
      ipv6: addressType === 'dualstack',
      isCluster: view.isCluster,
      fallback: parts.config.subnetId,
    });
    const operation = 'CreateLoadBalancer';
    if ('problem' in choice)
      throw invalid(operation, subnets.length > 0 ? `${keys.subnets}: ${choice.problem}` : choice.problem);
    const { length } = choice.subnets;
    for (const [key, asked] of [
      [keys.eipAllocations, eips],
      [keys.privateAddresses, privateAddresses],
    ] as const) {
      if (asked.length === 0 || asked.length === length) continue;
      const expected = `expected ${length}: one for each of ${choice.subnets.map(({ id }) => id).join(', ')}`;
      throw invalid(operation, `${key}: ${asked.length} given, ${expected}`);
    }
    return choice.subnets.map(({ id: SubnetId, zone }, at) => ({
      zone,
      mapping: {
        SubnetId,
        ...(eips[at] !== undefined && { AllocationId: eips[at] }),
        ...(privateAddresses[at] !== undefined && { PrivateIPv4Address: privateAddresses[at] }),
      },
    }));
  }

  async function update({ body: there }: Found<NetworkLoadBalancer>, what: string, body: unknown, io: WriteIo) {
    const LoadBalancerArn = there.arn;
    switch (what) {
      case 'attributes': {
        const attributes = body as Tags;
        await modifyAttributes(there.arn, attributes, io);
        return {
          found: [take(there), showDetail(networkKinds.attributes, there.arn, { name: there.name, attributes })],
        };
      }
      case 'security groups': {
        const service = there.tags[ownerTags.serviceName] ?? '';
        const use = { service, carried: there.securityGroups, operation: 'SetSecurityGroups' };
        const groups = groupIds(body as string[], use, io);
        const command = new SetSecurityGroupsCommand({ LoadBalancerArn, SecurityGroups: groups });
        const make = () => parts.elbv2().change(command, options(io));
        await given.groups.carrying(there.name, groups, make);
        return { found: [take({ ...there, securityGroups: groups })] };
      }
      case 'subnets': {
        const isInternal = there.scheme === 'internal';
        const { place } = body as Pick<NetworkSpec, 'place'>;
        const asked = await placesFor(place, isInternal, there.addressType, io);
        const SubnetMappings = nextMappings(there.places, asked);
        const command = new SetSubnetsCommand({ LoadBalancerArn, SubnetMappings });
        const answer = await parts.elbv2().change(command, options(io));
        const { places } = loadBalancerOf({ AvailabilityZones: answer.AvailabilityZones ?? [] }, {});
        return { found: [take({ ...there, places })] };
      }
      case 'address type': {
        const addressType = body as NetworkSpec['addressType'];
        const command = new SetIpAddressTypeCommand({ LoadBalancerArn, IpAddressType: addressType });
        await parts.elbv2().change(command, options(io));
        return { found: [take({ ...there, addressType })] };
      }
      default: {
        await marks.add(there.arn, body as Tags, io);
        return { found: [take({ ...there, tags: { ...there.tags, ...(body as Tags) } })] };
      }
    }
  }

  async function modifyAttributes(LoadBalancerArn: string, attributes: Tags, io: WriteIo): Promise<void> {
    const command = new ModifyLoadBalancerAttributesCommand({ LoadBalancerArn, Attributes: sdkTags(attributes) });
    await parts.elbv2().change(command, options(io));
  }

  /** Its listeners go with it: those of others are looked for right before. */
  async function remove(found: Found<NetworkLoadBalancer>, io: WriteIo): Promise<Answer> {
    const { arn, name, tags } = found.body;
    const groups = view.targetGroupsOf(io.owner);
    const listeners = await queries.listeners(arn, { urgency: 'change', signal: io.signal }, groups);
    const others = listeners.filter(({ tags: its }) => {
      // The classic controller marks all that it makes for one Service alike.
      const service = its[ownerTags.cluster] === undefined ? its[serviceNameTag] : undefined;
      const isOfClassic = service !== undefined && service === tags[serviceNameTag];
      return !ownedBy(its, io.owner) && !isOfClassic;
    });
    if (others.length > 0) {
      const ports = others.map(({ protocol, port }) => `${protocol} ${port}`).join(', ');
      const message = `load balancer ${name} stays: listeners ${ports} belong to others`;
      throw new CloudError({ kind: 'Conflict', cloud: 'aws', operation: 'DeleteLoadBalancer', message });
    }
    const isMarked = found.owner !== undefined;
    const targetGroups = isMarked ? [] : await tagTargetGroups(found, given, io);
    const front = isMarked ? [] : await tagFront(found, given, io);
    await parts.elbv2().change(new DeleteLoadBalancerCommand({ LoadBalancerArn: arn }), options(io));
    carriers.removed({ id: arn, name });
    view.forwards.gone(arn);
    return { found: [...targetGroups, ...front] };
  }

  const balancer: Kind<NetworkSpec | undefined, NetworkLoadBalancer> = {
    kind: networkKinds.balancer,
    retryCreate: 'atOnce',
    compare(found, spec) {
      if (spec === undefined) return { same: true };
      const other = addressChange(found.body, spec);
      if (other !== undefined) return { replace: other, order: 'deleteFirst' };
      const { name, attributes: asked } = spec;
      // Of one that was just made; of others they are a resource of their own.
      const attributes = found.id === '' ? attributesDiffering({ name, attributes: {} }, asked) : [];
      return comparison([...networkChanges(found.body, spec), ...attributes, ...marks.changes(found, spec, name)]);
    },
    fresh: ({ spec }) => ({ body: freshBalancer(spec!) }),
    create: ({ spec }, _, io) => create(spec!, io),
    update: (found, { what, body }, io) => update(found, what, body, io),
    remove,
    async mark(found, as, want, io) {
      const targetGroups = as === 'ours' ? await tagTargetGroups(found, given, io) : [];
      return { found: [...targetGroups, take(await marks.mark(found, as, want, io))] };
    },
  };

  const attributes: Kind<Tags | undefined, AttributeList> = {
    kind: networkKinds.attributes,
    within: networkKinds.balancer,
    // A new one has the defaults, and what differs is one of its first changes.
    inline: true,
    retryCreate: 'atOnce',
    compare: ({ body }, asked) => comparison(asked === undefined ? [] : attributesDiffering(body, asked)),
    async update({ id, body }, change, io) {
      const changed = change.body as Tags;
      await modifyAttributes(id, changed, io);
      return {
        found: [showDetail(networkKinds.attributes, id, { ...body, attributes: { ...body.attributes, ...changed } })],
      };
    },
  };
  return { balancer, attributes: attributes as Kind };
}

interface NewPlace {
  readonly zone: string;
  readonly mapping: SubnetMapping;
}

/**
 * What the next call may ask for on the way to `asked`. AWS takes no second subnet of a zone, so one zone after another
 * gives up its subnet in one call and takes the new one in the next; zones without one join first. Throws where none
 * would serve meanwhile.
 */
function nextMappings(there: NetworkLoadBalancer['places'], asked: readonly NewPlace[]): SubnetMapping[] {
  const oldOf = ({ zone, mapping }: NewPlace) =>
    there.find((one) => one.zone === zone && one.subnet !== mapping.SubnetId)?.subnet;
  const [first, ...exchanged] = asked.filter((one) => oldOf(one) !== undefined);
  if (first === undefined) return asked.map(({ mapping }) => mapping);
  const others = asked.filter((one) => oldOf(one) === undefined).map(({ mapping }) => mapping);
  const isJoining = others.some(({ SubnetId }) => !there.some(({ subnet }) => subnet === SubnetId));
  const kept = isJoining ? [first, ...exchanged] : exchanged;
  const left = [...others, ...kept.map((one) => ({ SubnetId: oldOf(one) }))];
  const isNamed = asked.some(({ mapping }) => mapping.AllocationId ?? mapping.PrivateIPv4Address);
  if (left.length > 0 && !isNamed) return left;
  const why = isNamed
    ? 'with addresses that are named it cannot'
    : 'nothing would serve meanwhile: add another zone first';
  const said = `${first.mapping.SubnetId} is in the zone of ${oldOf(first)}, which has to go before, and ${why}`;
  throw invalid('SetSubnets', `${keys.subnets}: ${said}`);
}

/** As it is right after it was made. */
function freshBalancer({ name, scheme, addressType, groups, place }: NetworkSpec): NetworkLoadBalancer {
  const address = { eip: undefined, privateAddress: undefined };
  const places = (place?.subnets ?? []).map((subnet) => ({ zone: '', subnet, ...address }));
  return {
    arn: '',
    name,
    type: 'network',
    hostname: '',
    scheme: scheme ?? 'internet-facing',
    state: 'provisioning',
    vpcId: '',
    addressType,
    places,
    securityGroups: groups ?? [],
    createdAtMs: undefined,
    tags: {},
  };
}

function attributesDiffering({ name, attributes: there }: AttributeList, asked: Tags) {
  return attributeChanges(`attributes of ${name}`, { there, asked, defaults: defaultAttributes });
}
