import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import {
  classicName,
  createdOn,
  floatingIpDescription,
  isPieceName,
  markIn,
  ownerMark,
  pieceName,
  retainedMark,
  securityGroupName,
  serviceIn,
  serviceOfClassicName,
  withMark,
} from './names.ts';

const owner = { cluster: '11111111-2222-4333-8444-555555555555', service: '66666666-7777-4888-8999-000000000000' };
const long = `${'n'.repeat(63)}/${'s'.repeat(63)}`;

describe('names of OpenStack things', () => {
  it('gives OpenStack things the names of the classic controller', () => {
    const name = classicName({ service: 'default/web', clusterName: 'kubernetes' });
    assert.equal(name, 'kube_service_kubernetes_default_web');
    assert.equal(pieceName('listener', 2, name), 'listener_2_kube_service_kubernetes_default_web');
    assert.equal(securityGroupName(owner, 'default/web'), `lb-sg-${owner.service}-default-web`);
    assert.ok(isPieceName('pool', 'pool_11_kube_service_kubernetes_default_web', name));
    assert.ok(!isPieceName('pool', 'pool_x_kube_service_kubernetes_default_web', name));
    assert.ok(!isPieceName('pool', 'pool_0_kube_service_kubernetes_default_web2', name));
  });

  it('never exceeds what OpenStack takes in a name, and keeps the mark', () => {
    const clusterName = 'c'.repeat(200);
    assert.equal(classicName({ service: long, clusterName }).length, 255);
    const description = floatingIpDescription({ owner, service: long });
    assert.ok(description.length <= 255, String(description.length));
    assert.deepEqual(markIn(description), { ...owner, keep: false });
    assert.equal(markIn(floatingIpDescription({ owner, service: long }, true))?.keep, true);
    assert.equal(serviceIn(description), long);
    const cut = withMark('x'.repeat(400), ownerMark(owner));
    assert.equal(cut.length, 255);
    assert.deepEqual(markIn(cut), { ...owner, keep: false });
  });

  it('a floating IP tells the port that it was created on, unless a part of that would be cut off', () => {
    const port = '99999999-aaaa-4bbb-8ccc-dddddddddddd';
    for (const keep of [true, false]) {
      const description = floatingIpDescription({ owner, service: 'default/web', port }, keep);
      assert.deepEqual([createdOn(description), markIn(description)], [port, { ...owner, keep }]);
      assert.equal(serviceIn(description), 'default/web');
      assert.equal(createdOn(floatingIpDescription({ owner, service: 'default/web' }, keep)), undefined);
      for (let length = 1; length < long.length; length += 1) {
        const service = long.slice(-length);
        const told = createdOn(floatingIpDescription({ owner, service, port }, keep));
        assert.ok(length < 60 ? told === port : [port, undefined].includes(told), `${length}: ${told}`);
      }
    }
    assert.equal(createdOn(`Floating IP for Kubernetes external service default/web on port ${port}`), undefined);
  });

  it('a mark counts at the end alone, and a retained one names no Service', () => {
    assert.equal(markIn('Floating IP for Kubernetes external service a/b from cluster c'), undefined);
    assert.equal(markIn(`${ownerMark(owner)} and more`), undefined);
    assert.deepEqual(markIn(withMark('x', retainedMark(owner))), {
      cluster: owner.cluster,
      service: undefined,
      keep: false,
      keptFor: undefined,
    });
  });

  it('one that was kept tells for whom, also where an earlier version has marked it', () => {
    const description = 'Floating IP for Kubernetes external service team-a/web';
    const named = withMark(description, retainedMark(owner, 'team-b/api'));
    assert.equal(markIn(named)?.keptFor, 'team-b/api');
    assert.equal(markIn(named)?.service, undefined);
    assert.equal(markIn(withMark(description, retainedMark(owner)))?.keptFor, 'team-a/web');
    assert.equal(markIn(withMark(description, `[mooring ${owner.cluster} left]`))?.keptFor, undefined);
    const longest = withMark(`${description}${'x'.repeat(300)}`, retainedMark(owner, long));
    assert.deepEqual([longest.length, markIn(longest)?.keptFor], [255, long]);
  });

  it('a Service is read from the name that the classic controller gives its load balancer', () => {
    assert.equal(serviceOfClassicName('kube_service_my_cluster_shop_web-1'), 'shop/web-1');
    assert.equal(serviceOfClassicName('mooring.dev/port=TCP-80'), undefined);
  });
});
