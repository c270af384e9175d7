import { LRUCache } from 'lru-cache';
import type { CloudError } from '../../../common/cloud-error.ts';
import type { Ref } from './soap.ts';

/** What the process knows of its vCenters for as long as it runs: a cloud that is opened again takes it over. */
export interface Memory {
  readonly lastSeen: LastSeen;
  readonly refusals: Refusals;
}

/** Where VMs were found last, by vCenter and uuid. */
export type LastSeen = LRUCache<string, Ref>;

/** Credentials that a vCenter has refused, by a hash. `until`: of the monotonic clock. */
export type Refusals = Map<string, { readonly until: number; readonly error: CloudError }>;

/** More VMs than a cluster has, so that deleted ones are forgotten first. */
const maxSeen = 20_000;

export function createMemory(): Memory {
  return { lastSeen: new LRUCache({ max: maxSeen }), refusals: new Map() };
}
