import type { Comparison, Kind } from '../../../engine/resource.ts';
import {
  addressName,
  type Balancer,
  type BalancerSpec,
  differences,
  kindNames,
  type Pool,
  type PoolSpec,
} from './balancer.ts';

/** The parts of one Service in a load balancer: one document, so one write for all of them. */
export const balancerKind: Kind<BalancerSpec, Balancer> = {
  kind: kindNames.balancer,
  document: kindNames.balancer,
  again: 'safe',
  compare({ body }, spec, pointsAt): Comparison {
    if (body.document !== spec.document)
      return { replace: `load balancer ${spec.document} instead of ${body.document}`, first: 'make' };
    const isPublic = spec.frontend.publicAddress !== undefined;
    const isGood = isPublic ? pointsAt('address').includes(addressName) : body.publicAddress === undefined;
    const texts = differences(body, spec, isGood);
    if (texts.length === 0) return { same: true };
    return { changes: [{ what: 'parts', summary: texts.join(', '), phase: 'set' }] };
  },
};

/** The nodes behind all Services of a load balancer. It goes with the last of them. */
export const poolKind: Kind<PoolSpec, Pool> = {
  kind: kindNames.pool,
  document: kindNames.balancer,
  again: 'safe',
  /** Every Service names all nodes of the cluster, so that nothing has to stay for the sake of those not known yet. */
  merge(specs) {
    const members = new Map(specs.flatMap((spec) => spec.members.map((member) => [member.address, member])));
    return { ...specs[0]!, members: [...members.values()].sort((a, b) => a.address.localeCompare(b.address)) };
  },
  usedBy: () => ['the rules of its load balancer'],
  compare({ body }, { members }) {
    const desired = new Set(members.map(({ address }) => address));
    const more = [...desired].filter((ip) => !body.addresses.includes(ip));
    const gone = body.addresses.filter((ip) => !desired.has(ip));
    if (body.isOfInterfaces || more.length + gone.length === 0) return { same: true };
    const texts = [...more.map((ip) => `+${ip}`), ...gone.map((ip) => `-${ip}`)];
    return { changes: [{ what: 'members', summary: `members ${texts.join(' ')}`, phase: 'set' }] };
  },
};
