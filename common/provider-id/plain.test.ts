import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { comparableId } from './comparable-id.ts';
import { plainCodec } from './plain.ts';
import { codecOf, providerIdCodecs } from './registry.ts';

describe('the providerID of a cloud that is no part of Mooring', () => {
  const { parse, print } = plainCodec('example');

  it('is the name of the cloud and the whole id', () => {
    for (const instanceId of ['1', 'srv-aB', 'zone/1', '//zone/1']) {
      assert.equal(print({ instanceId }), `example://${instanceId}`);
      assert.deepEqual(parse(`example://${instanceId}`), { instanceId });
    }
  });

  it('is of no other cloud, and not without an id', () => {
    for (const text of ['', '1', 'example://', 'example:/1', 'example2://1', 'aws://1', 'example://a b', 'example://ä'])
      assert.equal(parse(text), undefined, text);
    assert.throws(() => print({ instanceId: 'a b' }), /instanceId: "a b", expected/);
  });

  it('has one spelling', () => {
    assert.notEqual(comparableId({ cloud: 'example', id: 'aB' }), comparableId({ cloud: 'example', id: 'ab' }));
  });

  it('is never read for a cloud of Mooring', () => {
    for (const [name, codec] of providerIdCodecs) assert.equal(codecOf(name), codec);
    assert.equal(codecOf('example').scheme, 'example');
  });
});
