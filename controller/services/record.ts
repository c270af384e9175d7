/** What the annotation mooring.dev/load-balancer says: in which scope the load balancer was made, and its id. */
export interface LoadBalancerRecord {
  readonly scope: string;
  /** Undefined = `pending`: written before the first call to the cloud, until create has answered. */
  readonly id: string | undefined;
}

const pending = 'pending';

export function printRecord({ scope, id = pending }: LoadBalancerRecord): string {
  return `${scope} ${id}`;
}

/** Undefined for a missing or foreign-looking value: such a Service counts as never served by us. */
export function parseRecord(text: string | undefined): LoadBalancerRecord | undefined {
  if (text === undefined) return undefined;
  const [scope, id, ...more] = text.split(' ');
  if (!scope || !id || more.length > 0) return undefined;
  return { scope, id: id === pending ? undefined : id };
}
