import { names } from '../../../common/well-known.ts';
import type { Surroundings } from './facts.ts';

/** How everything goes on, with the command. Pure. */
export function endPause({ namespace = names.namespace }: Pick<Surroundings, 'namespace'>): string {
  const patch = JSON.stringify([{ op: 'remove', path: `/data/${names.pausedKey}` }]);
  return `To go on: kubectl -n ${namespace} patch configmap ${names.certificates} --type=json -p '${patch}'`;
}
