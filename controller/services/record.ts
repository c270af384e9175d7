/** The annotation mooring.dev/load-balancer: in which scope the load balancer was created, and its id. */
export interface LoadBalancerRecord {
  readonly scope: string;
  /** Undefined = `pending`: written before the first call to the cloud, until create has answered. */
  readonly id: string | undefined;
  /** It was adopted with these addresses, and does not carry our tags yet. */
  readonly adopted?: readonly string[];
  /** Text of the cloud's driver, returned to it unchanged. */
  readonly notes?: string | undefined;
  /** The class of the Service that it was created for; undefined = none, or written by an earlier version. */
  readonly loadBalancerClass?: string;
}

const pending = 'pending';
const adoptedMark = 'adopted:';
const notesMark = 'notes:';
/** Last within the notes: earlier versions read these, ignore what they do not know there, and refuse other marks. */
const classMark = 'class:';

export function printRecord({ scope, id = pending, adopted, notes, loadBalancerClass }: LoadBalancerRecord): string {
  const noted = [...(notes ? [notes] : []), ...(loadBalancerClass ? [classMark + loadBalancerClass] : [])].join(';');
  return [scope, id, ...(adopted ? [adoptedMark + adopted.join()] : []), ...(noted ? [notesMark + noted] : [])].join(
    ' ',
  );
}

/** Undefined for a missing or invalid value: such a Service counts as never served by us. */
export function parseRecord(text: string | undefined): LoadBalancerRecord | undefined {
  if (text === undefined) return undefined;
  const [scope, id, ...marks] = text.split(' ');
  if (!scope || !id) return undefined;
  const noted = marks.at(-1)?.startsWith(notesMark) ? marks.pop()!.slice(notesMark.length) : undefined;
  const record = { scope, id: id === pending ? undefined : id, ...parseNoted(noted) };
  const [mark, ...more] = marks;
  if (more.length > 0 || noted === '' || record.loadBalancerClass === '') return undefined;
  if (mark === undefined) return record;
  const adopted = mark.startsWith(adoptedMark) ? mark.slice(adoptedMark.length).split(',') : [''];
  return adopted.includes('') ? undefined : { ...record, adopted };
}

function parseNoted(noted: string | undefined): Pick<LoadBalancerRecord, 'notes' | 'loadBalancerClass'> {
  const parts = noted?.split(';') ?? [];
  const mark = parts.at(-1)?.startsWith(classMark) ? parts.pop() : undefined;
  return {
    ...(parts.length > 0 && { notes: parts.join(';') }),
    ...(mark !== undefined && { loadBalancerClass: mark.slice(classMark.length) }),
  };
}
