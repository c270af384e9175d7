import { type CloudErrorKind, isCloudError } from '../../common/cloud-error.ts';

/** Classes of errors, by what they prove about the effect of the call. An error of another type proves nothing. */
function isOneOf(...kinds: readonly CloudErrorKind[]): (error: unknown) => boolean {
  const set = new Set(kinds);
  return (error) => isCloudError(error) && set.has(error.kind);
}

const isUnanswered = isOneOf('Timeout', 'Unavailable', 'Conflict');
const isOutdated = isOneOf('Stale', 'NotFound', 'Taken', 'Invalid');

/** The call may have had its effect. */
export const isLost = (error: unknown) => !isCloudError(error) || isUnanswered(error);
/** The call may have had its effect, or was planned from an old read: others may have changed the resource. */
export const isUncertain = (error: unknown) => isLost(error) || isOutdated(error);
/** The call was planned from an old read: another try in the same run may help, after a read. */
export const isRepeatable = isOneOf('Stale', 'NotFound', 'Taken');
/** The document is read, folded and sent again. Edits that were written already fold to no change. */
export const isFoldedAgain = isOneOf('Stale', 'Busy', 'Timeout', 'Taken', 'Conflict', 'NotFound');
/** One item of a call for many may be the cause. */
export const isRefusal = isOneOf('Invalid', 'QuotaExceeded', 'Forbidden');
/** A removal may make the room. */
export const isFull = isOneOf('QuotaExceeded');
export const isBusy = isOneOf('Busy');
export const isTaken = isOneOf('Taken');
export const isNotFound = isOneOf('NotFound');
