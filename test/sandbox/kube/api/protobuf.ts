import type { JsonObject } from '../json.ts';

/** `k8s\0`, then runtime.Unknown: 1 = {1: apiVersion, 2: kind}, 2 = the message itself. */
const magic = Buffer.from([0x6b, 0x38, 0x73, 0x00]);

type Fields = Map<number, Buffer | number>;

/** Fields of one message by number; a repeated one shows its last value. Undefined when it is no protobuf. */
function readFields(bytes: Buffer): Fields | undefined {
  const fields: Fields = new Map();
  let offset = 0;
  const varint = (): number => {
    let value = 0;
    for (let shift = 0; shift < 50; shift += 7) {
      const byte = bytes[offset];
      if (byte === undefined) return -1;
      offset += 1;
      value += (byte & 0x7f) * 2 ** shift;
      if (byte < 0x80) return value;
    }
    return -1;
  };
  while (offset < bytes.length) {
    const tag = varint();
    if (tag < 0) return undefined;
    if ((tag & 7) === 0) fields.set(tag >>> 3, varint());
    else if ((tag & 7) === 2) {
      const length = varint();
      if (length < 0 || offset + length > bytes.length) return undefined;
      fields.set(tag >>> 3, bytes.subarray(offset, offset + length));
      offset += length;
    } else return undefined;
  }
  return fields;
}

function message(fields: Fields | undefined, number: number): Fields | undefined {
  const part = fields?.get(number);
  return Buffer.isBuffer(part) ? readFields(part) : undefined;
}

function texts(fields: Fields | undefined, names: Record<number, string>): JsonObject {
  const result: JsonObject = {};
  for (const [number, name] of Object.entries(names)) {
    const part = fields?.get(Number(number));
    if (Buffer.isBuffer(part) && part.length > 0) result[name] = part.toString('utf8');
  }
  return result;
}

const resourceAttributes = {
  1: 'namespace',
  2: 'verb',
  3: 'group',
  4: 'version',
  5: 'resource',
  6: 'subresource',
  7: 'name',
};

/**
 * The reviews about oneself, which stock kubectl posts as protobuf: SelfSubjectAccessReview, SelfSubjectRulesReview and
 * SelfSubjectReview. Undefined for anything else.
 */
export function readProtobufReview(body: Uint8Array): JsonObject | undefined {
  const bytes = Buffer.from(body);
  if (!bytes.subarray(0, 4).equals(magic)) return undefined;
  const unknown = readFields(bytes.subarray(4));
  const type = texts(message(unknown, 1), { 1: 'apiVersion', 2: 'kind' });
  const raw = unknown?.get(2);
  const review = Buffer.isBuffer(raw) ? readFields(raw) : undefined;
  const spec = message(review, 2);
  switch (type['kind']) {
    case 'SelfSubjectReview':
      return type;
    case 'SelfSubjectRulesReview':
      return { ...type, spec: texts(spec, { 1: 'namespace' }) };
    case 'SelfSubjectAccessReview': {
      const resource = message(spec, 1);
      const path = message(spec, 2);
      return {
        ...type,
        spec: {
          ...(resource ? { resourceAttributes: texts(resource, resourceAttributes) } : {}),
          ...(path ? { nonResourceAttributes: texts(path, { 1: 'path', 2: 'verb' }) } : {}),
        },
      };
    }
    default:
      return undefined;
  }
}
