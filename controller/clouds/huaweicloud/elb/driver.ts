import type { Found, Kind } from '../../../engine/resource.ts';
import { shownAddresses } from '../../adoption.ts';
import type { AdoptionInput, LoadBalancerDriver, ShownLoadBalancer } from '../../load-balancer-driver.ts';
import { annotations, prefix } from '../annotations.ts';
import type { HuaweiClient } from '../client.ts';
import type { HuaweiConfig } from '../config.ts';
import type { Options } from '../options.ts';
import { balancerKind } from './balancers.ts';
import { balancerName, desireOf } from './desire.ts';
import { boundKind, eipKind } from './eips.ts';
import {
  type Balancer,
  type Eip,
  foundListener,
  foundMonitor,
  kindNames,
  observedMembers,
  type Pool,
} from './found.ts';
import { createGroupMemberReader, groupMemberKind } from './group-members.ts';
import { groupKind } from './groups.ts';
import { partKind } from './parts.ts';
import { poolKind } from './pools.ts';
import { createBalancerReader, createEipReader, createGroupReader } from './reader.ts';
import { createSubnets } from './subnets.ts';

/** Load balancers of ELB, dedicated and shared, of one project. */
export function createLoadBalancerDriver(
  client: HuaweiClient,
  { vpc, subnet, securityGroup }: Pick<HuaweiConfig, 'vpc' | 'subnet' | 'securityGroup'>,
  options: Options,
): LoadBalancerDriver {
  const subnets = createSubnets(client, vpc);
  const listener = partKind(client, {
    kind: kindNames.listener,
    within: kindNames.balancer,
    parent: 'loadbalancer_id',
    read: foundListener,
    // A plain deletion is refused as long as the listener has a pool: "DeleteListener" in the API reference of ELB.
    collection: 'listeners',
    deletion: '/force',
  });
  const monitor = partKind(client, {
    kind: kindNames.monitor,
    within: kindNames.pool,
    parent: 'pool_id',
    read: foundMonitor,
    collection: 'healthmonitors',
  });
  const kinds = [balancerKind(client, subnets), boundKind(client), eipKind(client), listener];
  const readers = [createBalancerReader(client), createEipReader(client), createGroupReader(client)];
  const joined = securityGroup === undefined ? [] : [groupMemberKind(client, securityGroup)];
  const joining = securityGroup === undefined ? [] : [createGroupMemberReader(client, securityGroup)];
  return {
    main: kindNames.balancer,
    kinds: [...kinds, poolKind(client, subnets), monitor, groupKind(client), ...joined] as readonly Kind[],
    readers: [...readers, ...joining],
    desire: (input) => desireOf(input, { options, subnet, joins: securityGroup !== undefined }),
    // Every call has its effect before it is answered.
    poll: async () => new Map(),
    annotations,
    annotationPrefixes: [prefix],
    show,
    drains: true,
    maxMembers: undefined,
    adopts: (found, input) => adoptedKey(found, input, options, vpc),
    members: (parts) => observedMembers(parts.filter(({ kind }) => kind === kindNames.pool) as readonly Found<Pool>[]),
    slots: () => [],
  };
}

/** By the name that the classic controller gives, and by the address that the Service shows, in the cluster's VPC. */
function adoptedKey(found: Found, input: AdoptionInput, options: Options, vpc: string | undefined): string | undefined {
  const { service, proof, id } = input;
  const name = balancerName({ clusterName: proof.clusterName, service }, options);
  const shown = shownAddresses(proof);
  // Clusters are called the same by default, and other VPCs may have the same private addresses.
  const isInVpc = (one: Balancer) => vpc === undefined || one.vpc === undefined || one.vpc === vpc.toLowerCase();
  const isIt = ({ body, owner }: Found<Balancer>) =>
    owner === undefined &&
    body.name === name &&
    shown.has(body.eip ?? body.vip) &&
    body.marks.retained === undefined &&
    isInVpc(body);
  const twins = (input.found(kindNames.balancer) as readonly Found<Balancer>[]).filter(isIt);
  // Of several that agree none, unless one is recorded.
  const [taken] = twins.length === 1 ? twins : twins.filter((one) => one.id === id);
  if (taken === undefined) return undefined;
  if (found.kind === kindNames.balancer) return found.id === taken.id ? 'main' : undefined;
  // An EIP that has an id there belongs to another owner, and the classic controller makes none beside it.
  const [made, named] = ['eip-auto-create-option', 'eip-id'].map((one) => proof.annotations?.[prefix + one]);
  const isMade = made !== undefined && !named;
  return found.kind === kindNames.eip && isMade && (found.body as Eip).ip === taken.body.eip ? 'main' : undefined;
}

function show({ body }: Found, parts: readonly Found[]): ShownLoadBalancer {
  const { name, marks, vip, createdAtMs } = body as Balancer;
  const bound = parts.find(({ kind }) => kind === kindNames.bound)?.address;
  const ip = bound ?? (marks.front === 'eip' ? '' : vip);
  return { name, ingress: ip === '' ? [] : [{ ip }], createdAtMs, service: marks.service ?? marks.retained };
}
