import type { Instance } from '../../common/instance.ts';
import { documentNames } from '../model/attested.ts';
import type { StoredReport } from '../reports/store.ts';

/**
 * Why a Node of a cloud whose evidence is required may not be initialised yet; undefined when it may. A contradiction
 * is reported elsewhere. Pure.
 */
export function missingProof(instance: Instance, stored: StoredReport | undefined): string | undefined {
  const attested = stored?.attestation?.instance;
  if (attested !== undefined && (attested.cloud !== instance.cloud || documentNames(attested, instance)))
    return undefined;
  if (stored?.refusedEvidence !== undefined) return `the agent's evidence is refused: ${stored.refusedEvidence}`;
  if (stored === undefined) return 'no agent of this Node has reported, so nothing proves which VM it is';
  const { error } = stored.report.metadata;
  return `no signed document of the VM was reported yet${error === undefined ? '' : ` (the agent says: ${error})`}`;
}
