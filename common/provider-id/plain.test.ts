import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { comparableId } from './comparable-id.ts';
import { plainCodec } from './plain.ts';
import { codecOf, providerIdCodecs } from './registry.ts';

describe('the providerID of a cloud that is no part of Mooring', () => {
  const { parse, print } = plainCodec('example');

  it('prints and parses the name of the cloud and the whole id', () => {
    for (const instanceId of ['1', 'srv-aB', 'zone/1', '//zone/1']) {
      assert.equal(print({ instanceId }), `example://${instanceId}`);
      assert.deepEqual(parse(`example://${instanceId}`), { instanceId });
    }
  });

  it('refuses the providerID of another cloud, and one without a valid id', () => {
    for (const text of ['', '1', 'example://', 'example:/1', 'example2://1', 'aws://1', 'example://a b', 'example://ä'])
      assert.equal(parse(text), undefined, text);
    assert.throws(() => print({ instanceId: 'a b' }), /instanceId: "a b", expected/);
  });

  it('distinguishes ids that differ in case', () => {
    assert.notEqual(comparableId({ cloud: 'example', id: 'aB' }), comparableId({ cloud: 'example', id: 'ab' }));
  });

  it('keeps the codec of each cloud of Mooring', () => {
    for (const [name, codec] of providerIdCodecs) assert.equal(codecOf(name), codec);
    assert.equal(codecOf('example').scheme, 'example');
  });
});
