import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { annotations } from '../../common/well-known.ts';
import type { ObservedLoadBalancer } from '../clouds/load-balancers.ts';
import { type OperatorPolicy, strictPolicy } from './operator-policy.ts';
import { createRetentions } from './retention.ts';
import { exampleService } from './testing/example-service.ts';

const scope = 'x/1';
const allowing: OperatorPolicy = { ...strictPolicy, retain: [{ to: 'namespace', namespace: 'shop' }], retainLimit: 2 };

function serviceOf(number: number, namespace = 'shop', asked = 'true') {
  const metadata = {
    namespace,
    name: 'web',
    uid: `uid-${number}`,
    annotations: { [annotations.loadBalancerRetain]: asked },
  };
  return exampleService({ metadata });
}

function loadBalancer(number: number, changes: Partial<ObservedLoadBalancer> = {}): ObservedLoadBalancer {
  return {
    id: `lb-${number}`,
    name: 'x',
    owner: { cluster: 'c', service: `uid-${number}` },
    state: 'active',
    ingress: [],
    members: [],
    attached: false,
    retained: false,
    createdAtMs: undefined,
    service: 'shop/web',
    ...changes,
  } as ObservedLoadBalancer;
}

const keptOne = (number: number, service = 'shop/old') =>
  loadBalancer(number, { owner: undefined, retained: true, service });

/** What a cloud shows as kept, and the clock, can be set. */
function stage(policy = allowing) {
  let listed: { all: readonly ObservedLoadBalancer[]; atMs: number } = { all: [], atMs: 0 };
  let nowMs = 0;
  const retentions = createRetentions(policy, { retained: () => listed }, () => nowMs);
  return {
    retentions,
    list(atMs: number, ...all: ObservedLoadBalancer[]) {
      nowMs = atMs;
      listed = { all, atMs };
    },
    remove: (number: number, gone = false) =>
      retentions.of(serviceOf(number), scope, { removing: loadBalancer(number), gone }).kind,
  };
}

describe('retention', () => {
  it('retains nothing where no annotation asks for it', () => {
    assert.equal(stage().retentions.of(serviceOf(1, 'shop', 'false'), scope).kind, 'none');
  });

  it('refuses retention where the operator names neither namespace nor class, and says which flag decides', () => {
    const told = stage().retentions.of(serviceOf(1, 'evil'), scope);
    assert.equal(told.kind, 'refused');
    assert.match('message' in told ? told.message : '', /--allow-retain.*evil.*is deleted with the Service/);
  });

  it('grants retention up to the limit, however fast Services come and go between two reads', () => {
    const { remove, retentions } = stage();
    assert.deepEqual(
      [1, 2, 3].map((number) => remove(number)),
      ['granted', 'granted', 'full'],
    );
    retentions.ended(serviceOf(1));
    assert.equal(remove(3), 'full');
    assert.equal(retentions.counts(scope).get('shop'), 2);
  });

  it('keeps the slot of a Service whose removal has begun', () => {
    const { remove, list } = stage();
    assert.equal(remove(1), 'granted');
    list(1000, keptOne(8), keptOne(9));
    assert.equal(remove(1), 'granted');
    assert.equal(remove(2), 'full');
  });

  it('frees the slot of a Service whose removal was abandoned', () => {
    const { remove, retentions } = stage();
    assert.deepEqual([remove(1), remove(2), remove(3)], ['granted', 'granted', 'full']);
    retentions.of(serviceOf(1), scope, { desired: true });
    assert.deepEqual([remove(3), remove(4)], ['granted', 'full']);
    retentions.of(serviceOf(2, 'shop', 'false'), scope);
    assert.equal(remove(4), 'granted');
  });

  it('counts what the cloud shows once, and forgets what a later read does not show any more', () => {
    const { remove, list, retentions } = stage();
    assert.equal(remove(1), 'granted');
    retentions.ended(serviceOf(1));
    list(30_000, keptOne(1));
    assert.equal(retentions.counts(scope).get('shop'), 1);
    // A list may lag behind for a while.
    list(50_000);
    assert.equal(retentions.counts(scope).get('shop'), 1);
    list(90_000);
    assert.equal(retentions.counts(scope).get('shop'), undefined);
  });

  it('counts nothing that is retained for other namespaces', () => {
    const { remove, list } = stage();
    list(1, keptOne(7, 'team-b/a'), keptOne(8, 'team-b/b'), keptOne(9, 'unknown'));
    assert.deepEqual([remove(1), remove(2), remove(3)], ['granted', 'granted', 'full']);
  });

  it('refuses retention at the limit for a Service that no longer exists and so cannot wait', () => {
    const { remove, list } = stage();
    list(1, keptOne(8), keptOne(9));
    assert.deepEqual([remove(1, true), remove(1)], ['refused', 'full']);
  });

  it('takes no slot for a load balancer of others, which stays in any case', () => {
    const { list, retentions } = stage();
    list(1, keptOne(8), keptOne(9));
    const removing = loadBalancer(1, { attached: true });
    assert.equal(retentions.of(serviceOf(1), scope, { removing }).kind, 'granted');
  });

  it('takes no slot for a live Service, and tells what would happen', () => {
    const { list, retentions } = stage();
    for (const number of [1, 2, 3]) assert.equal(retentions.of(serviceOf(number), scope).kind, 'granted');
    list(1, keptOne(8), keptOne(9));
    const told = retentions.of(serviceOf(1), scope);
    assert.equal(told.kind, 'full');
    assert.match('message' in told ? told.message : '', /retains 2 .*--retained-load-balancers-limit is 2/);
  });
});
