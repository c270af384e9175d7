import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { frameReader } from './frame-reader.ts';
import { type Message, readMessage } from './protobuf.ts';
import { readObject, readWatchFrame } from './protobuf-objects.ts';
import { delimited, writeFrame, writeMessage, writeObject } from './testing/protobuf-writer.ts';

const inner: Message = { 1: ['name', 'string'], 3: ['at', 'time'] };
const message: Message = {
  1: ['name', 'string'],
  2: ['count', 'int'],
  4: ['labels', 'map'],
  5: ['words', 'strings'],
  17: ['part', { one: inner }],
  300: ['parts', { list: inner }],
};

const text = fc.string({ unit: 'grapheme', minLength: 1 });
const time = fc
  .integer({ min: 0, max: 4e9 })
  .map((seconds) => new Date(seconds * 1000).toISOString().replace('.000Z', 'Z'));
const part = fc.record({ name: text, at: time }, { requiredKeys: [], noNullPrototype: true });
const object = fc.record(
  {
    name: text,
    count: fc.maxSafeNat(),
    labels: fc.dictionary(
      text.filter((key) => key !== '__proto__'),
      fc.string(),
      { minKeys: 1, noNullPrototype: true },
    ),
    words: fc.array(fc.string(), { minLength: 1 }),
    part,
    parts: fc.array(part, { minLength: 1 }),
  },
  { requiredKeys: [], noNullPrototype: true },
);

describe('a reader of protobuf', () => {
  it('gives what JSON would give', () => {
    fc.assert(
      fc.property(object, (value) => assert.deepEqual(readMessage(writeMessage(value, message), message), value)),
    );
  });

  it('skips fields that it is not asked for', () => {
    fc.assert(
      fc.property(object, (value) => {
        const read = readMessage(writeMessage(value, message), { 17: message[17]! });
        assert.deepEqual(read, value.part === undefined ? {} : { part: value.part });
      }),
    );
  });

  it('skips numbers of fixed width', () => {
    const fixed = Buffer.from([0x31, 1, 2, 3, 4, 5, 6, 7, 8, 0x35, 1, 2, 3, 4]);
    assert.deepEqual(readMessage(Buffer.concat([fixed, delimited(1, Buffer.from('a'))]), message), { name: 'a' });
  });

  it('takes an empty time as none', () => {
    assert.deepEqual(readMessage(delimited(17, delimited(3, Buffer.alloc(0))), message), { part: {} });
  });

  it('ends on any bytes, with an object or an Error', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 60 }), (bytes) => {
        try {
          readMessage(Buffer.from(bytes), message);
        } catch (error) {
          assert.ok(error instanceof Error);
          assert.match(error.message, /than its message|within a|wire type|10 bytes|Invalid time/);
        }
      }),
      { numRuns: 2000 },
    );
  });

  it('refuses a message that was cut', () => {
    const whole = writeMessage({ name: 'abc', parts: [{ name: 'def' }] }, message);
    for (let length = 1; length < whole.length; length += 1) {
      const cut = whole.subarray(0, length);
      // Between two fields a cut does not show; the envelope around it has its length.
      const fields = [5, 5 + 2, 5 + 2 + 3].includes(length);
      if (!fields) assert.throws(() => readMessage(cut, message), Error, `${length}`);
    }
  });
});

describe('an object in protobuf', () => {
  it('carries its type', () => {
    const bytes = writeObject({ kind: 'Node', name: 'a' }, message);
    assert.deepEqual(readObject(bytes, message), { kind: 'Node', apiVersion: 'v1', name: 'a' });
  });

  it('may be a Status in place of the object', () => {
    const fields: Message = {
      3: ['message', 'string'],
      4: ['reason', 'string'],
      5: ['details', { one: { 5: ['retryAfterSeconds', 'int'] } }],
      6: ['code', 'int'],
    };
    const status = {
      kind: 'Status',
      message: 'too old',
      reason: 'Expired',
      details: { retryAfterSeconds: 3 },
      code: 410,
    };
    const frame = writeFrame('ERROR', writeObject(status, fields)).subarray(4);
    assert.deepEqual(readWatchFrame(frame, message), { type: 'ERROR', object: { ...status, apiVersion: 'v1' } });
  });

  it('is refused without its mark', () => {
    assert.throws(() => readObject(Buffer.from('{"kind":"Node"}'), message), /without the mark/);
  });

  it('is refused in an event of unknown type or without an object', () => {
    const one = writeObject({ kind: 'Node', name: 'a' }, message);
    assert.throws(() => readWatchFrame(writeFrame('CHANGED', one).subarray(4), message), /type is none of/);
    assert.throws(() => readWatchFrame(delimited(1, Buffer.from('ADDED')), message), /type ADDED has no object/);
  });
});

describe('a reader of frames', () => {
  it('gives the same frames however the bytes are cut', () => {
    const frames = fc.array(fc.uint8Array({ maxLength: 30 }));
    const cuts = fc.array(fc.nat({ max: 40 }), { maxLength: 20 });
    fc.assert(
      fc.property(frames, cuts, (parts, sizes) => {
        const bytes = Buffer.concat(parts.flatMap((one) => [Buffer.from([0, 0, 0, one.length]), Buffer.from(one)]));
        const seen: number[][] = [];
        const reader = frameReader((frame) => seen.push([...frame]), 30);
        let at = 0;
        for (const size of sizes) {
          reader.push(bytes.subarray(at, at + size));
          at += size;
        }
        reader.push(bytes.subarray(at));
        reader.end();
        assert.deepEqual(
          seen,
          parts.map((one) => [...one]),
        );
      }),
    );
  });

  it('says that bytes are left over', () => {
    const reader = frameReader(() => {}, 30);
    reader.push(Buffer.from([0, 0, 0, 1, 7, 0, 0]));
    assert.throws(() => reader.end(), /cut within a frame, after 2 bytes/);
  });

  it('refuses a frame that is too long', () => {
    const reader = frameReader(() => {}, 30);
    assert.throws(() => reader.push(Buffer.from([0, 0, 0, 31])), /exceeds 30 bytes/);
  });
});
