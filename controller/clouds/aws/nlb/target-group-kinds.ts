import {
  CreateTargetGroupCommand,
  DeleteTargetGroupCommand,
  DeregisterTargetsCommand,
  ModifyTargetGroupAttributesCommand,
  ModifyTargetGroupCommand,
  RegisterTargetsCommand,
} from '@aws-sdk/client-elastic-load-balancing-v2';
import { CloudError, isCloudError } from '../../../../common/cloud-error.ts';
import { aws } from '../../../../common/provider-id/aws.ts';
import type { Answer, Change, Found, Kind, WriteIo } from '../../../engine/resource.ts';
import { codeOf } from '../errors.ts';
import { createInUse } from '../in-use.ts';
import { sdkTags, type Tags } from '../load-balancer-tags.ts';
import { givenUp, type LoadBalancerView } from '../load-balancer-view.ts';
import type { AwsParts } from '../parts.ts';
import type { NetworkReads } from '../security-groups/network-reads.ts';
import { refuseClosedNodes } from '../security-groups/node-group.ts';
import { targetGroupOf } from './answers.ts';
import type { DesiredGroup } from './desired-listeners.ts';
import type { TagMarks } from './marks.ts';
import type { AttributeList, Health, TargetGroup, TargetList } from './network-load-balancer.ts';
import type { NlbQueries } from './queries.ts';
import { comparison, networkKinds, showDetail, showTargetGroup } from './resources.ts';
import {
  compareAttributes,
  compareTargets,
  defaultAttributes,
  type FirstTargets,
  firstChanges,
  type NewTarget,
  type TargetChange,
  type TargetGroupSpec,
  type TargetsSpec,
  withChange,
} from './target-group-spec.ts';

/** How soon a target group can be deleted that a deleted listener still uses; after that another one does. */
const patience = { firstMs: 5000, longestMs: 60_000, wholeMs: 120_000 };
/** The group is full. */
const tooMany = 'TooManyTargets';

export interface TargetGroupKindsParts {
  readonly parts: Pick<AwsParts, 'context' | 'config' | 'elbv2'>;
  readonly reads: Pick<NetworkReads, 'vpc' | 'instances'>;
  readonly queries: Pick<NlbQueries, 'targets'>;
  readonly marks: TagMarks;
  readonly view: LoadBalancerView;
}

export function createTargetGroupKinds({ parts, reads, queries, marks, view }: TargetGroupKindsParts): readonly Kind[] {
  const elbv2 = () => parts.elbv2();
  const inUse = createInUse(parts.context.clock, patience);
  const options = ({ permit, signal }: WriteIo) => ({ permit, signal });

  function take(group: TargetGroup): Found {
    view.noteTargetGroups([group], false);
    return showTargetGroup(group, view);
  }

  async function create(spec: TargetGroupSpec, io: WriteIo): Promise<Answer> {
    const { name, protocol, nodePort, targetType, ipType, health } = spec.group;
    const tags = marks.of(io.owner, spec);
    const command = new CreateTargetGroupCommand({
      Name: name,
      Protocol: protocol as 'TCP',
      Port: nodePort,
      TargetType: targetType,
      VpcId: spec.vpcId ?? (await reads.vpc({ urgency: 'change', signal: io.signal })),
      ...(ipType === 'ipv6' && { IpAddressType: 'ipv6' }),
      ...healthRequest({ ...health, timeout: health.timeout ?? fittingTimeout(health) }),
      Tags: sdkTags(tags),
    });
    const { TargetGroups } = await elbv2().change(command, options(io));
    const made = targetGroupOf(TargetGroups?.[0] ?? {}, tags);
    const attributes = defaultAttributes(spec.group);
    const shown = [
      showDetail(networkKinds.targets, made.arn, { name, targets: [] }),
      showDetail(networkKinds.groupAttributes, made.arn, { name, attributes }),
    ];
    return { id: made.arn, found: [take(made), ...shown] };
  }

  async function setAttributes(arn: string, there: AttributeList, changed: Tags, io: WriteIo): Promise<Answer> {
    const request = { TargetGroupArn: arn, Attributes: sdkTags(changed) };
    await elbv2().change(new ModifyTargetGroupAttributesCommand(request), options(io));
    return {
      found: [
        showDetail(networkKinds.groupAttributes, arn, { ...there, attributes: { ...there.attributes, ...changed } }),
      ],
    };
  }

  async function change(arn: string, there: TargetList, call: TargetChange, io: WriteIo): Promise<Answer> {
    if (call.does === 'register') {
      const isComplete = await register(arn, call.targets, call.trusted, io);
      // Read again, it shows whom it took.
      if (!isComplete) return {};
    } else {
      try {
        const command = new DeregisterTargetsCommand({ TargetGroupArn: arn, Targets: call.ids.map((Id) => ({ Id })) });
        await elbv2().change(command, options(io));
      } catch (error) {
        if (codeOf(error) !== 'InvalidTarget') throw error;
        // AWS itself lets go of an instance that is terminated.
        const left = await queries.targets(arn, { urgency: 'change', signal: io.signal });
        if (left.some(({ id }) => call.ids.includes(id))) throw error;
      }
    }
    return { found: [showDetail(networkKinds.targets, arn, withChange(there, call))] };
  }

  /** Whether all are registered: a group with too little room gets as many as it takes. Throws where it takes none. */
  async function register(
    TargetGroupArn: string,
    targets: readonly NewTarget[],
    trusted: readonly string[],
    io: WriteIo,
  ): Promise<boolean> {
    const members = new Map(targets.map(({ providerID }) => [instanceOf(providerID), providerID]));
    const ids = [...members.keys()];
    // Their security groups tell what is to be let in, and whether it may be.
    await reads.instances(ids, { urgency: 'change', signal: io.signal });
    // A member of this Service is one for its other ports, too.
    for (const id of trusted) members.delete(id);
    if (!parts.config.disableSecurityGroupIngress) refuseClosedNodes(members, view.facts(ids), 'RegisterTargets');
    let registered = 0;
    let most = targets.length;
    while (registered < targets.length) {
      const some = targets.slice(registered, registered + most);
      const command = new RegisterTargetsCommand({ TargetGroupArn, Targets: some.map(({ id }) => ({ Id: id })) });
      try {
        await elbv2().change(command, options(io));
        registered += some.length;
      } catch (error) {
        const isFull = codeOf(error) === tooMany;
        if (!isFull || (registered === 0 && most === 1)) throw refusedTargets(error, targets);
        if (most === 1) return false;
        // AWS takes all targets of a call, or none. A group that stays full is asked again and again: in few calls.
        most = Math.ceil(most / 10);
      }
    }
    return true;
  }

  const group: Kind<TargetGroupSpec | undefined, TargetGroup> = {
    kind: networkKinds.targetGroup,
    retryCreate: 'atOnce',
    compare(found, spec) {
      if (spec === undefined) return { same: true };
      const { body: there } = found;
      const { name, health } = spec.group;
      const changes: Change[] = [...marks.changes(found, spec, `target group ${name}`)];
      if (!isSameHealth(health, there.health)) {
        const summary = `target group ${name}: probe from ${describe(there.health)} to ${describe(health)}`;
        changes.push({ what: 'health check', phase: 'set', summary, body: health });
      }
      // Of one that was just made; of others these are a resource of their own.
      if (found.id === '') changes.push(...firstChanges(spec));
      return comparison(changes);
    },
    fresh: ({ spec }) => ({ body: freshGroup(spec!) }),
    create: ({ spec }, _, io) => create(spec!, io),
    async update({ body: there }, { what, body }, io) {
      if (what === 'tags') {
        await marks.add(there.arn, body as Tags, io);
        return { found: [take({ ...there, tags: { ...there.tags, ...(body as Tags) } })] };
      }
      if (what === 'attributes')
        return setAttributes(there.arn, { name: there.name, attributes: {} }, body as Tags, io);
      if (what !== 'health check') {
        const { call, before } = body as FirstTargets;
        return change(there.arn, before, call, io);
      }
      const health = body as Health;
      const command = new ModifyTargetGroupCommand({ TargetGroupArn: there.arn, ...healthRequest(health) });
      await elbv2().change(command, options(io));
      const timeout = health.timeout ?? there.health.timeout;
      return { found: [take({ ...there, health: { ...health, timeout } })] };
    },
    async remove({ id }, io) {
      try {
        await elbv2().change(new DeleteTargetGroupCommand({ TargetGroupArn: id }), options(io));
      } catch (error) {
        if (!isCloudError(error) || codeOf(error) !== 'ResourceInUse') throw error;
        const { operation, message, cause } = error;
        const { isLate, retryAfterMs } = inUse.refused(id);
        const kind = isLate ? 'Conflict' : 'Busy';
        throw new CloudError({ kind, cloud: 'aws', operation, message, retryAfterMs, cause });
      }
      inUse.ended(id);
      view.noteTargetGroups([{ arn: id, tags: {} }], false);
      return {};
    },
    async mark(found, as, want, io) {
      const shown = take(await marks.mark(found, as, want, io));
      return { found: [as === 'retained' ? givenUp(shown) : shown] };
    },
  };

  const within = networkKinds.targetGroup;
  // A new group has the defaults and no targets, and what differs is among its first changes.
  const targets: Kind<TargetsSpec | undefined, TargetList> = {
    kind: networkKinds.targets,
    within,
    inline: true,
    retryCreate: 'atOnce',
    compare: ({ body }, spec) => comparison(spec === undefined ? [] : compareTargets(body, spec.members)),
    update: ({ id, body: there }, { body }, io) => change(id, there, body as TargetChange, io),
  };
  const attributes: Kind<DesiredGroup | undefined, AttributeList> = {
    kind: networkKinds.groupAttributes,
    within,
    inline: true,
    retryCreate: 'atOnce',
    compare: ({ body }, spec) => comparison(spec === undefined ? [] : compareAttributes(body, spec)),
    update: ({ id, body: there }, { body }, io) => setAttributes(id, there, body as Tags, io),
  };
  return [group, targets, attributes] as unknown as readonly Kind[];
}

function freshGroup({ group }: TargetGroupSpec): TargetGroup {
  const { name, protocol, nodePort, targetType, ipType, health } = group;
  return { arn: '', name, protocol, port: nodePort, targetType, ipType, health, loadBalancers: [], tags: {} };
}

function healthRequest({ protocol, port, path, healthy, unhealthy, interval, timeout }: Health) {
  return {
    HealthCheckProtocol: protocol as 'TCP',
    HealthCheckPort: port,
    HealthCheckIntervalSeconds: interval,
    HealthyThresholdCount: healthy,
    UnhealthyThresholdCount: unhealthy,
    ...(path !== undefined && { HealthCheckPath: path }),
    ...(timeout !== undefined && { HealthCheckTimeoutSeconds: timeout }),
  };
}

/** AWS refuses an interval below the timeout, and its own timeout does not follow the interval. */
function fittingTimeout({ protocol, interval }: Health): number | undefined {
  return interval < (protocol === 'HTTP' ? 6 : 10) ? interval : undefined;
}

function isSameHealth(asked: Health, there: Health): boolean {
  return (
    asked.port === there.port &&
    (asked.path === undefined || asked.path === there.path) &&
    asked.healthy === there.healthy &&
    asked.unhealthy === there.unhealthy &&
    (asked.timeout === undefined || asked.timeout === there.timeout)
  );
}

function describe({ protocol, port, path, interval, healthy, unhealthy, timeout }: Health): string {
  const times = `every ${interval} s${timeout === undefined ? '' : `, ${timeout} s each`}`;
  return `${protocol} ${port}${path ?? ''} ${times}, ${healthy} up, ${unhealthy} down`;
}

function instanceOf(providerID: string): string {
  return aws.parse(providerID)?.instanceId ?? providerID;
}

/** Names the members that AWS does not take: its message has them, unless the group is full. */
function refusedTargets(error: unknown, targets: readonly NewTarget[]): unknown {
  const code = codeOf(error);
  if (!isCloudError(error) || (code !== 'InvalidTarget' && code !== tooMany)) return error;
  const message = error.cause instanceof Error ? error.cause.message : error.message;
  const words = new Set(message.match(/i-[0-9a-z]+|[0-9a-f.:]+/g) ?? []);
  const named = targets.filter(({ id }) => code === tooMany || words.has(id));
  const subjects = (named.length === 0 && targets.length === 1 ? targets : named).map(({ providerID }) => providerID);
  return error.with({ message: `${code}: ${message}`, subjects, cause: error });
}
