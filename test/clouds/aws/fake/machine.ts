import assert from 'node:assert/strict';
import { isCloudError } from '../../../../common/cloud-error.ts';
import { type Log, silentLog } from '../../../../common/process/log.ts';
import { advanceDuring, fakeClock } from '../../../../common/testing/fake-clock.ts';
import type { ClassicConfig } from '../../../../controller/clouds/aws/classic/settings.ts';
import { clusterTagsOf } from '../../../../controller/clouds/aws/cluster-tags.ts';
import type { AwsConfig } from '../../../../controller/clouds/aws/config.ts';
import { keys } from '../../../../controller/clouds/aws/load-balancer-annotations.ts';
import { createLoadBalancers } from '../../../../controller/clouds/aws/load-balancers.ts';
import { ruleKey } from '../../../../controller/clouds/aws/security-groups/ingress-rule.ts';
import type {
  InstanceFacts,
  ObservedSecurityGroup,
} from '../../../../controller/clouds/aws/security-groups/network-facts.ts';
import type { LoadBalancerStep } from '../../../../controller/clouds/load-balancer-step.ts';
import type {
  AdoptionProof,
  DesiredLoadBalancer,
  DesiredMember,
  DesiredPort,
  LoadBalancerPlan,
  LoadBalancerRef,
  LoadBalancers,
  ObservedLoadBalancer,
  Refusal,
} from '../../../../controller/clouds/load-balancers.ts';
import type { Permit } from '../../../../controller/clouds/permit.ts';
import { createEngineLoadBalancers } from '../../../../controller/services/balancers/load-balancers.ts';
import { createFakeAws, type FakeBalancer } from './fake-aws.ts';
import { clusterTag, group, rule } from './network-facts.ts';

export const subnets = ['a', 'b'].map((letter) => ({
  id: `subnet-${letter}`,
  zone: `eu-west-1${letter}`,
  cidrs: ['10.0.0.0/24'],
  ipv6Cidrs: [],
  public: true,
  tags: clusterTag,
}));
export const owner = { cluster: 'uid-c', service: 'uid-s' };
/** By upstream's scheme. */
export const balancerName = 'auids';
export const plainConfig: MachineConfig = {
  healthProbe: undefined,
  elbSecurityGroup: undefined,
  disableSecurityGroupIngress: false,
  subnetId: undefined,
  managedNlbSecurityGroups: false,
};
/** Each network load balancer has security groups. */
export const managedConfig: MachineConfig = { ...plainConfig, managedNlbSecurityGroups: true };
/** Groups that the operator allows. */
const allowedGroups = new Set(['sg-persons', 'sg-allowed']);
const region = 'eu-west-1';
const mostRounds = 60;
type MachineConfig = ClassicConfig & Pick<AwsConfig, 'managedNlbSecurityGroups'>;

export function member(number: number, fields: Partial<DesiredMember> = {}): DesiredMember {
  const providerID = `aws:///eu-west-1a/i-${number}`;
  return { node: `n${number}`, providerID, addresses: ['10.0.0.4'], zone: 'eu-west-1a', draining: false, ...fields };
}

export function port(number: number, nodePort = 30_000 + number): DesiredPort {
  return { name: `p${number}`, protocol: 'TCP', port: number, nodePort, appProtocol: undefined };
}

export function desired(fields: Partial<DesiredLoadBalancer> = {}): DesiredLoadBalancer {
  return {
    owner,
    service: 'default/web',
    clusterName: 'kubernetes',
    name: balancerName,
    families: ['IPv4'],
    ports: [port(80)],
    sourceRanges: [],
    sessionAffinity: undefined,
    trafficPolicy: 'Cluster',
    members: [member(1), member(2)],
    healthCheck: { port: 10256, path: '/healthz' },
    address: undefined,
    attach: undefined,
    annotations: {},
    mayChangeAddress: false,
    clusterWideConsent: false,
    mayKeepAddress: true,
    retain: false,
    ...fields,
  };
}

/** For a network load balancer. */
export function network(fields: Partial<DesiredLoadBalancer> = {}): DesiredLoadBalancer {
  return desired({ ...fields, annotations: { [keys.type]: 'nlb', ...fields.annotations } });
}

/** Of another Service of the same cluster. */
export function desiredOf(service: string, fields: Partial<DesiredLoadBalancer> = {}): DesiredLoadBalancer {
  return desired({ owner: { ...owner, service }, service: `default/${service}`, name: `a${service}`, ...fields });
}

const node: InstanceFacts = { zone: 'eu-west-1a', groups: ['sg-nodes'], tags: clusterTag };

export interface MachineOptions {
  /** Rules on the nodes' group. */
  readonly persons?: readonly string[];
  readonly config?: MachineConfig;
  /** What EC2 shows of an instance; undefined = there is none. */
  readonly instance?: (id: string) => InstanceFacts | undefined;
  /** Of the VPC. */
  readonly subnets?: typeof subnets;
  /** Groups of the VPC. */
  readonly more?: readonly ObservedSecurityGroup[];
  readonly allowed?: ReadonlySet<string>;
}

/** Ids of its security groups. */
export function carriedBy(balancer: FakeBalancer | undefined): readonly string[] {
  return (balancer?.description['SecurityGroups'] ?? []) as readonly string[];
}

/** What came of one operation. */
export interface Worked {
  readonly observed: ObservedLoadBalancer | undefined;
  readonly refusals: readonly Refusal[];
  readonly remarks: readonly string[];
  /** Mutating calls, in the words of AWS. */
  readonly sent: readonly string[];
}

/** The code that ships, as one process has it, over the load balancers and groups of a fake AWS. */
export function machine(options: MachineOptions = {}) {
  const { persons = [], config = plainConfig, instance = () => node, more = [], allowed = allowedGroups } = options;
  const nodes = group('sg-nodes', { tags: clusterTag, ingress: persons.map((text) => rule(text)) });
  const aws = createFakeAws({
    groups: [nodes, group('sg-persons'), ...more],
    instance,
    subnets: options.subnets ?? subnets,
  });
  const clock = fakeClock();
  const during = <T>(work: Promise<T>) => advanceDuring(clock, work);
  const warnings: string[] = [];
  const log: Log = { ...silentLog, warn: (message) => void warnings.push(message) };

  function open(operator = allowed) {
    const parts = {
      context: { clock, log } as never,
      config: { ...config, vpc: 'vpc-1' } as never,
      region,
      allowedGroups: operator,
      ec2: aws.calls as never,
      elb: () => aws.calls,
      elbv2: () => aws.network,
      cluster: async () => clusterTagsOf('c1', false),
      self: async () => undefined,
    };
    const { driver, reads } = createLoadBalancers(parts as never);
    return { balancers: createEngineLoadBalancers({ driver, cloud: 'aws', clock }), reads };
  }
  let process = open();
  /** Services that live, by UID: the controller declares all of them. */
  const live = new Map<string, DesiredLoadBalancer>();
  const declare = () => process.balancers.declare([...live.values()], true, new Set());

  function refOf(asked: DesiredLoadBalancer, adopt?: AdoptionProof): LoadBalancerRef {
    const { service, name } = asked;
    return { owner: asked.owner, name, service, id: undefined, attachTo: asked.attach?.id, ...(adopt && { adopt }) };
  }

  async function drive(
    ref: LoadBalancerRef,
    planFor: (balancers: LoadBalancers, observed: ObservedLoadBalancer | undefined) => LoadBalancerPlan | undefined,
    permit: Permit = () => {},
  ): Promise<Worked> {
    const before = aws.sent.length;
    const { balancers } = process;
    let observed = await during(balancers.observe(ref));
    for (let round = 0; round < mostRounds; round += 1) {
      const plan = planFor(balancers, observed);
      if (plan?.steps.length) {
        assert.deepEqual(structuredClone(plan), plan);
        try {
          observed = await during(balancers.apply(plan, { permit }));
          continue;
        } catch (error) {
          if (!isCloudError(error) || error.subjects.length > 0 || error.kind === 'Invalid') throw error;
        }
      } else if (plan?.waitMs === undefined) {
        const { refusals = [], remarks = [] } = plan ?? {};
        return { observed, refusals, remarks, sent: aws.sent.slice(before).map(({ operation }) => operation) };
      }
      await clock.advance(plan?.waitMs ?? 5000);
      observed = await during(balancers.observe(ref));
    }
    return assert.fail('no end');
  }

  return {
    aws,
    clock,
    /** What was logged. */
    warnings,
    get balancers() {
      return process.balancers;
    },
    get reads() {
      return process.reads;
    },
    during,
    refOf,
    /** A fresh process: nothing is remembered. */
    restart: (operator?: ReadonlySet<string>) => {
      process = open(operator);
    },
    rulesOfNodes: () =>
      (aws.groups.get('sg-nodes')?.ingress ?? []).map(
        ({ source, protocol, fromPort }) => `${protocol} ${fromPort} ${source}`,
      ),
    ingressOf: (id: string) => aws.groups.get(id)?.ingress ?? [],
    groups: () => [...aws.groups.keys()].sort(),
    balancer: (name = balancerName) => aws.balancers.get(name),
    networkBalancer: (name = balancerName) => [...aws.region.balancers.values()].find((one) => one.name === name),
    /** `TCP 80` */
    listeners: () =>
      [...aws.region.listeners.values()].map(({ protocol, port: number }) => `${protocol} ${number}`).sort(),
    /** Targets of each target group that do not drain. */
    targets: () =>
      [...aws.region.targetGroups.values()].map(({ targets }) =>
        [...targets].flatMap(([id, { draining }]) => (draining ? [] : [id])).sort(),
      ),
    /** A load balancer that the classic controller made for `desired()`, and what proves it. */
    addClassicControllers(groups: readonly string[]): AdoptionProof {
      const hostname = `${balancerName}-0.eu-west-1.elb.amazonaws.com`;
      const Listener = { LoadBalancerPort: 80, Protocol: 'TCP', InstancePort: 30_080, InstanceProtocol: 'TCP' };
      const description = {
        LoadBalancerName: balancerName,
        DNSName: hostname,
        Scheme: 'internet-facing',
        SecurityGroups: groups,
        Subnets: ['subnet-a', 'subnet-b'],
        Policies: { OtherPolicies: [] },
        Instances: [{ InstanceId: 'i-1' }, { InstanceId: 'i-2' }],
        ListenerDescriptions: [{ Listener, PolicyNames: [] }],
        HealthCheck: { Target: 'TCP:30080', Interval: 10, Timeout: 5, HealthyThreshold: 2, UnhealthyThreshold: 6 },
      };
      const tags = { ...clusterTag, 'kubernetes.io/service-name': 'default/web' };
      aws.balancers.set(balancerName, { attributes: {}, tags, description });
      return { clusterName: 'kubernetes', addresses: [hostname] };
    },
    audit: () => during(process.balancers.observeAll(owner.cluster)),
    /** What would be done now. */
    async plan(asked: DesiredLoadBalancer): Promise<readonly LoadBalancerStep[]> {
      await during(process.balancers.observe(refOf(asked)));
      return process.balancers.plan(asked).steps;
    },
    ensure(asked: DesiredLoadBalancer, permit?: Permit, adopt?: AdoptionProof) {
      live.set(asked.owner.service, asked);
      declare();
      return drive(refOf(asked, adopt), (balancers) => balancers.plan(asked), permit);
    },
    remove(asked: DesiredLoadBalancer, permit?: Permit, adopt?: AdoptionProof) {
      live.delete(asked.owner.service);
      declare();
      return drive(
        refOf(asked, adopt),
        (balancers, observed) => observed?.owner && balancers.planRemoval(observed.owner, { retain: asked.retain }),
        permit,
      );
    },
    keysOf: (id: string) => (aws.groups.get(id)?.ingress ?? []).map(ruleKey),
  };
}

export type Machine = ReturnType<typeof machine>;
