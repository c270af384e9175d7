import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import {
  allowRuleName,
  baseName,
  codeOf,
  codesIn,
  frontendName,
  isOfBase,
  ownerOf,
  publicAddressName,
  ruleName,
  withCodes,
} from './names.ts';

const cluster = '5f3b0d3e-0000-4000-8000-000000000001';

describe('names of what Services have in a load balancer of Azure', () => {
  it('tell the owner where the tags list it, and never for another cluster', () => {
    const uids = fc.array(fc.uuid(), { minLength: 1, maxLength: 100 });
    fc.assert(
      fc.property(uids, fc.uuid(), (services, other) => {
        const tags = withCodes({ team: 'web' }, new Set(services.map((service) => codeOf({ cluster, service }))));
        assert.ok(Object.values(tags).every((text) => text.length <= 256));
        const codes = codesIn(tags);
        for (const service of services) {
          const name = `${baseName(service)}-TCP-80`;
          assert.deepEqual(ownerOf(name, cluster, codes), { cluster, service });
          assert.equal(ownerOf(name, other, codes), undefined);
        }
        assert.equal(ownerOf(baseName(other), cluster, codes), undefined);
        assert.deepEqual(withCodes(tags, new Set()), { team: 'web' });
      }),
    );
  });

  it('fits the codes of 600 Services in at most 20 tags of a resource', () => {
    const codes = Array.from({ length: 600 }, (_, at) => codeOf({ cluster, service: String(at) }));
    assert.ok(Object.keys(withCodes({}, new Set(codes))).length <= 20);
  });

  it('names what a Service has as the classic controller does', () => {
    const base = baseName('9e65a8c5-4b9b-4ad9-a1b5-8d0f4d0a1b2c');
    assert.equal(base, 'a9e65a8c54b9b4ad9a1b58d0f4d0a1b2');
    assert.ok(isOfBase(`${base.toUpperCase()}-TCP-80`, base) && !isOfBase(`${base}x`, base));
    assert.equal(ruleName({ base, subnet: undefined }, 'UDP', 53), `${base}-UDP-53`);
    assert.equal(ruleName({ base, subnet: 'pods', suffix: '-IPv6' }, 'TCP', 80), `${base}-pods-TCP-80-IPv6`);
    assert.equal(ruleName({ base, subnet: 's'.repeat(80) }, 'TCP', 80).length, 75);
    assert.equal(frontendName(base, 'pods'), `${base}-pods`);
    assert.equal(frontendName(base, 'pods', '-IPv6'), `${base}-pods-IPv6`);
    assert.equal(publicAddressName('c', base, undefined, '-IPv6'), `c-${base}-IPv6`);
    assert.match(frontendName(base, '1'.repeat(80)), /^.{74}_$/);
    // md5 of Tcp_Internet_443,80
    assert.equal(
      allowRuleName('IPv4', 'Tcp', ['Internet'], ['443', '80']),
      'k8s-azure-lb_allow_IPv4_556f7044ec033071ec0dfcf7cd85bc93',
    );
  });
});
