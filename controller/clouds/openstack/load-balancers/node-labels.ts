import type { NodeLabel } from '../../load-balancers.ts';
import { parseNodeLabels } from '../../node-labels.ts';
import type { LoadBalancerConfig } from '../load-balancer-config.ts';
import { keys } from './annotations.ts';

/** Which Nodes may be members: as the annotation says, otherwise as the configuration does. */
export function nodeLabels(config: Pick<LoadBalancerConfig, 'nodeSelector'>) {
  return (annotations: Readonly<Record<string, string>>): readonly NodeLabel[] | undefined => {
    const given = annotations[keys.nodeSelector];
    return given === undefined ? config.nodeSelector : parseNodeLabels(given);
  };
}
