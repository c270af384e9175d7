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
import type { ApplyOptions } from '../../permit.ts';
import { codeOf } from '../errors.ts';
import { ownedBy } from '../load-balancer-tags.ts';
import { refuseClosedNodes } from '../security-groups/node-group.ts';
import { targetGroupOf } from './answers.ts';
import type { ApplyParts } from './apply.ts';
import { groupOf, withGroup } from './edit-pieces.ts';
import { targetGroupName } from './names.ts';
import type { Pieces, Subject } from './observed.ts';
import { type Call, healthRequest, patiently, sdkTags, unlessGone } from './requests.ts';
import type { NewTarget } from './step.ts';

export type GroupCall = Call<
  | 'create target group'
  | 'modify target group'
  | 'set target group attributes'
  | 'register targets'
  | 'deregister targets'
  | 'delete target group'
>;

/** The calls about target groups and targets. */
export function createGroupApply({ parts, reads, network }: Omit<ApplyParts, 'securityGroups'>) {
  const elbv2 = () => parts.elbv2();

  return async function applyGroup(
    call: GroupCall,
    subject: Subject,
    pieces: Pieces,
    options: ApplyOptions,
  ): Promise<Pieces> {
    switch (call.does) {
      case 'create target group':
        return createTargetGroup(call, subject, pieces, options);
      case 'modify target group': {
        const group = groupOf(pieces, call.group);
        const command = new ModifyTargetGroupCommand({ TargetGroupArn: group.arn, ...healthRequest(call.health) });
        await elbv2().change('ModifyTargetGroup', command, options);
        const health = { ...call.health, timeout: call.health.timeout ?? group.health.timeout };
        return withGroup(pieces, { ...group, health });
      }
      case 'set target group attributes': {
        const group = groupOf(pieces, call.group);
        const command = new ModifyTargetGroupAttributesCommand({
          TargetGroupArn: group.arn,
          Attributes: sdkTags(call.attributes),
        });
        await elbv2().change('ModifyTargetGroupAttributes', command, options);
        return withGroup(pieces, { ...group, attributes: { ...group.attributes, ...call.attributes } });
      }
      case 'register targets':
        return register(call, pieces, options);
      case 'deregister targets': {
        const group = groupOf(pieces, call.group);
        const command = new DeregisterTargetsCommand({
          TargetGroupArn: group.arn,
          Targets: call.ids.map((Id) => ({ Id })),
        });
        await elbv2()
          .change('DeregisterTargets', command, options)
          .catch(async (error: unknown) => {
            if (codeOf(error) !== 'InvalidTarget') throw error;
            // AWS itself lets go of an instance that is terminated.
            const there = await reads.groupNamed(group.name, { signal: options.signal });
            if (there?.targets.some(({ id }) => call.ids.includes(id))) throw error;
          });
        return withGroup(pieces, { ...group, targets: group.targets.filter(({ id }) => !call.ids.includes(id)) });
      }
      case 'delete target group': {
        const group = groupOf(pieces, call.group);
        const command = new DeleteTargetGroupCommand({ TargetGroupArn: group.arn });
        await unlessGone(() => patiently(() => elbv2().change('DeleteTargetGroup', command, options)));
        return { ...pieces, groups: pieces.groups.filter((one) => one !== group) };
      }
    }
  };

  async function createTargetGroup(
    { group, tags }: Call<'create target group'>,
    subject: Subject,
    pieces: Pieces,
    options: ApplyOptions,
  ): Promise<Pieces> {
    const cluster = await reads.awaitCluster(options.signal);
    const Name = targetGroupName(cluster.id ?? '', subject.service, group);
    const on = pieces.hosts.find(({ arn }) => arn === subject.attachTo) ?? pieces.own;
    const all = { ...tags, ...cluster.owned };
    const command = new CreateTargetGroupCommand({
      ...{ Name, Protocol: group.protocol as 'TCP', Port: group.nodePort, TargetType: group.targetType },
      VpcId: on?.vpcId ?? pieces.network.vpcId,
      ...(group.ipType === 'ipv6' && { IpAddressType: 'ipv6' }),
      ...healthRequest(group.health),
      Tags: sdkTags(all),
    });
    try {
      const { TargetGroups } = await elbv2().change('CreateTargetGroup', command, options);
      return withGroup(pieces, targetGroupOf(TargetGroups?.[0] ?? {}, all));
    } catch (error) {
      if (codeOf(error) !== 'DuplicateTargetGroupName') throw error;
      const there = await reads.groupNamed(Name, { signal: options.signal });
      if (!there || !ownedBy(there.tags, subject.owner)) throw error;
      return withGroup(pieces, there);
    }
  }

  async function register(
    { group: name, targets }: Call<'register targets'>,
    pieces: Pieces,
    options: ApplyOptions,
  ): Promise<Pieces> {
    const group = groupOf(pieces, name);
    const members = new Map(targets.map(({ providerID }) => [instanceOf(providerID), providerID]));
    // Their security groups tell what is to be let in, and whether it may be.
    const seen = await network.instances([...members.keys()], { urgency: 'change', signal: options.signal });
    const instances = new Map([...pieces.network.instances, ...seen]);
    const facts = { ...pieces.network, instances };
    // A member of this Service is one for its other ports, too.
    for (const one of pieces.groups) for (const { providerID } of one.targets) members.delete(instanceOf(providerID));
    if (!parts.config.disableSecurityGroupIngress) refuseClosedNodes(members, facts, 'RegisterTargets');
    const Targets = targets.map(({ id }) => ({ Id: id }));
    const command = new RegisterTargetsCommand({ TargetGroupArn: group.arn, Targets });
    try {
      await elbv2().change('RegisterTargets', command, options);
    } catch (error) {
      throw refusedTargets(error, targets);
    }
    const known = new Set(group.targets.map(({ id }) => id));
    const fresh = targets.filter(({ id }) => !known.has(id)).map((target) => ({ ...target, healthy: undefined }));
    const after = { ...pieces, network: facts };
    return withGroup(after, { ...group, targets: [...group.targets, ...fresh] });
  }
}

function instanceOf(providerID: string): string {
  return aws.parse(providerID)?.instanceId ?? providerID;
}

/** Says which members AWS does not take: it names them in its message. */
function refusedTargets(error: unknown, targets: readonly NewTarget[]): unknown {
  if (!isCloudError(error) || codeOf(error) !== 'InvalidTarget') return error;
  const { kind, operation } = error;
  const message = error.cause instanceof Error ? error.cause.message : error.message;
  const words = new Set(message.match(/i-[0-9a-z]+|[0-9a-f.:]+/g) ?? []);
  const named = targets.filter(({ id }) => words.has(id));
  const subjects = (named.length === 0 && targets.length === 1 ? targets : named).map(({ providerID }) => providerID);
  return new CloudError({
    kind,
    cloud: 'aws',
    operation,
    message: `InvalidTarget: ${message}`,
    subjects,
    cause: error,
  });
}
