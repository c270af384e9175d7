import { type CloudErrorKind, isCloudError } from '../../common/cloud-error.ts';

/** What the failure of a call says about what it was to do. An error that is not the cloud's says nothing. */
function isOneOf(...kinds: readonly CloudErrorKind[]): (error: unknown) => boolean {
  const set = new Set(kinds);
  return (error) => isCloudError(error) && set.has(error.kind);
}

const isUnanswered = isOneOf('Timeout', 'Unavailable', 'Conflict');
const isOutdated = isOneOf('Stale', 'NotFound', 'Taken', 'Invalid');

/** It may have been done. */
export const isLost = (error: unknown) => !isCloudError(error) || isUnanswered(error);
/** It may have been done, or what it was planned from is old: others may have changed it. */
export const isUncertain = (error: unknown) => isLost(error) || isOutdated(error);
/** What it was planned from was old: another try in the same run may help, after a read. */
export const isRepeatable = isOneOf('Stale', 'NotFound', 'Taken');
/** The document is to be read, folded and sent again. What has been written already folds to no change. */
export const isFoldedAgain = isOneOf('Stale', 'Busy', 'Timeout', 'Taken', 'Conflict', 'NotFound');
/** One of what was sent together may be to blame. */
export const isRefusal = isOneOf('Invalid', 'QuotaExceeded', 'Forbidden');
export const isBusy = isOneOf('Busy');
export const isTaken = isOneOf('Taken');
export const isNotFound = isOneOf('NotFound');
