import type { Instance } from '../../common/instance.ts';
import type { ConfiguredCloud } from './configured-cloud.ts';

/** The annotation mooring.dev/instance: in which scope the Node's instance was found, and which incarnation it was. */
export interface ScopeRecord {
  readonly scope: string;
  /** Empty when the cloud has none. */
  readonly incarnation: string;
}

/** The scope recorded for proved reports where no API of the cloud is configured. */
export function reportScope(cloud: string): string {
  return `report:${cloud}`;
}

/** The cloud of a scope made by `reportScope`; undefined for the scope of an API. */
export function cloudOfReportScope(scope: string): string | undefined {
  return scope.startsWith('report:') ? scope.slice('report:'.length) : undefined;
}

export function printRecord(scope: string, instance: Instance): string {
  return instance.incarnation === undefined ? scope : `${scope} ${instance.incarnation}`;
}

/** Undefined for a missing or malformed value: the instance of such a Node counts as never found. */
export function parseRecord(text: string | undefined): ScopeRecord | undefined {
  if (text === undefined) return undefined;
  const [scope, incarnation = '', ...more] = text.split(' ');
  return scope && more.length === 0 ? { scope, incarnation } : undefined;
}

type ScopeOfCloud = Pick<ConfiguredCloud, 'name' | 'scope' | 'account' | 'formerScopes'>;

/** Whether this is the scope of the cloud, by its current name or one that earlier versions recorded. */
export function isScopeOf(scope: string, cloud: Pick<ScopeOfCloud, 'scope' | 'formerScopes'>): boolean {
  return scope === cloud.scope || cloud.formerScopes?.includes(scope) === true;
}

/** Whether the recorded scope is this one, by its current name or one that earlier versions recorded. */
export function isScopeIn(
  configured: readonly Pick<ConfiguredCloud, 'scope' | 'formerScopes'>[],
  recorded: string,
  scope: string,
): boolean {
  return recorded === scope || configured.some((cloud) => cloud.scope === scope && isScopeOf(recorded, cloud));
}

/**
 * Whether a recorded scope may be replaced by that of this cloud once the instance is found there: it is of the same
 * configuration, of another endpoint of the same account, or of a report. A record of another account may not: the same
 * ids name other instances there.
 */
export function mayBecome(recorded: string, cloud: ScopeOfCloud): boolean {
  if (isScopeOf(recorded, cloud) || recorded === reportScope(cloud.name)) return true;
  return cloud.account !== undefined && recorded.split('/').includes(cloud.account);
}
