import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { LoadBalancers, ObservedLoadBalancer } from '../clouds/load-balancers.ts';
import type { Observation } from './observation.ts';
import { createObservations } from './observations.ts';
import { createServiceStates } from './service-state.ts';
import type { ServingCloud } from './serving-cloud.ts';

function seen(service: string, id: string, cluster = 'c1'): ObservedLoadBalancer {
  return {
    id,
    name: id,
    owner: { cluster, service },
    state: 'active',
    ingress: [],
    members: [],
    attached: false,
    retained: false,
    createdAtMs: undefined,
    service: undefined,
  };
}

/** A cloud whose answer to a read of everything is given when the test says so. */
function cloudOf(): { readonly cloud: ServingCloud; answer(items: readonly ObservedLoadBalancer[]): void } {
  let resolve: (items: readonly ObservedLoadBalancer[]) => void = () => {};
  const observeAll = () =>
    new Promise<readonly ObservedLoadBalancer[]>((done) => {
      resolve = done;
    });
  const loadBalancers = { observeAll } as unknown as LoadBalancers;
  return { cloud: { name: 'x', scope: 's', loadBalancers }, answer: (items) => resolve(items) };
}

const made = (observed: ObservedLoadBalancer | undefined, changes: Partial<Observation> = {}): Observation => ({
  observed,
  source: 'answer',
  readId: undefined,
  readReferences: undefined,
  missingSinceMs: undefined,
  atMs: 1,
  fresh: true,
  ...changes,
});

describe('the observations of the clouds', () => {
  it('knows nothing before the first complete read, and then also what was not found', async () => {
    const { cloud, answer } = cloudOf();
    const observations = createObservations('c1', () => 0, createServiceStates());
    assert.equal(observations.of('s', 'a'), undefined);
    const reading = observations.refresh(cloud);
    answer([seen('a', 'lb-a'), seen('b', 'lb-b', 'another cluster')]);
    await reading;
    assert.equal(observations.of('s', 'a')?.observed?.id, 'lb-a');
    assert.deepEqual([observations.of('s', 'b')?.observed, observations.of('s', 'b')?.source], [undefined, 'list']);
    assert.equal(observations.of('other', 'a'), undefined);
  });

  it('a list that began before a write does not overwrite it', async () => {
    const { cloud, answer } = cloudOf();
    const observations = createObservations('c1', () => 0, createServiceStates());
    const reading = observations.refresh(cloud);
    observations.put('s', 'a', made(seen('a', 'lb-new')));
    observations.put('s', 'b', made(undefined));
    answer([seen('a', 'lb-old'), seen('b', 'lb-old')]);
    await reading;
    assert.equal(observations.of('s', 'a')?.observed?.id, 'lb-new');
    assert.equal(observations.of('s', 'b')?.observed, undefined);
  });

  it('an invalidated observation stays invalid until it is read by itself, whatever a list shows', async () => {
    const { cloud, answer } = cloudOf();
    const observations = createObservations('c1', () => 7, createServiceStates());
    observations.put('s', 'a', made(undefined));
    observations.invalidate('s', 'a', { mayHaveCreated: true });
    const reading = observations.refresh(cloud);
    answer([]);
    await reading;
    const observation = observations.of('s', 'a');
    assert.deepEqual([observation?.fresh, observation?.missingSinceMs], [false, 7]);
  });

  it('a load balancer that a later list misses counts neither as existing nor as read', async () => {
    const { cloud, answer } = cloudOf();
    const observations = createObservations('c1', () => 0, createServiceStates());
    observations.put('s', 'a', made(seen('a', 'lb-a')));
    const reading = observations.refresh(cloud);
    answer([]);
    await reading;
    assert.deepEqual([observations.of('s', 'a')?.observed, observations.of('s', 'a')?.source], [undefined, 'list']);
  });

  it('since when a load balancer is missing is kept over later lists', async () => {
    const { cloud, answer } = cloudOf();
    const observations = createObservations('c1', () => 0, createServiceStates());
    observations.put('s', 'a', made(undefined, { source: 'read', missingSinceMs: 5 }));
    const reading = observations.refresh(cloud);
    answer([]);
    await reading;
    assert.equal(observations.of('s', 'a')?.missingSinceMs, 5);
  });

  it('a scope is not ready when its first list fails', async () => {
    const observations = createObservations('c1', () => 0, createServiceStates());
    const loadBalancers = { observeAll: async () => Promise.reject(new Error('down')) } as unknown as LoadBalancers;
    await assert.rejects(observations.refresh({ name: 'x', scope: 's', loadBalancers }), /down/);
    assert.equal(observations.ready('s'), false);
  });
});
