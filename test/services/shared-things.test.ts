import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { advanceDuring, fakeClock } from '../../common/testing/fake-clock.ts';
import type { LoadBalancerDriver } from '../../controller/clouds/load-balancer-driver.ts';
import type { ObservedLoadBalancer, Owner } from '../../controller/clouds/load-balancers.ts';
import { everyService, type Found, type Kind } from '../../controller/engine/resource.ts';
import { createEngineLoadBalancers } from '../../controller/services/balancers/load-balancers.ts';
import { type DeclareParts, declareServices } from '../../controller/services/declare-services.ts';
import { desiredOf } from '../../controller/services/desired.ts';
import { strictPolicy } from '../../controller/services/operator-policy.ts';
import { exampleService } from '../../controller/services/testing/example-service.ts';

const cluster = { uid: 'c1', name: 'blue' };
const permitted = { permit: () => undefined };
const member = { node: 'n', providerID: 'x://n', addresses: ['10.0.0.1'], zone: 'z', draining: false };

function serviceOf(name: string, ...sourceRanges: string[]) {
  const metadata = { name, uid: name };
  return exampleService({ metadata, spec: { loadBalancerSourceRanges: sourceRanges } });
}

/** A cloud with a load balancer for each Service, and one firewall that has the source ranges of all of them. */
function sharingCloud() {
  const clock = fakeClock();
  const balancers = new Set<string>();
  let ranges: readonly string[] | undefined;
  const show = (): Found[] => [
    ...[...balancers].map((service): Found => {
      const owner: Owner = { cluster: cluster.uid, service };
      return { kind: 'balancer', id: service, owner, key: 'main', status: 'ready', body: undefined };
    }),
    ...(ranges === undefined ? [] : [firewall(ranges)]),
  ];
  const firewall = (body: readonly string[]): Found => {
    const owner: Owner = { cluster: cluster.uid, service: everyService };
    return { kind: 'firewall', id: 'f', owner, key: 'main', status: 'ready', body };
  };
  const balancer: Kind = {
    kind: 'balancer',
    retryCreate: 'atOnce',
    compare: () => ({ same: true }),
    async create(_, __, { owner, permit }) {
      permit(1000);
      balancers.add(owner.service);
      return { id: owner.service, found: show() };
    },
    async remove({ id }, { permit }) {
      permit(1000);
      balancers.delete(id);
      return {};
    },
  };
  const rules: Kind<readonly string[], readonly string[]> = {
    kind: 'firewall',
    retryCreate: 'atOnce',
    merge: (specs, standing) => [...new Set([...specs.flat(), ...(standing?.body ?? [])])].toSorted(),
    compare({ body }, spec) {
      const summary = `firewall: ${spec.join()}`;
      if (body.join() === spec.join()) return { same: true };
      return { changes: [{ what: 'ranges', summary, phase: 'set', body: spec }] };
    },
    async create({ spec }, _, { permit }) {
      permit(1000);
      ranges = spec;
      return { id: 'f', found: show() };
    },
    async update(_, { body }, { permit }) {
      permit(1000);
      ranges = body as readonly string[];
      return { found: show() };
    },
    async remove(_, { permit }) {
      permit(1000);
      ranges = undefined;
      return {};
    },
  };
  /** Of each desired state that the driver was asked about. */
  const membersKnown: boolean[] = [];
  const driver: LoadBalancerDriver = {
    main: 'balancer',
    kinds: [balancer, rules as Kind],
    annotations: [],
    maxMembers: undefined,
    drains: false,
    slots: () => [],
    members: () => [{ providerID: member.providerID, draining: false, healthy: undefined }],
    poll: async () => new Map(),
    show: (_, parts) => ({ name: 'x', ingress: [{ ip: '192.0.2.1' }], service: `default/${parts[0]?.owner?.service}` }),
    readers: [
      {
        kinds: ['balancer', 'firewall'],
        all: async () => show(),
        of: async () => ({ found: show(), complete: ['balancer', 'firewall'] }),
      },
    ],
    desire: ({ desired }) => {
      membersKnown.push(desired.areMembersKnown ?? true);
      return {
        wants: [
          { kind: 'firewall', key: 'main', spec: desired.sourceRanges, summary: 'firewall' },
          { kind: 'balancer', key: 'main', needs: ['firewall/main'], spec: undefined, summary: 'balancer' },
        ],
        refusals: [],
      };
    },
  };
  /** A process that has yet to hear of any Service. */
  const connect = () => {
    const loadBalancers = createEngineLoadBalancers({ driver, cloud: 'x', clock });
    const cloud = { name: 'x', scope: 's', loadBalancers };
    const policy = strictPolicy;
    const parts: DeclareParts = { cluster, clouds: [cloud], loadBalancerClasses: [], policy };
    const run = async <T>(work: Promise<T>) => advanceDuring(clock, work);
    return {
      declare: (...services: ReturnType<typeof serviceOf>[]) => declareServices(cloud, services, parts),
      audit: () => loadBalancers.observeAll(cluster.uid),
      /** Of a Service that cannot be understood. */
      lastDone(service: ReturnType<typeof serviceOf>) {
        const desired = desiredOf(service, { cluster, cloud, policy, members: [member], retain: false });
        assert.ok(!desired.ok);
        return loadBalancers.lastDone(desired.desired);
      },
      async ensure(service: ReturnType<typeof serviceOf>) {
        const desired = desiredOf(service, { cluster, cloud, policy, members: [], retain: false });
        assert.ok(desired.ok);
        const plan = loadBalancers.plan(desired.desired);
        if (plan.steps.length > 0) await run(loadBalancers.apply(plan, permitted));
      },
      async remove(service: string) {
        const ref = { owner: { cluster: cluster.uid, service }, name: 'x', service, id: service, attachTo: undefined };
        const seen = (await loadBalancers.observe(ref)) as ObservedLoadBalancer;
        const plan = loadBalancers.planRemoval(seen.owner!, { retain: false });
        if (plan.steps.length > 0) await run(loadBalancers.apply(plan, permitted).catch(() => undefined));
      },
    };
  };
  return { connect, balancers, membersKnown, ranges: () => ranges };
}

const [a, b, c] = ['192.0.2.0/24', '198.51.100.0/24', '203.0.113.0/24'] as const;

/** Three Services that one process serves; a new one has just read everything. */
async function restarted() {
  const cloud = sharingCloud();
  const first = cloud.connect();
  const services = [serviceOf('one', a), serviceOf('two', b), serviceOf('three', c)] as const;
  await first.audit();
  first.declare(...services);
  for (const service of services) await first.ensure(service);
  assert.deepEqual(cloud.ranges(), [a, b, c]);
  const next = cloud.connect();
  await next.audit();
  return { cloud, next, services };
}

describe('what several Services share in a cloud', () => {
  it('keeps shared ranges after a restart while one Service cannot be understood', async () => {
    const { cloud, next, services } = await restarted();
    const [one] = services;
    next.declare(one, serviceOf('two', b), serviceOf('three', 'no range'));
    await next.remove('two');
    next.declare(one, serviceOf('three', 'no range'));
    await next.ensure(one);
    assert.deepEqual(cloud.ranges(), [a, b, c], 'what "three" needs is still unknown');
    next.declare(one, serviceOf('three', c));
    await next.ensure(one);
    assert.deepEqual(cloud.ranges(), [a, c]);
  });

  it('gets no range of a Service that cannot be understood', async () => {
    const { cloud, next, services } = await restarted();
    const [one] = services;
    const three = exampleService({
      metadata: { name: 'three', uid: 'three' },
      spec: { ports: [], loadBalancerSourceRanges: ['10.0.0.0/8'] },
    });
    next.declare(one, serviceOf('two', b), three);
    assert.equal(next.lastDone(three), undefined);
    await next.ensure(one);
    assert.deepEqual(cloud.ranges(), [a, b, c]);
  });

  it('declares a Service with its members unknown, and plans it with them known', async () => {
    const { membersKnown, connect } = sharingCloud();
    const process = connect();
    const service = serviceOf('one', a);
    await process.audit();
    process.declare(service);
    assert.deepEqual(membersKnown.splice(0), [false]);
    await process.ensure(service);
    assert.ok(membersKnown.length > 0 && membersKnown.every((known) => known));
  });

  it('keeps shared ranges until the Services are declared', async () => {
    const { cloud, next, services } = await restarted();
    const [one, two] = services;
    await next.ensure(one);
    await next.ensure(two);
    assert.deepEqual(cloud.ranges(), [a, b, c]);
    next.declare(one, two);
    await next.ensure(one);
    assert.deepEqual(cloud.ranges(), [a, b]);
  });

  it('goes with the last Service once all of them are known, and not before', async () => {
    const { cloud, next, services } = await restarted();
    for (const { uid } of services) await next.remove(uid);
    assert.deepEqual([[...cloud.balancers], cloud.ranges()?.length], [[], 3], 'nothing was declared');
    const last = cloud.connect();
    await last.audit();
    last.declare();
    await last.ensure(services[0]);
    await last.remove('one');
    assert.deepEqual([[...cloud.balancers], cloud.ranges()], [[], undefined]);
  });
});
