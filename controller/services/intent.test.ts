import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { annotations } from '../../common/well-known.ts';
import type { LoadBalancers } from '../clouds/load-balancers.ts';
import { intentOf } from './intent.ts';
import { chooseCloud, type ServingCloud } from './serving-cloud.ts';
import { exampleService, finalized, recorded } from './testing/example-service.ts';

const record = recorded('http://cloud/p/r lb-1');
const ofClass = recorded('http://cloud/p/r lb-1 notes:class:example.com/ours');
const deleted = { deletionTimestamp: '2026-05-01T12:00:00Z' };
const nodePort = { type: 'NodePort' };

describe('what a Service asks for', () => {
  for (const [what, metadata, spec, classes, expected] of [
    ['a load balancer', {}, {}, [], 'ensure'],
    ['a load balancer it has already', { ...finalized, ...record }, {}, [], 'ensure'],
    ['nothing: another type, no finalizer', {}, nodePort, [], 'none'],
    // Upstream's table of needsCleanup.
    ['a removal: the finalizer and another type', { ...finalized }, nodePort, [], 'remove'],
    ['a removal: the finalizer and a deletion', { ...finalized, ...deleted }, {}, [], 'remove'],
    ['a removal: our record alone', { ...record }, nodePort, [], 'remove'],
    // Upstream ensures it at its next start, and loops.
    [
      'nothing: terminating, and nothing of ours is left',
      { ...deleted, finalizers: ['example.com/x'] },
      {},
      [],
      'none',
    ],
    // Upstream looks at the finalizer alone and takes it off Services of others.
    ['nothing: a class of others', { ...finalized }, { loadBalancerClass: 'example.com/other' }, [], 'none'],
    [
      'nothing: a class of others, terminating',
      { ...finalized, ...deleted },
      { loadBalancerClass: 'example.com/other' },
      ['example.com/ours'],
      'none',
    ],
    ['a load balancer of our class', {}, { loadBalancerClass: 'example.com/ours' }, ['example.com/ours'], 'ensure'],
    ['a load balancer of no class, where we have one', {}, {}, ['example.com/ours'], 'ensure'],
    [
      'letting it go: ours once, and now of a class of others',
      { ...finalized, ...record },
      { loadBalancerClass: 'example.com/other' },
      [],
      'disown',
    ],
    [
      'letting it go: of another class of ours once, as another type came in between',
      { ...finalized, ...ofClass },
      { loadBalancerClass: 'example.com/other' },
      [],
      'disown',
    ],
    [
      'keeping it: created for its class, which is no longer ours',
      { ...finalized, ...ofClass },
      { loadBalancerClass: 'example.com/ours' },
      ['example.com/other'],
      'keep',
    ],
    [
      'a removal: created for its class, which is no longer ours, and a deletion',
      { ...finalized, ...ofClass, ...deleted },
      { loadBalancerClass: 'example.com/ours' },
      [],
      'remove',
    ],
    [
      'letting it go: perhaps never created for its class, which is not ours',
      { ...finalized, ...recorded('http://cloud/p/r pending notes:class:example.com/ours') },
      { loadBalancerClass: 'example.com/ours' },
      [],
      'disown',
    ],
    ['a removal: created for its class, and another type', { ...finalized, ...ofClass }, nodePort, [], 'remove'],
  ] as const) {
    it(`asks for ${what}`, () => {
      assert.equal(intentOf(exampleService({ metadata, spec }), classes), expected);
    });
  }

  it('lets a load balancer go where a class of others came and the record went', () => {
    const service = exampleService({ spec: { loadBalancerClass: 'example.com/other' } });
    assert.deepEqual(
      [true, false].map((isMarked) => intentOf(service, [], isMarked)),
      ['disown', 'none'],
    );
  });

  it('ignores the finalizers of others, but not those of the classic controller of a cloud', () => {
    const held = { metadata: { finalizers: ['example.com/x'], ...deleted }, spec: nodePort };
    assert.equal(intentOf(exampleService(held), []), 'none');
    assert.equal(intentOf(exampleService(held, undefined, ['example.com/x']), []), 'remove');
    const ofOthers = { ...held, spec: { loadBalancerClass: 'example.com/other' } };
    assert.equal(intentOf(exampleService(ofOthers, undefined, ['example.com/x']), []), 'none');
  });
});

describe('the cloud that serves a Service', () => {
  const cloud = (name: string, scope: string): ServingCloud => ({ name, scope, loadBalancers: {} as LoadBalancers });
  const one = cloud('aws', 'aws/1');
  const two = cloud('openstack', 'os/1');
  const twin = cloud('openstack', 'os/2');
  const annotated = (name: string) => exampleService({ metadata: { annotations: { [annotations.cloud]: name } } });
  const chosen = (service: ReturnType<typeof annotated>, ...clouds: ServingCloud[]) => {
    const choice = chooseCloud(service, clouds);
    return 'cloud' in choice ? choice.cloud.scope : choice.reason;
  };

  it('chooses the only cloud there is', () => {
    assert.equal(chosen(exampleService(), one), 'aws/1');
    assert.equal(chosen(annotated('aws'), one), 'aws/1');
    assert.equal(chosen(annotated(''), one), 'aws/1');
  });

  it('chooses no cloud while the annotation names another than the only one', () => {
    assert.equal(chosen(annotated('openstack'), one), 'CloudNotChosen');
    const { annotations: record } = recorded('aws/1 lb-1');
    const served = exampleService({ metadata: { annotations: { ...record, [annotations.cloud]: 'openstack' } } });
    assert.equal(chosen(served, one), 'aws/1');
  });

  it('chooses the cloud that the annotation names where there are several', () => {
    assert.equal(chosen(exampleService(), one, two), 'CloudNotChosen');
    assert.equal(chosen(annotated('openstack'), one, two), 'os/1');
    assert.equal(chosen(annotated('gce'), one, two), 'CloudNotChosen');
    assert.equal(chosen(annotated('openstack'), two, twin), 'CloudNotChosen');
    assert.equal(chosen(annotated('os/2'), two, twin), 'os/2');
  });

  it('finds the cloud by a scope without account, as recorded by an older version', () => {
    const service = exampleService({ metadata: recorded('host/region lb-1') });
    const upgraded = { ...cloud('aws', 'host/region/123456789012'), formerScopes: ['host/region'] };
    assert.equal(chosen(service, upgraded, two), 'host/region/123456789012');
    assert.equal(chosen(exampleService({ metadata: recorded('host/region/999 lb-1') }), upgraded), 'ScopeNotServed');
  });

  it('chooses the recorded cloud always, and no other where that one is not configured', () => {
    const service = exampleService({ metadata: recorded('os/1 lb-1') });
    assert.equal(chosen(service, one, two), 'os/1');
    assert.equal(chosen(service, one), 'ScopeNotServed');
  });
});
