import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { LoadBalancers, ObservedLoadBalancer } from '../clouds/load-balancers.ts';
import type { Known } from './observation.ts';
import { createObservations } from './observations.ts';
import { createServiceStates } from './service-state.ts';
import type { ServingCloud } from './wants.ts';

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

const made = (observed: ObservedLoadBalancer | undefined, changes: Partial<Known> = {}): Known => ({
  observed,
  source: 'made',
  askedId: undefined,
  askedFor: undefined,
  missingSinceMs: undefined,
  atMs: 1,
  fresh: true,
  ...changes,
});

describe('what is known of the clouds', () => {
  it('is nothing until everything has been read once; then what was not seen is known, too', async () => {
    const { cloud, answer } = cloudOf();
    const observations = createObservations('c1', () => 0, createServiceStates());
    assert.equal(observations.of('s', 'a'), undefined);
    const reading = observations.refresh(cloud);
    answer([seen('a', 'lb-a'), seen('b', 'lb-b', 'another cluster')]);
    await reading;
    assert.equal(observations.of('s', 'a')?.observed?.id, 'lb-a');
    assert.deepEqual([observations.of('s', 'b')?.observed, observations.of('s', 'b')?.source], [undefined, 'all']);
    assert.equal(observations.of('other', 'a'), undefined);
  });

  it('is not taken back by a read that began before it', async () => {
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

  it('that was spoilt stays so until it is asked for, whatever a search says', async () => {
    const { cloud, answer } = cloudOf();
    const observations = createObservations('c1', () => 7, createServiceStates());
    observations.put('s', 'a', made(undefined));
    observations.invalidate('s', 'a', { mayHaveMade: true });
    const reading = observations.refresh(cloud);
    answer([]);
    await reading;
    const known = observations.of('s', 'a');
    assert.deepEqual([known?.fresh, known?.missingSinceMs], [false, 7]);
  });

  it('and left out by a later search is no longer believed to be there, nor believed gone by id', async () => {
    const { cloud, answer } = cloudOf();
    const observations = createObservations('c1', () => 0, createServiceStates());
    observations.put('s', 'a', made(seen('a', 'lb-a')));
    const reading = observations.refresh(cloud);
    answer([]);
    await reading;
    assert.deepEqual([observations.of('s', 'a')?.observed, observations.of('s', 'a')?.source], [undefined, 'all']);
  });

  it('of missing things keeps since when, over later searches', async () => {
    const { cloud, answer } = cloudOf();
    const observations = createObservations('c1', () => 0, createServiceStates());
    observations.put('s', 'a', made(undefined, { source: 'asked', missingSinceMs: 5 }));
    const reading = observations.refresh(cloud);
    answer([]);
    await reading;
    assert.equal(observations.of('s', 'a')?.missingSinceMs, 5);
  });

  it('is not ready when a read fails', async () => {
    const observations = createObservations('c1', () => 0, createServiceStates());
    const loadBalancers = { observeAll: async () => Promise.reject(new Error('down')) } as unknown as LoadBalancers;
    await assert.rejects(observations.refresh({ name: 'x', scope: 's', loadBalancers }), /down/);
    assert.equal(observations.ready('s'), false);
  });
});
