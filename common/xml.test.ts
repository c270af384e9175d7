import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { childOf, childrenOf, childText, escapeXml, parseXml } from './xml.ts';

describe('XML', () => {
  it('reads XML as a tree of names without prefixes, with attributes as written', () => {
    const root = parseXml(
      `<?xml version="1.0"?><s:Envelope xmlns:s="urn:s">
        <s:Body><a type="VM">vm-1</a><a/><b>x &amp; <c>y</c></b></s:Body></s:Envelope>`,
    );
    const body = childOf(root, 'Body');
    assert.equal(root.name, 'Envelope');
    assert.deepEqual(
      childrenOf(body, 'a').map(({ attributes, text }) => [attributes['type'], text]),
      [
        ['VM', 'vm-1'],
        [undefined, ''],
      ],
    );
    assert.equal(childText(body, 'b'), 'x &');
    assert.equal(childText(body, 'a'), 'vm-1');
    assert.equal(childText(childOf(body, 'b'), 'nothing'), undefined);
  });

  it('refuses XML that is cut, malformed or has custom entities', () => {
    const whole = '<a><b>text</b></a>';
    for (let length = 0; length < whole.length; length += 1) assert.throws(() => parseXml(whole.slice(0, length)));
    assert.throws(() => parseXml('<html><br></html>'));
    assert.throws(() => parseXml('<!DOCTYPE a [<!ENTITY x SYSTEM "file:///etc/passwd">]><a>&x;</a>'));
  });

  it('parses every escaped text back, in a text and in an attribute', () => {
    fc.assert(
      fc.property(fc.string({ unit: fc.constantFrom('<', '>', '&', '"', "'", ';', '#', 'a', 'é', '😀') }), (text) => {
        const { attributes, text: read } = parseXml(`<a b="${escapeXml(text)}">${escapeXml(text)}</a>`);
        assert.deepEqual([attributes['b'], read], [text, text]);
      }),
    );
  });
});
