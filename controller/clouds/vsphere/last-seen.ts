import type { LRUCache } from 'lru-cache';
import type { Ref } from './soap.ts';

/** Where VMs were found last, by vCenter and uuid. */
export type LastSeen = LRUCache<string, Ref>;
