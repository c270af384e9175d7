import assert from 'node:assert/strict';
import { createClassicApply } from '../../../../../controller/clouds/aws/classic/apply.ts';
import type { ClassicObserved } from '../../../../../controller/clouds/aws/classic/observed.ts';
import { planClassic } from '../../../../../controller/clouds/aws/classic/plan.ts';
import { planClassicRemoval } from '../../../../../controller/clouds/aws/classic/removal.ts';
import type { ClassicConfig } from '../../../../../controller/clouds/aws/classic/settings.ts';
import type { ClassicStep } from '../../../../../controller/clouds/aws/classic/step.ts';
import { clusterTagsOf } from '../../../../../controller/clouds/aws/cluster-tags.ts';
import { createGroupUsers } from '../../../../../controller/clouds/aws/security-groups/group-users.ts';
import type { IngressRule } from '../../../../../controller/clouds/aws/security-groups/ingress-rule.ts';
import type {
  InstanceFacts,
  NetworkFacts,
  ObservedSecurityGroup,
} from '../../../../../controller/clouds/aws/security-groups/network-facts.ts';
import type {
  DesiredLoadBalancer,
  DesiredMember,
  DesiredPort,
} from '../../../../../controller/clouds/load-balancers.ts';
import { afterCall, clusterTag, factsOf, group, rule } from '../network-facts.ts';

export const subnets = ['a', 'b'].map((letter) => ({
  ...{ id: `subnet-${letter}`, zone: `eu-west-1${letter}`, cidrs: ['10.0.0.0/24'], ipv6Cidrs: [], public: true },
  tags: clusterTag,
}));
export const owner = { cluster: 'uid-c', service: 'uid-s' };
export const plainConfig: ClassicConfig = {
  healthProbe: undefined,
  elbSecurityGroup: undefined,
  disableSecurityGroupIngress: false,
  subnetId: undefined,
};
/** A call to Elastic Load Balancing, with the SDK's own words. */
interface SentCall {
  readonly operation: string;
  readonly input: Readonly<Record<string, unknown>>;
}

/** Groups that the operator allows. */
const permissions = { allowed: new Set(['sg-persons', 'sg-allowed']), groups: undefined };
export const idOf = (providerID: string) => /i-[0-9]+$/.exec(providerID)?.[0];

export function member(number: number, fields: Partial<DesiredMember> = {}): DesiredMember {
  const providerID = `aws:///eu-west-1a/i-${number}`;
  return { node: `n${number}`, providerID, addresses: ['10.0.0.4'], zone: 'eu-west-1a', draining: false, ...fields };
}

export function port(number: number, nodePort = 30_000 + number): DesiredPort {
  return { name: `p${number}`, protocol: 'TCP', port: number, nodePort, appProtocol: undefined };
}

export function desired(fields: Partial<DesiredLoadBalancer> = {}): DesiredLoadBalancer {
  return {
    ...{ owner, service: 'default/web', clusterName: 'kubernetes', name: 'a1', ports: [port(80)], families: ['IPv4'] },
    ...{ sourceRanges: [], sessionAffinity: undefined, trafficPolicy: 'Cluster', members: [member(1), member(2)] },
    ...{ healthCheck: { port: 10256, path: '/healthz' }, address: undefined, attach: undefined, annotations: {} },
    ...{ mayChangeAddress: false, clusterWideConsent: false, mayKeepAddress: true, retain: false },
    ...fields,
  };
}

const node: InstanceFacts = { zone: 'eu-west-1a', groups: ['sg-nodes'], tags: clusterTag };

/**
 * The code that ships, over calls that all succeed: what it takes them to have done is what it sees next.
 *
 * @param persons rules on the nodes' group
 * @param instance what EC2 shows of an instance
 * @param more groups of the VPC
 */
export function machine(
  persons: readonly string[] = [],
  config = plainConfig,
  instance: (id: string) => InstanceFacts = () => node,
  more: readonly ObservedSecurityGroup[] = [],
) {
  const sent: string[] = [];
  const calledWith: SentCall[] = [];
  let facts: NetworkFacts = factsOf([
    group('sg-nodes', { tags: clusterTag, ingress: persons.map((text) => rule(text)) }),
    group('sg-persons'),
    ...more,
  ]);
  let made = 0;
  const calls = {
    async change(operation: string, { input }: { readonly input: SentCall['input'] }) {
      sent.push(operation);
      calledWith.push({ operation, input });
      return operation === 'CreateLoadBalancer' ? { DNSName: 'a1-1.eu-west-1.elb.amazonaws.com' } : {};
    },
    read: async () => ({}),
  };
  const users = createGroupUsers({ elb: () => calls as never, elbv2: () => calls as never });
  users.listed('classic', []);
  users.listed('nlb', []);
  const network = {
    users,
    reads: {
      facts: async () => facts,
      instances: async (ids: readonly string[]) => new Map(ids.map((id) => [id, instance(id)])),
      lastGroups: () => facts.groups,
      subnets: async () => subnets,
      vpc: async () => 'vpc-1',
    },
    groups: {
      async apply(call: Parameters<typeof afterCall>[1], known: NetworkFacts) {
        sent.push(call.does);
        if (call.does === 'create security group') {
          made += 1;
          const one = group(`sg-${made}`, { name: call.name, tags: call.tags });
          facts = { ...facts, groups: new Map(facts.groups).set(one.id, one) };
        } else if (call.does === 'delete security group') {
          const groups = new Map(facts.groups);
          assert.ok(groups.delete(call.group), call.group);
          for (const { ingress } of groups.values())
            assert.ok(!ingress.some(({ source }) => source === call.group), 'DependencyViolation');
          facts = { ...facts, groups };
        } else {
          const ref =
            'group' in call
              ? [...facts.groups.values()].find(({ id, name }) => id === call.group || name === call.group)?.id
              : undefined;
          facts = afterCall(facts, { ...call, group: ref ?? '' } as typeof call);
        }
        return { ...known, groups: facts.groups, users: users.known() };
      },
      async joining<Made>(
        carrier: { name: string; groups: readonly string[] },
        known: NetworkFacts,
        make: () => Promise<Made>,
      ) {
        users.joins(carrier);
        return { made: await make(), facts: { ...known, groups: facts.groups, users: users.known() } };
      },
      left(name: string, known: NetworkFacts) {
        users.left(name);
        return { ...known, users: users.known() };
      },
    },
  };
  const cluster = async () => clusterTagsOf('c1', false);
  const reads = {
    ...{ get: async () => undefined, observe: async () => undefined, observeAll: async () => [] },
    ...{ providerIds: new Map<string, string>(), noteAttributes: () => {} },
  };
  const apply = createClassicApply(
    { config: config as never, allowedGroups: permissions.allowed, elb: () => calls as never, cluster },
    network,
    reads,
  );
  const rulesOfNodes = () =>
    (facts.groups.get('sg-nodes')?.ingress ?? []).map(
      ({ source, protocol, fromPort }) => `${protocol} ${fromPort} ${source}`,
    );

  async function run(
    start: ClassicObserved | undefined,
    plan: (observed: ClassicObserved | undefined) => readonly ClassicStep[],
    onStep: (step: ClassicStep, observed: ClassicObserved | undefined) => void = () => {},
  ): Promise<ClassicObserved | undefined> {
    let observed = start;
    for (let round = 0; round < 60; round += 1) {
      const [step] = plan(observed);
      if (step === undefined) return observed;
      assert.deepEqual(structuredClone(step), step);
      onStep(step, observed);
      const before = sent.length;
      observed = await apply(step, observed, { permit: () => {} });
      assert.equal(sent.length, before + 1, step.summary);
    }
    return assert.fail('no end');
  }

  return {
    ...{ sent, calledWith, rulesOfNodes },
    apply: (step: ClassicStep, observed: ClassicObserved | undefined) => apply(step, observed, { permit: () => {} }),
    /** What was observed, with one rule more on the group of the nodes. */
    addRule(observed: ClassicObserved | undefined, one: IngressRule): ClassicObserved {
      assert.ok(observed);
      const nodes = facts.groups.get('sg-nodes')!;
      const groups = new Map(facts.groups).set(nodes.id, { ...nodes, ingress: [...nodes.ingress, one] });
      facts = { ...facts, groups };
      return { ...observed, pieces: { ...observed.pieces, facts: { ...observed.pieces.facts, groups } } };
    },
    ingressOf: (id: string) => facts.groups.get(id)?.ingress ?? [],
    groups: () => [...facts.groups.keys()].sort(),
    plan: (wanted: DesiredLoadBalancer, observed: ClassicObserved | undefined) =>
      planClassic(wanted, observed, { config, idOf, permissions: { ...permissions, groups: facts.groups } }),
    ensure: (wanted: DesiredLoadBalancer, observed: ClassicObserved | undefined, onStep?: Parameters<typeof run>[2]) =>
      run(
        observed,
        (now) =>
          planClassic(wanted, now, { config, idOf, permissions: { ...permissions, groups: facts.groups } }).steps,
        onStep,
      ),
    remove: (observed: ClassicObserved | undefined, retain = false) =>
      run(observed, (now) => (now === undefined ? [] : planClassicRemoval(now, retain).steps)),
  };
}
