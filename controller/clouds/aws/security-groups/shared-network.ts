import type { UsersOfGroups } from './group-users.ts';
import type { NetworkReads } from './network-reads.ts';
import type { SecurityGroupCalls } from './security-group-calls.ts';

/** What network and classic load balancers share. */
export interface SharedNetwork {
  readonly reads: NetworkReads;
  readonly users: UsersOfGroups;
  readonly groups: SecurityGroupCalls;
}
