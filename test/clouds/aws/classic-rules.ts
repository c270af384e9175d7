import { ec2Version, elbVersion, errorAnswer, type MotoAnswer, type MotoRule } from './moto-proxy.ts';

/** Values of every element of that name. */
function valuesOf({ body }: MotoAnswer, element: string): string[] {
  return [...body.matchAll(new RegExp(`<${element}>([^<]*)</${element}>`, 'g'))].map((match) => match[1] ?? '');
}

/** Instances in the parameters of a call. */
function instancesOf(form: URLSearchParams): string[] {
  return [...form].filter(([key]) => /^Instances\.member\.\d+\.InstanceId$/.test(key)).map(([, value]) => value);
}

/**
 * AWS's host name contains a number, so the next load balancer of the same name has another one; moto repeats the same.
 */
function hostNames(): MotoRule {
  let made = 0;
  const numbers = new Map<string, number>();
  return async ({ action, version, form }, { forward }) => {
    if (version !== elbVersion) return undefined;
    const answer = await forward();
    if (action === 'CreateLoadBalancer' && answer.status === 200) {
      made += 1;
      numbers.set(form.get('LoadBalancerName') ?? '', made);
    }
    const body = answer.body.replace(
      /<DNSName>([^<]+)\.us-east-1\.elb\.amazonaws\.com<\/DNSName>/g,
      (_, name: string) => `<DNSName>${name}-${numbers.get(name) ?? 0}.eu-west-1.elb.amazonaws.com</DNSName>`,
    );
    return { ...answer, body };
  };
}

/** Moto registers instances that there are not, and the same one twice. */
const realInstances: MotoRule = async ({ action, version, form }, { ask, forward }) => {
  if (version !== elbVersion || action !== 'RegisterInstancesWithLoadBalancer') return undefined;
  const ids = instancesOf(form);
  const filter = Object.fromEntries(ids.map((id, at) => [`Filter.1.Value.${at + 1}`, id]));
  const seen = valuesOf(
    await ask(ec2Version, 'DescribeInstances', { 'Filter.1.Name': 'instance-id', ...filter }),
    'instanceId',
  );
  const missing = ids.find((id) => !seen.includes(id));
  if (missing !== undefined)
    return errorAnswer(elbVersion, 'InvalidInstance', `Could not find EC2 instance ${missing}.`);
  const name = form.get('LoadBalancerName') ?? '';
  const there = valuesOf(
    await ask(version, 'DescribeLoadBalancers', { 'LoadBalancerNames.member.1': name }),
    'InstanceId',
  );
  const others = new URLSearchParams([...form].filter(([key]) => !key.startsWith('Instances.')));
  const fresh = ids.filter((id) => !there.includes(id));
  for (const [at, id] of fresh.entries()) others.set(`Instances.member.${at + 1}.InstanceId`, id);
  if (fresh.length === 0) {
    return {
      status: 200,
      body:
        '<RegisterInstancesWithLoadBalancerResponse ' +
        'xmlns="http://elasticloadbalancing.amazonaws.com/doc/2012-06-01/"><RegisterInstancesWithLoadBalancerResult/' +
        '></RegisterInstancesWithLoadBalancerResponse>',
    };
  }
  return forward(others);
};

/** Moto doubles the listeners that stay where several go in one call. */
const listenersAtOnce: MotoRule = async ({ action, version, form }, { forward }) => {
  if (version !== elbVersion || action !== 'DeleteLoadBalancerListeners') return undefined;
  const isPort = (key: string) => key.startsWith('LoadBalancerPorts.');
  const ports = [...form].filter(([key]) => isPort(key)).map(([, port]) => port);
  let answer: MotoAnswer | undefined;
  for (const port of ports) {
    const one = new URLSearchParams([...form].filter(([key]) => !isPort(key)));
    one.set('LoadBalancerPorts.member.1', port);
    answer = await forward(one);
  }
  return answer;
};

/** What moto's classic load balancers do not do as AWS's. */
export function classicRules(): MotoRule[] {
  return [realInstances, listenersAtOnce, hostNames()];
}

/**
 * Security groups stay in use for a while after their load balancer is gone, since its network interfaces go later;
 * moto has none.
 */
export function busyGroups(): { readonly rule: MotoRule; refuse(loadBalancer: string, times: number): void } {
  const left = new Map<string, number>();
  return {
    refuse: (loadBalancer, times) => left.set(`k8s-elb-${loadBalancer}`, times),
    async rule({ action, version, form }, { ask }) {
      if (version !== ec2Version || action !== 'DeleteSecurityGroup') return undefined;
      const id = form.get('GroupId') ?? '';
      const [name = ''] = valuesOf(await ask(version, 'DescribeSecurityGroups', { 'GroupId.1': id }), 'groupName');
      const times = left.get(name) ?? 0;
      if (times === 0) return undefined;
      left.set(name, times - 1);
      return errorAnswer(ec2Version, 'DependencyViolation', `resource ${id} has a dependent object`);
    },
  };
}
