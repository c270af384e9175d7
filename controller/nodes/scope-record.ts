import type { Instance } from '../../common/instance.ts';

/** What the annotation mooring.dev/instance says: in which scope the Node's instance was found, and which incarnation it was. */
export interface ScopeRecord {
  readonly scope: string;
  /** Empty when the cloud tells none. */
  readonly incarnation: string;
}

/** The scope under which proved reports are recorded where no API of the cloud is configured. */
export function reportScope(cloud: string): string {
  return `report:${cloud}`;
}

/** The cloud of such a scope; undefined for the scope of an API. */
export function cloudOfReportScope(scope: string): string | undefined {
  return scope.startsWith('report:') ? scope.slice('report:'.length) : undefined;
}

export function printRecord(scope: string, instance: Instance): string {
  return instance.incarnation === undefined ? scope : `${scope} ${instance.incarnation}`;
}

/** Undefined for a missing or foreign-looking value: such a Node counts as never found. */
export function parseRecord(text: string | undefined): ScopeRecord | undefined {
  if (text === undefined) return undefined;
  const [scope, incarnation = '', ...more] = text.split(' ');
  return scope && more.length === 0 ? { scope, incarnation } : undefined;
}
