import type { Clock } from '../../../../common/process/clock.ts';
import { cloudstack } from '../../../../common/provider-id/cloudstack.ts';
import type { Found, Kind } from '../../../engine/resource.ts';
import { classicName, shownAddresses } from '../../adoption.ts';
import type { AdoptionInput, LoadBalancerDriver, ShownLoadBalancer } from '../../load-balancer-driver.ts';
import type { ObservedMember } from '../../load-balancers.ts';
import { ingressOf } from '../../shown-load-balancer.ts';
import { annotations, prefix } from '../annotations.ts';
import type { CloudStackClient } from '../client.ts';
import type { CloudStackConfig } from '../config.ts';
import { acquisitionKind } from './acquisition-kind.ts';
import { addressKind } from './addresses.ts';
import { desireOf } from './desire.ts';
import { type Address, kindNames, type Members, type Rule } from './found.ts';
import { tagKeys } from './marks.ts';
import { membersKind } from './members.ts';
import { aclKind, firewallKind } from './openings.ts';
import { createProject } from './project.ts';
import { createReader, searchSlots } from './reader.ts';
import { ruleKind } from './rules.ts';
import { stickinessKind } from './stickiness-kind.ts';

/** The load balancers of one account or project: a public address each, with a rule for each port. */
export function createLoadBalancerDriver(
  client: CloudStackClient,
  config: Pick<CloudStackConfig, 'project'>,
  clock: Clock,
): LoadBalancerDriver {
  const project = createProject(client, config, clock);
  return {
    main: kindNames.address,
    kinds: [
      addressKind(project),
      acquisitionKind(project),
      ruleKind(project),
      membersKind(project),
      stickinessKind(project),
      firewallKind(project),
      aclKind(project),
    ] as readonly Kind[],
    readers: [createReader(project)],
    desire: (input) => desireOf(input, project.network),
    poll: (operations, { signal }) => client.jobs(operations, signal),
    annotations,
    annotationPrefixes: [prefix],
    adopts,
    show,
    members,
    maxMembers: undefined,
    drains: false,
    slots({ owner, address, adopt }) {
      const isAcquired = adopt?.annotations?.[`${prefix}ip-associated-by-controller`] === 'true';
      return [
        ...(adopt === undefined ? [] : [`${searchSlots.rules}${classicName(owner.service)}`]),
        ...(address === undefined ? [] : [`${searchSlots.ip}${address}`]),
        // What is taken over has no tag that says so until its first change.
        address !== undefined && !isAcquired ? searchSlots.named : searchSlots.unnamed,
      ];
    },
  };
}

/** By the names of the rules on it, which the classic controller makes of the Service's UID, and its address. */
function adopts({ kind, body, owner: marked }: Found, { owner, proof }: AdoptionInput): string | undefined {
  if (kind !== kindNames.address || marked !== undefined) return undefined;
  const { ip, balancers } = body as Address;
  if (balancers.length !== 1 || balancers[0] !== classicName(owner.service)) return undefined;
  const shown = shownAddresses(proof);
  return shown.isNamed || shown.has(ip) ? 'main' : undefined;
}

function show({ body }: Found, parts: readonly Found[]): ShownLoadBalancer {
  const { ip, tags, createdAtMs } = body as Address;
  const rules = parts.filter(({ kind }) => kind === kindNames.rule) as readonly Found<Rule>[];
  const isProxy = rules.some((one) => one.body.protocol === 'tcp-proxy');
  const ingress = ingressOf(rules.length > 0 ? [ip] : [], { hostname: tags[tagKeys.hostname], isProxy });
  return { name: ip, ingress, createdAtMs, service: tags[tagKeys.serviceName] };
}

function members(parts: readonly Found[]): ObservedMember[] {
  const all = parts.filter(({ kind }) => kind === kindNames.members) as readonly Found<Members>[];
  const ids = new Set(all.flatMap(({ body }) => body.ids));
  return [...ids].map((id) => ({
    providerID: cloudstack.print({ instanceId: id }),
    draining: false,
    healthy: undefined,
  }));
}
