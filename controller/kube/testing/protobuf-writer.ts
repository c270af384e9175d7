import type { FieldType, Message } from '../protobuf.ts';

type JsonObject = Readonly<Record<string, unknown>>;

/** The fields of the message, as a Go server writes them: empty strings too, in the order of their numbers. */
export function writeMessage(object: JsonObject, message: Message): Buffer {
  const numbers = Object.keys(message).map(Number);
  return Buffer.concat(numbers.map((number) => writeField(number, message[number]!, object[message[number]![0]])));
}

function writeField(number: number, [, type]: Message[number], value: unknown): Buffer {
  if (type === 'string') return delimited(number, Buffer.from(String(value ?? '')));
  if (value === undefined) return Buffer.alloc(0);
  if (type === 'int') return Buffer.concat([varint(number * 8), varint(value as number)]);
  const values = Array.isArray(value) ? value : type === 'map' ? Object.entries(value as object) : [value];
  return Buffer.concat(values.map((one) => delimited(number, bytesOf(type, one))));
}

function bytesOf(type: FieldType, value: unknown): Buffer {
  if (type === 'time') return writeMessage({ seconds: Date.parse(value as string) / 1000 }, { 1: ['seconds', 'int'] });
  if (type === 'map') {
    const [key, text] = value as [string, string];
    return writeMessage({ key, text }, { 1: ['key', 'string'], 2: ['text', 'string'] });
  }
  if (typeof type === 'string') return type === 'bytes' ? (value as Buffer) : Buffer.from(value as string);
  return writeMessage(value as JsonObject, 'one' in type ? type.one : type.list);
}

/** One object as it stands in an answer. */
export function writeObject(object: JsonObject, message: Message): Buffer {
  const { apiVersion = 'v1', kind } = object;
  const type = { one: { 1: ['apiVersion', 'string'], 2: ['kind', 'string'] } } as const;
  const envelope = { type: { apiVersion, kind }, raw: writeMessage(object, message), encoding: '', contentType: '' };
  const fields: Message = {
    ...{ 1: ['type', type], 2: ['raw', 'bytes'], 3: ['encoding', 'string'], 4: ['contentType', 'string'] },
  };
  return Buffer.concat([Buffer.from('k8s\0'), writeMessage(envelope, fields)]);
}

/** One event of a watch. */
export function writeFrame(type: string, object: Buffer): Buffer {
  const event = { type, object: { raw: object } };
  const frame = writeMessage(event, { 1: ['type', 'string'], 2: ['object', { one: { 1: ['raw', 'bytes'] } }] });
  const length = Buffer.alloc(4);
  length.writeUInt32BE(frame.length);
  return Buffer.concat([length, frame]);
}

export function delimited(number: number, bytes: Buffer): Buffer {
  return Buffer.concat([varint(number * 8 + 2), varint(bytes.length), bytes]);
}

function varint(value: number): Buffer {
  const bytes: number[] = [];
  for (let rest = value; ; rest = Math.floor(rest / 128)) {
    if (rest < 128) return Buffer.from([...bytes, rest]);
    bytes.push((rest % 128) | 0x80);
  }
}
