import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import {
  mayAttach,
  mayKeepAddress,
  mayRetain,
  type OperatorPolicy,
  parseAttachGrant,
  parseRetainGrant,
  strictPolicy,
} from './operator-policy.ts';

const arn = 'arn:aws:elasticloadbalancing:eu-west-1:1:loadbalancer/net/a/b';

describe('the policy of the operator', () => {
  for (const [text, expected] of [
    ['lb-1', { id: 'lb-1', holder: undefined }],
    [arn, { id: arn, holder: undefined }],
    [`${arn}=shop`, { id: arn, holder: { namespace: 'shop', name: undefined } }],
    ['lb-1=shop/web', { id: 'lb-1', holder: { namespace: 'shop', name: 'web' } }],
    ['', undefined],
    ['lb-1=', undefined],
    ['=shop', undefined],
    ['lb-1=Shop', undefined],
    ['lb-1=shop=web', undefined],
    ['lb 1', undefined],
  ] as const) {
    it(`${JSON.stringify(text)} is ${expected ? '' : 'refused as '}a load balancer to attach to`, () =>
      assert.deepEqual(parseAttachGrant(text), expected));
  }

  for (const [text, expected] of [
    ['*', { to: 'all' }],
    ['shop', { to: 'namespace', namespace: 'shop' }],
    ['class:example.com/internal', { to: 'class', name: 'example.com/internal' }],
    ['', undefined],
    ['class:', undefined],
    ['shop/web', undefined],
    ['Shop', undefined],
    ['sho*', undefined],
  ] as const) {
    it(`${JSON.stringify(text)} is ${expected ? 'a grant to retain' : 'refused as a grant to retain'}`, () =>
      assert.deepEqual(parseRetainGrant(text), expected));
  }

  it('an id without a namespace is for Services of every namespace, with one for that namespace alone', () => {
    const attachable = ['lb-1', 'lb-2=shop', 'lb-3=shop/web', 'lb-3=api'].map((text) => parseAttachGrant(text)!);
    const policy = { ...strictPolicy, attachable };
    const who = (id: string) =>
      ['shop/web', 'shop/db', 'api/web', 'evil/web'].filter((one) => mayAttach(policy, id, one));
    assert.deepEqual(who('lb-1'), ['shop/web', 'shop/db', 'api/web', 'evil/web']);
    assert.deepEqual(who('lb-2'), ['shop/web', 'shop/db']);
    assert.deepEqual(who('lb-3'), ['shop/web', 'api/web']);
    assert.deepEqual(who('lb-4'), []);
  });

  it('retention is for no Service unless the operator names the namespace or the class', () => {
    const may = (texts: readonly string[], namespace: string, loadBalancerClass = '') =>
      mayRetain(
        { ...strictPolicy, retain: texts.map((text) => parseRetainGrant(text)!) },
        { namespace, loadBalancerClass },
      );
    assert.equal(may([], 'shop'), false);
    assert.equal(may(['shop'], 'shop'), true);
    assert.equal(may(['shop'], 'shop-2'), false);
    assert.equal(may(['class:example.com/a'], 'shop', 'example.com/a'), true);
    assert.equal(may(['class:example.com/a'], 'shop'), false);
    assert.equal(may(['class:example.com/a'], 'example.com'), false);
    assert.equal(may(['*'], 'any'), true);
  });

  it('every Service may keep an address, as with the classic controller, until the operator names some', () => {
    const service = { namespace: 'shop', loadBalancerClass: '' };
    const may = (keepAddress: OperatorPolicy['keepAddress']) =>
      mayKeepAddress({ ...strictPolicy, keepAddress }, service);
    assert.equal(may(undefined), true);
    assert.equal(may([]), false);
    assert.equal(may([{ to: 'namespace', namespace: 'shop' }]), true);
    assert.equal(may([{ to: 'namespace', namespace: 'other' }]), false);
  });
});
