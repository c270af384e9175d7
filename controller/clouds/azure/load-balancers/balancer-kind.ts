import type { Comparison, Kind } from '../../../engine/resource.ts';
import { type Balancer, type BalancerSpec, differences, kindNames } from './balancer.ts';

/** The parts of one Service in a load balancer: one document, so one write for all of them. */
export const balancerKind: Kind<BalancerSpec, Balancer> = {
  kind: kindNames.balancer,
  document: kindNames.balancer,
  retryCreate: 'atOnce',
  compare({ body }, spec, pointsAt): Comparison {
    if (body.document !== spec.document)
      return { replace: `load balancer ${spec.document} instead of ${body.document}`, order: 'createFirst' };
    const { publicAddress: desired } = spec.frontend;
    const isGood = desired === undefined ? body.publicAddress === undefined : pointsAt('address').includes(desired);
    const texts = differences(body, spec, isGood);
    if (texts.length === 0) return { same: true };
    return { changes: [{ what: 'parts', summary: texts.join(', '), phase: 'set' }] };
  },
};
