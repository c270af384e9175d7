import type { Limits } from '../../../deploy/kubelet/reregister/restarts.ts';

export const limits: Limits = {
  afterBootMs: 300_000,
  afterStartMs: 300_000,
  firstPauseMs: 300_000,
  longestPauseMs: 3_600_000,
};

/** What an API server answers about an object that is not there. */
export const notFound = (name: string, kind = 'nodes') => ({
  kind: 'Status',
  apiVersion: 'v1',
  status: 'Failure',
  message: `${kind} "${name}" not found`,
  reason: 'NotFound',
  details: { name, kind },
  code: 404,
});
