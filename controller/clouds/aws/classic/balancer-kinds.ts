import {
  CreateLoadBalancerCommand,
  DeleteLoadBalancerCommand,
  ModifyLoadBalancerAttributesCommand,
  RemoveTagsCommand,
} from '@aws-sdk/client-elastic-load-balancing';
import type { Answer, Found, Kind, Want, WriteIo } from '../../../engine/resource.ts';
import { type Owner, ownerTags } from '../../load-balancers.ts';
import { tagFront } from '../adopted-parts.ts';
import { invalid } from '../errors.ts';
import { ownedBy, ownerTagsOf, sdkTags, type Tags, tagsFor } from '../load-balancer-tags.ts';
import type { LoadBalancerView } from '../load-balancer-view.ts';
import type { AwsParts } from '../parts.ts';
import { allowedIds } from '../security-groups/allowed-groups.ts';
import type { Carriers } from '../security-groups/carriers.ts';
import type { NetworkReads } from '../security-groups/network-reads.ts';
import { refuseClosedNodes } from '../security-groups/node-group.ts';
import type { SecurityGroupCalls } from '../security-groups/security-group-calls.ts';
import { chooseSubnets } from '../subnets.ts';
import { attributesChanged, describeAttributes } from './attributes.ts';
import { applyChange, type BalancerChange, idsOf, isNoInstance, type Send, sdkListener } from './balancer-calls.ts';
import { compareBalancer } from './balancer-changes.ts';
import { type BalancerSpec, freshBalancer, type Member } from './balancer-spec.ts';
import { type Attributes, type ClassicLoadBalancer, sdkAttributes } from './classic-load-balancer.ts';
import type { ClassicQueries } from './queries.ts';
import { carrierOf } from './queries.ts';
import { type AttributesBody, classicKinds, showAttributes, showBalancer } from './resources.ts';

export interface BalancerKindsParts {
  readonly parts: Pick<AwsParts, 'config' | 'context' | 'allowedGroups' | 'elb'>;
  readonly reads: NetworkReads;
  readonly carriers: Carriers;
  readonly groups: Pick<SecurityGroupCalls, 'carrying' | 'tag'>;
  readonly queries: Pick<ClassicQueries, 'get'>;
  readonly view: LoadBalancerView;
}

type FoundBalancer = Found<ClassicLoadBalancer>;

/** The load balancer itself, and its attributes. */
export function createClassicKinds(given: BalancerKindsParts) {
  const { parts, reads, carriers, queries, view } = given;
  const take = (one: ClassicLoadBalancer): Found => {
    carriers.take(carrierOf(one));
    return showBalancer(one, view);
  };

  function sender({ permit, signal }: WriteIo): Send {
    return (command) => parts.elb().change(command, { permit, signal });
  }

  /** Everything that one of ours carries. */
  function tagsOf(owner: Owner, { service, tags }: Pick<BalancerSpec, 'service' | 'tags'>): Tags {
    return tagsFor({ owner, service }, view.marks!.tags, tags);
  }

  const groupIds = (groups: readonly string[], carried: readonly string[], service: string, io: WriteIo) => {
    const permissions = { allowed: parts.allowedGroups, groups: reads.lastGroups() };
    return allowedIds(groups, { service, carried, operation: 'security groups' }, permissions, io);
  };

  async function create({ spec }: Want<BalancerSpec | undefined>, io: WriteIo): Promise<Answer> {
    const { signal, owner } = io;
    const { name, internal = false, listeners = [], ...asked } = spec!;
    const choice = chooseSubnets(await reads.subnets({ urgency: 'change', signal }), {
      internal,
      named: asked.namedSubnets,
      ipv6: false,
      fallback: parts.config.subnetId,
      isCluster: view.isCluster,
    });
    if ('problem' in choice) throw invalid('CreateLoadBalancer', choice.problem);
    const subnets = choice.subnets.map(({ id }) => id);
    const groups = groupIds(asked.groups, [], asked.service, io);
    const tags = tagsOf(owner, asked);
    const command = new CreateLoadBalancerCommand({
      LoadBalancerName: name,
      Listeners: listeners.map(sdkListener),
      Subnets: subnets,
      SecurityGroups: groups,
      ...(internal && { Scheme: 'internal' }),
      Tags: sdkTags(tags),
    });
    const make = () => sender(io)(command);
    const { DNSName: hostname } = await given.groups.carrying(name, groups, make);
    const fresh = freshBalancer({ ...spec!, subnets, groups });
    if (hostname === undefined) throw invalid('CreateLoadBalancer', `the answer has no DNSName for ${name}`);
    // With the defaults.
    return {
      id: hostname,
      found: [take({ ...fresh, hostname, tags }), showAttributes(hostname, { name, attributes: {} })],
    };
  }

  async function update({ body }: FoundBalancer, call: BalancerChange, io: WriteIo): Promise<Answer> {
    const send = sender(io);
    switch (call.does) {
      case 'ApplySecurityGroupsToLoadBalancer': {
        const service = body.tags[ownerTags.serviceName] ?? '';
        const groups = groupIds(call.input.SecurityGroups ?? [], body.securityGroups, service, io);
        const input = { ...call.input, SecurityGroups: groups };
        const make = () => applyChange(body, { ...call, input }, send);
        return { found: [take(await given.groups.carrying(body.name, groups, make))] };
      }
      case 'DeregisterInstancesFromLoadBalancer':
        try {
          return { found: [take(await applyChange(body, call, send))] };
        } catch (error) {
          // An instance that is gone, or is not there any more.
          if (!isNoInstance(error)) throw error;
          const there = await queries.get(body.name, { urgency: 'change', signal: io.signal });
          if (there === undefined || idsOf(call.input.Instances).some((id) => there.instances.includes(id)))
            throw error;
          return { found: [take(there)] };
        }
      default:
        if (call.does === 'RegisterInstancesWithLoadBalancer') await demandNodes(call.joining ?? [], io);
        return { found: [take(await applyChange(body, call, send))] };
    }
  }

  /** Their security groups tell what is to be let in, and whether it may be. */
  async function demandNodes(instances: readonly Member[], { signal }: WriteIo): Promise<void> {
    const ids = instances.map(({ id }) => id);
    await reads.instances(ids, { urgency: 'change', signal });
    if (parts.config.disableSecurityGroupIngress) return;
    const joining = new Map(instances.map(({ id, providerID }) => [id, providerID]));
    refuseClosedNodes(joining, view.facts(ids), 'RegisterInstancesWithLoadBalancer');
  }

  /** Our tags go when it says that it was kept: until then it is found by them. */
  async function mark(
    { body }: FoundBalancer,
    as: 'ours' | 'retained',
    want: Want<BalancerSpec | undefined> | undefined,
    io: WriteIo,
  ): Promise<Answer> {
    const service = body.tags[ownerTags.serviceName] ?? body.name;
    if (as === 'retained' && body.tags[ownerTags.retained] !== undefined) {
      const keys = [ownerTags.service, ownerTags.serviceName];
      const Tags = keys.map((Key) => ({ Key })) as [{ Key: string }];
      await sender(io)(new RemoveTagsCommand({ LoadBalancerNames: [body.name], Tags }));
      const left = Object.entries(body.tags).filter(([key]) => !keys.some((one) => one === key));
      return { found: [take({ ...body, tags: Object.fromEntries(left) })] };
    }
    const spec = want?.spec;
    // One that stays as it stands has no spec.
    const ours = () =>
      spec === undefined ? ownerTagsOf(io.owner, view.marks!.tags, body.tags) : tagsOf(io.owner, spec);
    const tags = as === 'ours' ? ours() : { [ownerTags.retained]: service };
    const marked = await applyChange(body, { does: 'AddTags', tags }, sender(io));
    // Its tags tell whose the group in front of it is, too.
    return { found: [take(marked), ...view.showGroups()] };
  }

  /** Of load balancers of this type alone. */
  const balancer: Kind<BalancerSpec | undefined, ClassicLoadBalancer> = {
    kind: classicKinds.balancer,
    retryCreate: 'atOnce',
    compare({ body, owner }, spec) {
      const isOurs = spec !== undefined && owner !== undefined && ownedBy(body.tags, owner);
      return compareBalancer(body, spec, isOurs ? tagsOf(owner, spec) : undefined);
    },
    fresh: (want) => ({ body: freshBalancer(want.spec!) }),
    create: (want, _, io) => create(want, io),
    update: (found, change, io) => update(found, change.body as BalancerChange, io),
    async remove(found, io) {
      const { body } = found;
      const tagged = found.owner === undefined ? await tagFront(found, given, io) : [];
      // Answers without a fault where there is none.
      await sender(io)(new DeleteLoadBalancerCommand({ LoadBalancerName: body.name }));
      carriers.removed({ id: body.hostname, name: body.name });
      return { found: tagged };
    },
    mark,
  };

  async function modify(id: string, there: AttributesBody, changed: Attributes, io: WriteIo): Promise<Answer> {
    const { name, attributes: before } = there;
    const request = { LoadBalancerName: name, LoadBalancerAttributes: sdkAttributes(changed) };
    await sender(io)(new ModifyLoadBalancerAttributesCommand(request));
    return { id, found: [showAttributes(id, { name, attributes: { ...before, ...changed } })] };
  }

  const attributes: Kind<AttributesBody | undefined, AttributesBody> = {
    kind: classicKinds.attributes,
    within: classicKinds.balancer,
    // A new one has the defaults.
    inline: true,
    needsOwnCreate: ({ spec }) => attributesChanged({}, spec!.attributes) !== undefined,
    retryCreate: 'atOnce',
    compare({ body }, spec) {
      const changed = spec && attributesChanged(body.attributes, spec.attributes);
      if (changed === undefined) return { same: true };
      const summary = describeAttributes(body.name, body.attributes, changed);
      return { changes: [{ what: 'attributes', phase: 'set', summary, body: changed }] };
    },
    create: ({ spec }, _, io) => {
      const { name, attributes } = spec!;
      return modify(io.within!, { name, attributes: {} }, attributesChanged({}, attributes) ?? {}, io);
    },
    update: ({ id, body }, change, io) => modify(id, body, change.body as Attributes, io),
  };
  return { balancer, attributes: attributes as Kind };
}
