import { annotations, finalizers } from '../../common/well-known.ts';
import { assertThat, type Scenario, until } from '../kit/world/scenario.ts';
import {
  addressOf,
  balancerCondition,
  balancersOf,
  createService,
  deleteService,
  ensured,
  hasFinalizer,
  mutatingCalls,
  mutationsSince,
  patchService,
  recordOf,
  serviceGone,
  serviceNamed,
} from '../kit/world/services.ts';

const quiet = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));

const typeChanged: Scenario = {
  name: 'type-changed',
  title: 'LoadBalancer to ClusterIP takes everything away, and back gives it again',
  async run(world) {
    await createService(world, { name: 'turning' });
    const first = await ensured(world, 'turning');
    await patchService(world, 'turning', { spec: { type: 'ClusterIP', externalTrafficPolicy: null } });
    await until('nothing of ours is on it', 20_000, async () => {
      const now = await serviceNamed(world, 'turning');
      return !hasFinalizer(now) && recordOf(now) === undefined && balancerCondition(now) === undefined;
    });
    assertThat(balancersOf(world, first).length === 0, 'its load balancer is still there');
    await patchService(world, 'turning', { spec: { type: 'LoadBalancer' } });
    const second = await ensured(world, 'turning');
    assertThat(balancersOf(world, second).length === 1, 'it has no load balancer again');
    await deleteService(world, 'turning');
    await serviceGone(world, 'turning');
    return `${addressOf(first)}, none, ${addressOf(second)}`;
  },
};

const othersClass: Scenario = {
  name: 'others-class',
  title: 'a Service of a foreign class stays unchanged, its finalizer too',
  async run(world) {
    const mutations = mutatingCalls(world);
    await createService(world, { name: 'theirs', loadBalancerClass: 'example.com/other' });
    await patchService(world, 'theirs', { metadata: { finalizers: [finalizers.loadBalancerCleanup] } });
    const { resourceVersion } = (await serviceNamed(world, 'theirs')).metadata;
    await quiet(3000);
    const before = await serviceNamed(world, 'theirs');
    assertThat(before.metadata.resourceVersion === resourceVersion, 'it was written');
    await deleteService(world, 'theirs');
    await quiet(3000);
    const terminating = await serviceNamed(world, 'theirs');
    assertThat(hasFinalizer(terminating), 'a foreign finalizer was removed');
    assertThat(mutationsSince(world, mutations) === '', 'something was made for it');
    await patchService(world, 'theirs', { metadata: { finalizers: null } });
    await serviceGone(world, 'theirs');
    return 'no write to it, alive or terminating';
  },
};

const adoption: Scenario = {
  name: 'adoption',
  title: 'a Service that another controller served gets nothing and keeps its finalizer, and says so',
  async run(world) {
    const mutations = mutatingCalls(world);
    await world.rest.must('POST', '/api/v1/namespaces/default/services', {
      apiVersion: 'v1',
      kind: 'Service',
      metadata: { name: 'moved', finalizers: [finalizers.loadBalancerCleanup] },
      spec: { type: 'LoadBalancer', selector: { app: 'moved' }, ports: [{ port: 80 }] },
    });
    await until('its condition says so', 20_000, async () => {
      const condition = balancerCondition(await serviceNamed(world, 'moved'));
      return condition?.status === 'False' && condition.reason === 'AdoptionRequired';
    });
    assertThat(mutationsSince(world, mutations) === '', 'something was made for it');
    await deleteService(world, 'moved');
    await quiet(3000);
    assertThat(hasFinalizer(await serviceNamed(world, 'moved')), 'its finalizer was taken off');
    await patchService(world, 'moved', { metadata: { finalizers: null } });
    await serviceGone(world, 'moved');
    return 'AdoptionRequired; nothing made, the finalizer stayed through its deletion';
  },
};

const paused: Scenario = {
  name: 'paused-service',
  title: 'a paused Service is left alone, alive or terminating, until it is not paused any more',
  async run(world) {
    await createService(world, { name: 'resting' });
    const service = await ensured(world, 'resting');
    await patchService(world, 'resting', { metadata: { annotations: { [annotations.paused]: 'true' } } });
    await quiet(2000);
    const mutations = mutatingCalls(world);
    const ports = [
      { name: 'http', port: 80 },
      { name: 'more', port: 81 },
    ];
    await patchService(world, 'resting', { spec: { ports } });
    await quiet(3000);
    assertThat(mutationsSince(world, mutations) === '', `while paused: ${mutationsSince(world, mutations)}`);
    await patchService(world, 'resting', { metadata: { annotations: { [annotations.paused]: null } } });
    await until('the port is made up for', 15_000, async () => balancersOf(world, service)[0]?.listeners.length === 2);
    await patchService(world, 'resting', { metadata: { annotations: { [annotations.paused]: 'true' } } });
    await quiet(2000);
    await deleteService(world, 'resting');
    await quiet(3000);
    assertThat(balancersOf(world, service).length === 1, 'its load balancer was removed while it was paused');
    await patchService(world, 'resting', { metadata: { annotations: { [annotations.paused]: null } } });
    await serviceGone(world, 'resting');
    assertThat(balancersOf(world, service).length === 0, 'its load balancer is still there');
    return 'a port and a removal waited';
  },
};

const recreated: Scenario = {
  name: 'recreated',
  title: 'a Service created again under the same name gets its own load balancer, and the old one is deleted',
  async run(world) {
    await createService(world, { name: 'again' });
    const first = await ensured(world, 'again');
    await deleteService(world, 'again');
    await until('the name is free', 20_000, async () => {
      const now = await serviceNamed(world, 'again');
      if (now !== undefined) return false;
      await createService(world, { name: 'again' });
      return true;
    });
    const second = await ensured(world, 'again');
    assertThat(second.metadata.uid !== first.metadata.uid, 'it is the same Service');
    assertThat(balancersOf(world, second).length === 1, 'it has not exactly one load balancer');
    assertThat(balancersOf(world, first).length === 0, 'the old load balancer is still there');
    await deleteService(world, 'again');
    await serviceGone(world, 'again');
    return `${addressOf(first)}, then ${addressOf(second)}`;
  },
};

/** What is ours and what is not, and what changes sides. They share nothing, and may run side by side. */
export const serviceKinds: readonly Scenario[] = [typeChanged, recreated, paused, othersClass, adoption];
