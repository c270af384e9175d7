import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { accessTo, isKeptFor, nameHolder } from './access.ts';

const port = (number: number) =>
  ({ name: '', protocol: 'TCP', port: number, nodePort: 0, appProtocol: undefined }) as const;
const desired = {
  owner: { cluster: 'uid', service: 's' },
  service: 'shop/web',
  clusterWideConsent: false,
  ports: [port(80), port(443)],
};
const on = (...numbers: number[]) => numbers.map((number) => ({ port: number, protocol: 'TCP' as const }));
const asked = { what: 'load balancer lb-1', allowed: false };

describe('the use of resources of others', () => {
  it('needs a tag that names the Service or its namespace, the list, or the flag', () => {
    assert.equal(accessTo({ ...asked, consent: undefined }, desired).may, 'nothing');
    assert.equal(accessTo({ ...asked, consent: 'uid/shop' }, desired).may, 'use');
    assert.equal(accessTo({ ...asked, consent: 'uid/shop/web' }, desired).may, 'use');
    assert.equal(accessTo({ ...asked, consent: 'uid/evil' }, desired).may, 'nothing');
    assert.equal(accessTo({ ...asked, consent: undefined, allowed: true }, desired).may, 'use');
    assert.equal(accessTo({ ...asked, consent: 'uid' }, desired).may, 'nothing');
    assert.equal(accessTo({ ...asked, consent: 'uid' }, { ...desired, clusterWideConsent: true }).may, 'use');
    assert.equal(accessTo({ ...asked, consent: 'other' }, { ...desired, clusterWideConsent: true }).may, 'nothing');
  });

  it('continues with a tag for the whole cluster, with a remark and without additions', () => {
    const whole = accessTo({ ...asked, consent: 'uid', served: on(80, 443) }, desired);
    assert.deepEqual([whole.may, 'refusal' in whole && whole.refusal.reason], ['keep', 'ClusterWideConsent']);
    const part = accessTo({ ...asked, consent: 'uid', served: on(80) }, desired);
    assert.deepEqual([part.may, 'refusal' in part && part.refusal.reason], ['keep', 'ForeignLoadBalancer']);
    assert.deepEqual('refusal' in part && part.refusal.ports, [port(443)]);
    assert.equal(accessTo({ ...asked, consent: undefined, served: on(80, 443) }, desired).may, 'nothing');
  });

  it('refuses use with the tag that would allow it, and names the list flag for load balancers alone', () => {
    const told = accessTo({ ...asked, consent: undefined }, desired);
    const message = 'refusal' in told ? told.refusal.message : '';
    assert.match(message, /mooring\.dev\/attachable-by with uid\/shop or uid\/shop\/web.*--attachable-load-balancers/);
    const address = accessTo({ what: 'address a-1', consent: undefined }, desired);
    assert.doesNotMatch('refusal' in address ? address.refusal.message : '', /--attachable-load-balancers/);
  });

  it('names the holder in full within the namespace, and otherwise only its namespace', () => {
    assert.equal(nameHolder('shop/api', desired), 'Service shop/api');
    assert.equal(nameHolder('team-a/secret-project', desired), 'a Service of namespace team-a');
    assert.equal(nameHolder(undefined, desired), 'another owner');
    assert.equal(nameHolder('unknown', desired), 'another owner');
  });

  it('allows a retained resource only for Services of its namespace', () => {
    assert.equal(isKeptFor('shop/old', 'shop/web'), true);
    assert.equal(isKeptFor('shop-2/old', 'shop/web'), false);
    assert.equal(isKeptFor('unknown', 'unknown/web'), false);
    assert.equal(isKeptFor(undefined, 'shop/web'), false);
  });
});
