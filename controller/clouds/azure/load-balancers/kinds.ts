import type { Comparison, Kind } from '../../../engine/resource.ts';
import { addressName, type Balancer, type BalancerSpec, differences, kindNames } from './balancer.ts';

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
