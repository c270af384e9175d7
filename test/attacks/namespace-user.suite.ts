import { annotations, finalizers } from '../../common/well-known.ts';
import { ownerTags } from '../../controller/clouds/load-balancers.ts';
import type { ApiSuite, Check } from '../conformance/api-under-test.ts';
import { inWorld } from '../e2e/in-world.ts';
import type { SimulatedLoadBalancer } from '../kit/cloud/load-balancer.ts';
import { mergePatch } from '../kit/world/kube-rest.ts';
import { assertThat, until } from '../kit/world/scenario.ts';
import { addressOf, balancerCondition, type ServiceObject } from '../kit/world/services.ts';
import type { World } from '../kit/world/world.ts';

const limit = 2;

/**
 * A user of one namespace, with the rights that such users have there and none elsewhere, reaches for what others lend,
 * keep and pay for. `team-a` is the owner, `evil` the attacker, `keeper` a namespace that may keep load balancers.
 */
export const namespaceUserSuite: ApiSuite = {
  name: 'namespace-user',
  async run(api, check) {
    const controllerFlags = ['--allow-retain=keeper', `--retained-load-balancers-limit=${limit}`];
    await inWorld({ api, nodes: 1, agentProcesses: 0, controllerFlags }, check, attack);
  },
};

async function attack(world: World, check: Check): Promise<void> {
  const { network } = world.cloud;
  const place = [...world.cloud.model.places.keys()][0] ?? '';
  const cluster: string = (await world.rest.must('GET', '/api/v1/namespaces/kube-system')).metadata.uid;
  const [teamA, evil, keeper] = [
    await userOf(world, 'team-a'),
    await userOf(world, 'evil'),
    await userOf(world, 'keeper'),
  ];
  const balancer = (id: string) => network.loadBalancers.store.get(id)!;
  const lend = (name: string, consent: string) =>
    network.loadBalancers.create(place, {
      name,
      tags: { [ownerTags.consent]: consent },
      scheme: 'external',
      families: ['IPv4'],
      addresses: [],
      listeners: [],
      pools: [],
      clientToken: undefined,
    }).loadBalancer;
  const marked = (key: string, value: string) =>
    network.loadBalancers.store.all().filter(({ tags }) => tags[key] === value);
  const ofNamespace = (namespace: string) =>
    network.loadBalancers.store
      .all()
      .filter(({ tags }) =>
        [tags[ownerTags.serviceName], tags[ownerTags.retained]].some((of) => of?.startsWith(`${namespace}/`)),
      );

  // Before it, what a Service names and does not show could be the credential's fault: that is waited for.
  await until('a Node is initialised', 60_000, async () => {
    const { items } = await world.rest.must('GET', '/api/v1/nodes');
    return items.some(({ spec }: { spec: { taints?: readonly object[] } }) => (spec.taints ?? []).length === 0);
  });

  await check('a user of one namespace has no rights in another', async () => {
    const answer = await evil.ask('GET', 'team-a');
    assertThat(answer === 403, `listing the Services of team-a answered ${answer}`);
  });

  const lent = lend('lent', `${cluster}/team-a`);
  await check(
    'a load balancer that is lent to one namespace gives no port to another, even to one that comes first',
    async () => {
      const attach = { [annotations.loadBalancerId]: lent.id };
      await evil.create('squat', { annotations: attach, ports: [443, 8443] });
      const told = await evil.says('squat', 'ForeignLoadBalancer');
      assertThat(told.message.includes(`${cluster}/evil`), told.message);
      assertThat(balancer(lent.id).listeners.length === 0, 'it has a listener');
      await teamA.create('edge', { annotations: attach, ports: [443, 8443] });
      const edge = await teamA.ensured('edge');
      assertThat(addressOf(edge) === lent.addresses[0]?.ip, `it shows ${addressOf(edge)}`);
      await evil.touch('squat');
      await evil.says('squat', 'ForeignLoadBalancer');
      assertThat(portsOf(balancer(lent.id)) === '443,8443', portsOf(balancer(lent.id)));
    },
  );

  await check(
    'of those that may use it the first one has a port, and another learns the namespace that has it',
    async () => {
      const shared = lend('shared', `${cluster}/team-a ${cluster}/evil`);
      const attach = { [annotations.loadBalancerId]: shared.id };
      await teamA.create('secret-name', { annotations: attach, ports: [443] });
      await teamA.ensured('secret-name');
      await evil.create('late', { annotations: attach, ports: [443] });
      const told = await evil.says('late', 'Conflict');
      assertThat(told.message.includes('namespace team-a'), told.message);
      assertThat(!told.message.includes('secret-name'), told.message);
      await evil.remove('late');
      assertThat(balancer(shared.id).listeners.length === 1, 'the listener of team-a is gone');
    },
  );

  await check(
    'a tag that names the whole cluster lets no namespace in without the flag, and the refusal says both ways out',
    async () => {
      const whole = lend('whole', cluster);
      await evil.create('whole', { annotations: { [annotations.loadBalancerId]: whole.id }, ports: [80] });
      const told = await evil.says('whole', 'ForeignLoadBalancer');
      for (const way of [`${cluster}/evil`, '--allow-cluster-wide-attach'])
        assertThat(told.message.includes(way), told.message);
      assertThat(balancer(whole.id).listeners.length === 0, 'it has a listener');
    },
  );

  await check('an address that one namespace has kept is given to that namespace alone', async () => {
    const tags = { [ownerTags.cluster]: cluster, [ownerTags.retained]: 'team-a/old' };
    const { ip } = network.addresses.reserve(place, { family: 'IPv4', scheme: 'external', tags }).address;
    await evil.create('grab', { loadBalancerIP: ip });
    const told = await evil.says('grab', 'ForeignLoadBalancer');
    assertThat(told.message.includes(ip), told.message);
    await teamA.create('next', { loadBalancerIP: ip });
    assertThat(addressOf(await teamA.ensured('next')) === ip, 'team-a did not get its address');
  });

  await check('a forged record seizes nothing, alive or when its Service is deleted', async () => {
    await teamA.create('victim', {});
    const victim = await teamA.ensured('victim');
    const [target] = marked(ownerTags.service, victim.metadata.uid);
    assertThat(target, 'the victim has no load balancer');
    const record: string = victim.metadata.annotations[annotations.loadBalancer];
    const before = JSON.stringify(target);
    for (const [text, adopted] of [
      [record, false],
      [`${record} adopted:${addressOf(victim)}`, true],
    ] as const) {
      await evil.create('forged', {
        annotations: { [annotations.loadBalancer]: text, [annotations.allowAddressChange]: 'true' },
        finalizers: [finalizers.loadBalancerCleanup],
        ports: [22],
      });
      await evil.settles('forged');
      assertThat(addressOf(await evil.get('forged')) !== addressOf(victim), "it shows the victim's address");
      await evil.startRemoval('forged');
      // What is said to be taken over and is not provably so holds its Service until a person has looked.
      if (adopted) {
        await evil.says('forged', 'AdoptionRequired');
        await evil.strip('forged');
      }
      await evil.isGone('forged');
      assertThat(JSON.stringify(balancer(target.id)) === before, "the victim's load balancer was changed");
    }
  });

  await check('six rounds of create, retain and delete by a namespace without the switch leave nothing', async () => {
    for (let round = 0; round < 6; round += 1) {
      await evil.create('hoard', { annotations: { [annotations.loadBalancerRetain]: 'true' } });
      if (round === 0) {
        const told = await evil.says('hoard', 'RetentionNotAllowed');
        assertThat(told.status === 'True', 'the Service does not count as served');
        assertThat(told.message.includes('--allow-retain'), told.message);
      } else await evil.ensured('hoard');
      await evil.remove('hoard');
    }
    assertThat(ofNamespace('evil').length === 0, `${ofNamespace('evil').length} load balancers are left`);
  });

  await check(
    'with the switch, a namespace keeps as many as the limit; further deletions wait, and the metric tells',
    async () => {
      const names = ['one', 'two', 'three', 'four'];
      for (const name of names)
        await keeper.create(name, { annotations: { [annotations.loadBalancerRetain]: 'true' } });
      for (const name of names) await keeper.ensured(name);
      for (const name of names) await keeper.startRemoval(name);
      const left = await until('two are gone and two wait', 30_000, async () => {
        const found = await Promise.all(names.map((name) => keeper.get(name)));
        const there = found.filter((service) => service !== undefined);
        const waits = there.filter((service) => balancerCondition(service)?.reason === 'RetentionLimitReached');
        return there.length === names.length - limit && waits.length === there.length ? there : undefined;
      });
      const kept = ofNamespace('keeper').filter(({ tags }) => tags[ownerTags.retained] !== undefined);
      assertThat(kept.length === limit, `${kept.length} are kept`);
      await until('the metric says so', 20_000, async () => {
        const metrics = await (await world.leader())?.metrics();
        return [...(metrics ?? [])].some(
          ([sample, value]) =>
            sample.startsWith('mooring_retained_load_balancers') && sample.includes('"keeper"') && value === limit,
        );
      });
      // Who does not want to wait takes the annotation away.
      for (const { metadata } of left) {
        await keeper.annotate(metadata.name, { [annotations.loadBalancerRetain]: null });
        await keeper.isGone(metadata.name);
      }
      assertThat(ofNamespace('keeper').length === limit, 'more than the limit are left');
    },
  );
}

interface ServiceFields {
  readonly annotations?: Readonly<Record<string, string>>;
  readonly ports?: readonly number[];
  readonly loadBalancerIP?: string;
  readonly finalizers?: readonly string[];
}

const portsOf = ({ listeners }: SimulatedLoadBalancer) =>
  listeners
    .map(({ port }) => port)
    .sort((a, b) => a - b)
    .join();

/** Makes a namespace with one user who may do everything with its Services, and answers what that user does. */
async function userOf(world: World, namespace: string) {
  const { rest } = world;
  await rest.must('POST', '/api/v1/namespaces', { apiVersion: 'v1', kind: 'Namespace', metadata: { name: namespace } });
  const account = { apiVersion: 'v1', kind: 'ServiceAccount', metadata: { name: 'user' } };
  await rest.must('POST', `/api/v1/namespaces/${namespace}/serviceaccounts`, account);
  const rbac = { apiVersion: 'rbac.authorization.k8s.io/v1', metadata: { name: 'user' } };
  const rules = [{ apiGroups: [''], resources: ['services'], verbs: ['*'] }];
  const roles = `/apis/rbac.authorization.k8s.io/v1/namespaces/${namespace}`;
  await rest.must('POST', `${roles}/roles`, { ...rbac, kind: 'Role', rules });
  await rest.must('POST', `${roles}/rolebindings`, {
    ...rbac,
    kind: 'RoleBinding',
    roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'Role', name: 'user' },
    subjects: [{ kind: 'ServiceAccount', name: 'user', namespace }],
  });
  const request = { apiVersion: 'authentication.k8s.io/v1', kind: 'TokenRequest', spec: {} };
  const path = `/api/v1/namespaces/${namespace}/serviceaccounts/user/token`;
  const token: string = (await rest.must('POST', path, request)).status.token;
  const services = `/api/v1/namespaces/${namespace}/services`;

  const user = {
    ask: async (method: string, where: string) =>
      (await rest.call(method, `/api/v1/namespaces/${where}/services`, undefined, { token })).status,
    async create(
      name: string,
      { annotations: told = {}, ports = [80], loadBalancerIP, finalizers: held }: ServiceFields,
    ) {
      const spec = {
        type: 'LoadBalancer',
        selector: { app: name },
        ...(loadBalancerIP && { loadBalancerIP }),
        ports: ports.map((port) => ({ name: `p${port}`, port })),
      };
      const metadata = { name, annotations: told, ...(held && { finalizers: held }) };
      await rest.must('POST', services, { apiVersion: 'v1', kind: 'Service', metadata, spec }, { token });
    },
    async get(name: string): Promise<ServiceObject | undefined> {
      const { status, body } = await rest.call('GET', `${services}/${name}`, undefined, { token });
      return status === 200 ? body : undefined;
    },
    async annotate(name: string, changed: Readonly<Record<string, string | null>>) {
      const body = { metadata: { annotations: changed } };
      await rest.must('PATCH', `${services}/${name}`, body, { type: mergePatch, token });
    },
    strip: (name: string) =>
      rest.must('PATCH', `${services}/${name}`, { metadata: { finalizers: null } }, { type: mergePatch, token }),
    touch: (name: string) => user.annotate(name, { 'example.com/touched': `${Date.now()}` }),
    says: (name: string, reason: string) =>
      waitFor(name, `condition ${reason}`, (service) => {
        const condition = balancerCondition(service);
        return condition?.reason === reason ? condition : undefined;
      }),
    /** Whatever its condition says: nothing more is under way. */
    settles: (name: string) =>
      waitFor(name, 'where it stands', (service) => {
        const condition = balancerCondition(service);
        return condition !== undefined && condition.reason !== 'Provisioning' ? condition : undefined;
      }),
    ensured: (name: string): Promise<ServiceObject> =>
      waitFor(name, 'its load balancer', (service) =>
        addressOf(service) && balancerCondition(service)?.status === 'True' ? service : undefined,
      ),
    startRemoval: (name: string) => rest.must('DELETE', `${services}/${name}`, undefined, { token }),
    isGone: (name: string) =>
      until(`${namespace}/${name} is gone`, 30_000, async () => (await user.get(name)) === undefined),
    async remove(name: string) {
      await user.startRemoval(name);
      await user.isGone(name);
    },
  };

  async function waitFor<T>(name: string, what: string, found: (service: ServiceObject) => T | undefined): Promise<T> {
    let seen: ServiceObject;
    return until(
      `${namespace}/${name} shows ${what}`,
      30_000,
      async () => {
        seen = await user.get(name);
        return seen && found(seen);
      },
      () => JSON.stringify(seen?.status),
    );
  }
  return user;
}
