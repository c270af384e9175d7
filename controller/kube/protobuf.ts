/** How a field is read. `time` is metav1.Time, read as JSON has it: RFC 3339 in UTC, without a fraction. */
export type FieldType =
  | 'string'
  | 'strings'
  | 'int'
  | 'bytes'
  | 'time'
  /** From string to string. */
  | 'map'
  | { readonly one: Message }
  | { readonly list: Message };

/** The fields of a message that are read: their names in JSON and types, by number. All others are skipped unread. */
export type Message = Readonly<Record<number, readonly [name: string, type: FieldType]>>;

interface Cursor {
  readonly bytes: Buffer;
  at: number;
}

/**
 * Reads a protobuf message into the object that JSON would give. An empty string counts as absent, as in the JSON of
 * Kubernetes, whose protobuf writes every string; values of a map stay. `bytes` is a view, not a copy. Throws an Error
 * that names the fault.
 */
export function readMessage(bytes: Buffer, message: Message): Record<string, unknown> {
  return readFields({ bytes, at: 0 }, bytes.length, message);
}

function readFields(cursor: Cursor, end: number, message: Message): Record<string, unknown> {
  const object: Record<string, unknown> = {};
  while (cursor.at < end) {
    const tag = varint(cursor);
    const wire = tag % 8;
    const field = message[(tag - wire) / 8];
    if (wire === 0) {
      const value = varint(cursor);
      if (field?.[1] === 'int') object[field[0]] = value;
    } else if (wire === 2) {
      const length = varint(cursor);
      const next = cursor.at + length;
      if (next > end) throw new Error('a field is longer than its message');
      if (field !== undefined) readField(cursor, next, field, object);
      cursor.at = next;
    } else if (wire === 5) cursor.at += 4;
    else if (wire === 1) cursor.at += 8;
    else throw new Error(`wire type ${wire}, expected 0, 1, 2 or 5`);
  }
  if (cursor.at > end) throw new Error('a message ends within a field');
  return object;
}

function readField(
  cursor: Cursor,
  end: number,
  [name, type]: readonly [string, FieldType],
  object: Record<string, unknown>,
): void {
  switch (type) {
    case 'string':
      if (end > cursor.at) object[name] = cursor.bytes.toString('utf8', cursor.at, end);
      return;
    case 'strings':
      listIn(object, name).push(cursor.bytes.toString('utf8', cursor.at, end));
      return;
    case 'bytes':
      object[name] = cursor.bytes.subarray(cursor.at, end);
      return;
    case 'time': {
      const { seconds } = readFields(cursor, end, timestamp);
      if (typeof seconds === 'number') object[name] = new Date(seconds * 1000).toISOString().replace('.000Z', 'Z');
      return;
    }
    case 'map': {
      const entry = readFields(cursor, end, mapEntry);
      object[name] ??= {};
      const map = object[name] as Record<string, unknown>;
      map[String(entry['key'] ?? '')] = entry['value'] ?? '';
      return;
    }
    case 'int':
      return;
    default:
      if ('one' in type) object[name] = readFields(cursor, end, type.one);
      else listIn(object, name).push(readFields(cursor, end, type.list));
  }
}

const timestamp: Message = { 1: ['seconds', 'int'] };
const mapEntry: Message = { 1: ['key', 'string'], 2: ['value', 'string'] };

function listIn(object: Record<string, unknown>, name: string): unknown[] {
  object[name] ??= [];
  return object[name] as unknown[];
}

/** Exact up to 2^53; a negative one, which nothing here reads, comes out as a huge one. */
function varint(cursor: Cursor): number {
  let value = 0;
  for (let factor = 1; factor <= 2 ** 63; factor *= 128) {
    const byte = cursor.bytes[cursor.at];
    if (byte === undefined) throw new Error('a message ends within a number');
    cursor.at += 1;
    value += (byte & 0x7f) * factor;
    if (byte < 0x80) return value;
  }
  throw new Error('a number has more than 10 bytes');
}
