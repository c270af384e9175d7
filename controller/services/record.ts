/** The annotation mooring.dev/load-balancer: in which scope the load balancer was created, and its id. */
export interface LoadBalancerRecord {
  readonly scope: string;
  /** Undefined = `pending`: written before the first call to the cloud, until create has answered. */
  readonly id: string | undefined;
  /** It was adopted with these addresses, and does not carry our tags yet. */
  readonly adopted?: readonly string[];
  /** Text of the cloud's driver, returned to it unchanged. */
  readonly notes?: string | undefined;
}

const pending = 'pending';
const adoptedMark = 'adopted:';
const notesMark = 'notes:';

export function printRecord({ scope, id = pending, adopted, notes }: LoadBalancerRecord): string {
  return [scope, id, ...(adopted ? [adoptedMark + adopted.join()] : []), ...(notes ? [notesMark + notes] : [])].join(
    ' ',
  );
}

/** Undefined for a missing or invalid value: such a Service counts as never served by us. */
export function parseRecord(text: string | undefined): LoadBalancerRecord | undefined {
  if (text === undefined) return undefined;
  const [scope, id, ...marks] = text.split(' ');
  if (!scope || !id) return undefined;
  const notes = marks.at(-1)?.startsWith(notesMark) ? marks.pop()!.slice(notesMark.length) : undefined;
  const record = { scope, id: id === pending ? undefined : id, ...(notes !== undefined && { notes }) };
  const [mark, ...more] = marks;
  if (more.length > 0 || notes === '') return undefined;
  if (mark === undefined) return record;
  const adopted = mark.startsWith(adoptedMark) ? mark.slice(adoptedMark.length).split(',') : [''];
  return adopted.includes('') ? undefined : { ...record, adopted };
}
