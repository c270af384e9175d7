import { type Permit, WithheldError } from '../clouds/permit.ts';
import type { Fence } from '../kube/api.ts';

export interface PermitOptions {
  readonly fence: Fence;
  /**
   * True, or a text that names what is paused, while everything or the object of the permit is paused. Checked for each
   * call.
   */
  paused(): boolean | string;
}

/**
 * Permits a mutating call to a cloud while this replica leads with more lease time left than the call may take, and
 * nothing is paused.
 */
export function createPermit({ fence, paused }: PermitOptions): Permit {
  return (timeoutMs) => {
    const pause = paused();
    if (pause !== false)
      throw new WithheldError('Paused', `not sent: ${pause === true ? 'everything is paused' : pause}`);
    const leftMs = fence.timeLeftMs();
    if (leftMs > timeoutMs) return;
    const why =
      leftMs > 0
        ? `the lease has ${Math.floor(leftMs)} ms left, the call may take ${timeoutMs}`
        : 'this replica does not lead';
    throw new WithheldError('Fenced', `not sent: ${why}`);
  };
}
