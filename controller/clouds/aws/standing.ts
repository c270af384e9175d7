import type { Found, Want } from '../../engine/resource.ts';
import type { DesireInput } from '../load-balancer-driver.ts';
import { classicKinds } from './classic/resources.ts';
import type { AwsConfig } from './config.ts';
import { ownedBy, type Tags } from './load-balancer-tags.ts';
import type { LoadBalancerView } from './load-balancer-view.ts';
import { networkKinds } from './nlb/resources.ts';
import { balancerKind, type FrontBody, groupKinds } from './security-groups/group-resources.ts';
import type { ObservedSecurityGroup } from './security-groups/network-facts.ts';
import type { Subnet } from './subnets.ts';

export interface DesireParts<Config extends Partial<AwsConfig> = AwsConfig> {
  readonly config: Config;
  /** Groups that the operator allows every Service. */
  readonly allowedGroups: ReadonlySet<string>;
  readonly view: Pick<LoadBalancerView, 'facts' | 'marks' | 'isCluster'>;
  /** As last read. */
  lastSubnets(): readonly Subnet[] | undefined;
  /** The instance id, when this scope could hold it. */
  idOf(providerID: string): string | undefined;
}

export type Standing<Balancer extends { readonly tags: Tags }> = ReturnType<typeof standingOf<Balancer>>;

/**
 * What one Service has, as far as it is known.
 *
 * @param frontKey of the group in front of a load balancer of this type
 */
export function standingOf<Balancer extends { readonly tags: Tags }>(
  input: DesireInput,
  isOfType: (body: unknown) => body is Balancer,
  frontKey: string,
) {
  const { owner } = input.desired;
  const own = ownOf<unknown>(input, balancerKind).flatMap(({ body }) => (isOfType(body) ? [body] : []))[0];
  const front = ownOf<FrontBody>(input, groupKinds.front).find(({ key = frontKey }) => key === frontKey);
  const [traffic] = foundOf(input, groupKinds.traffic);
  const all = [groupKinds.front, groupKinds.traffic, groupKinds.others].flatMap((kind) =>
    foundOf<ObservedSecurityGroup>(input, kind),
  );
  // Where a part carries our tags, those of the load balancer were stripped by hand.
  const isMarked = input.own().some((one) => one.owner?.service === owner.service);
  return {
    balancer: own,
    /** Taken over from the classic controller, and without our tags yet. */
    isAdopted: own !== undefined && !ownedBy(own.tags, owner) && !isMarked,
    /** The group in front of it. */
    front: front?.body,
    /** Id of the cluster's traffic group. */
    traffic: traffic?.id,
    /** All of the VPC, by id. */
    groups: new Map(all.map(({ id, body }) => [id, body])),
  };
}

/** Of this Service, of one kind. */
export function ownOf<Body>(input: DesireInput, kind: string): readonly Found<Body>[] {
  return input.own().filter((one) => one.kind === kind) as readonly Found<Body>[];
}

export function foundOf<Body>(input: DesireInput, kind: string): readonly Found<Body>[] {
  return input.found(kind) as readonly Found<Body>[];
}

/** As it stands. */
export function keep({ kind, key = 'main', id }: Found): Want {
  return { kind, key, spec: undefined, summary: `${kind} ${id}` };
}

/** Everything of this Service as it stands. */
export function keepAll(input: DesireInput): readonly Want[] {
  const { balancer, listener, attributes, targetGroup, targets, groupAttributes } = networkKinds;
  const within: Readonly<Record<string, string>> = {
    [listener]: balancer,
    [attributes]: balancer,
    [classicKinds.attributes]: balancer,
    [targets]: targetGroup,
    [groupAttributes]: targetGroup,
  };
  return input.own().map((found): Want => {
    const inside = within[found.kind];
    const name = inside === balancer ? `${balancer}/main` : `${inside}/${found.key}`;
    return { ...keep(found), ...(inside !== undefined && { within: name }) };
  });
}
