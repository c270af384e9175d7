import type { Found, Want } from '../../../engine/resource.ts';
import type { Asked } from '../../load-balancer-driver.ts';
import { ownedBy } from '../load-balancer-tags.ts';
import type { FrontBody } from '../security-groups/group-resources.ts';
import type { ObservedSecurityGroup } from '../security-groups/network-facts.ts';
import type { Subnet } from '../subnets.ts';
import type { ClassicLoadBalancer } from './classic-load-balancer.ts';
import { type ClassicView, classicKinds } from './resources.ts';
import type { ClassicConfig, ClassicSettings } from './settings.ts';

export interface DesireParts {
  readonly config: ClassicConfig;
  /** Groups that the operator allows every Service. */
  readonly allowedGroups: ReadonlySet<string>;
  readonly view: Pick<ClassicView, 'facts' | 'marks' | 'isCluster'>;
  /** As last read. */
  lastSubnets(): readonly Subnet[] | undefined;
  /** The instance id, when this scope could hold it. */
  idOf(providerID: string): string | undefined;
}

/** What one Service has, as far as it is known. */
export interface Standing {
  readonly balancer: ClassicLoadBalancer | undefined;
  /** Taken over from the classic controller, and without our tags yet. */
  readonly isAdopted: boolean;
  /** The group in front of it. */
  readonly front: FrontBody | undefined;
  /** Id of the cluster's traffic group. */
  readonly traffic: string | undefined;
  /** All of the VPC, by id. */
  readonly groups: ReadonlyMap<string, ObservedSecurityGroup>;
}

export function standingOf(asked: Asked): Standing {
  const { owner } = asked.desired;
  const [own] = ownOf(asked, classicKinds.balancer) as readonly Found<ClassicLoadBalancer>[];
  const [front] = ownOf(asked, classicKinds.front) as readonly Found<FrontBody>[];
  const [traffic] = known(asked, classicKinds.traffic);
  const all = [classicKinds.front, classicKinds.traffic, classicKinds.others].flatMap((kind) =>
    known<ObservedSecurityGroup>(asked, kind),
  );
  return {
    balancer: own?.body,
    isAdopted: own !== undefined && !ownedBy(own.body.tags, owner),
    front: front?.body,
    traffic: traffic?.id,
    groups: new Map(all.map(({ id, body }) => [id, body])),
  };
}

/** Of this Service, of one kind. */
export function ownOf(asked: Asked, kind: string): readonly Found[] {
  return asked.mine().filter((one) => one.kind === kind);
}

export function known<Body>(asked: Asked, kind: string): readonly Found<Body>[] {
  return asked.known(kind) as readonly Found<Body>[];
}

/** As it stands. */
export function keep({ kind, key = 'main', id }: Found): Want {
  return { kind, key, spec: undefined, summary: `${kind} ${id}` };
}

/** Instead of a group of its own. Undefined: the annotation is not understood, or there are none. */
export function personsGroups(
  { securityGroups }: ClassicSettings,
  config: Pick<ClassicConfig, 'elbSecurityGroup'>,
): readonly string[] | undefined {
  if (securityGroups === undefined || securityGroups.length > 0) return securityGroups;
  return config.elbSecurityGroup === undefined ? undefined : [config.elbSecurityGroup];
}
