import { ec2Version, elbV2Version, errorAnswer, type MotoAnswer, type MotoRule } from './moto-proxy.ts';

const denied = (code: string, message: string) => errorAnswer(elbV2Version, code, message);

/** Values of every element of that name. */
function valuesOf({ body }: MotoAnswer, element: string): string[] {
  return [...body.matchAll(new RegExp(`<${element}>([^<]*)</${element}>`, 'g'))].map((match) => match[1] ?? '');
}

/** Members of a list parameter: `Targets.member.1.Id`. */
function listOf(form: URLSearchParams, name: RegExp): string[] {
  return [...form].filter(([key]) => name.test(key)).map(([, value]) => value);
}

/** Moto makes a second load balancer of the same name; AWS refuses it. */
const uniqueNames: MotoRule = async ({ action, version, form }, { ask }) => {
  if (version !== elbV2Version || action !== 'CreateLoadBalancer') return undefined;
  const taken = valuesOf(await ask(version, 'DescribeLoadBalancers'), 'LoadBalancerName');
  if (!taken.includes(form.get('Name') ?? '')) return undefined;
  return denied('DuplicateLoadBalancerName', 'A load balancer with the specified name already exists.');
};

/** Moto makes a second listener on the same port; AWS refuses it. */
const uniqueListeners: MotoRule = async ({ action, version, form }, { ask }) => {
  if (version !== elbV2Version || action !== 'CreateListener') return undefined;
  const answer = await ask(version, 'DescribeListeners', { LoadBalancerArn: form.get('LoadBalancerArn') ?? '' });
  if (!valuesOf(answer, 'Port').includes(form.get('Port') ?? '')) return undefined;
  return denied('DuplicateListener', 'A listener with the specified port already exists.');
};

/** Moto registers instances that there are not. */
const realTargets: MotoRule = async ({ action, version, form }, { ask }) => {
  if (version !== elbV2Version || action !== 'RegisterTargets') return undefined;
  const ids = listOf(form, /^Targets\.member\.\d+\.Id$/).filter((id) => id.startsWith('i-'));
  const filter = Object.fromEntries(ids.map((id, at) => [`Filter.1.Value.${at + 1}`, id]));
  const seen = valuesOf(
    await ask(ec2Version, 'DescribeInstances', { 'Filter.1.Name': 'instance-id', ...filter }),
    'instanceId',
  );
  const missing = ids.filter((id) => !seen.includes(id));
  if (missing.length === 0) return undefined;
  return denied('InvalidTarget', `The following targets are not valid: '${missing.join("', '")}'`);
};

/** Moto forgets a target that is deregistered; AWS shows it draining for the deregistration delay. */
function drainingTargets(): MotoRule {
  const draining = new Map<string, Set<string>>();
  return async ({ action, version, form }, { forward }) => {
    if (version !== elbV2Version) return undefined;
    const group = form.get('TargetGroupArn') ?? '';
    const ids = listOf(form, /^Targets\.member\.\d+\.Id$/);
    if (action === 'DeregisterTargets') {
      const answer = await forward();
      if (answer.status === 200) draining.set(group, new Set([...(draining.get(group) ?? []), ...ids]));
      return answer;
    }
    if (action === 'RegisterTargets') {
      const answer = await forward();
      if (answer.status === 200) for (const id of ids) draining.get(group)?.delete(id);
      return answer;
    }
    if (action !== 'DescribeTargetHealth' || ids.length > 0) return undefined;
    const answer = await forward();
    const members = [...(draining.get(group) ?? [])].map(
      (id) =>
        `<member><Target><Id>${id}</Id><Port>1</Port></Target><TargetHealth><State>draining</State><Reason>` +
        'Target.DeregistrationInProgress</Reason></TargetHealth></member>',
    );
    if (members.length === 0 || answer.status !== 200) return answer;
    const list = `<TargetHealthDescriptions>${members.join('')}`;
    const body = answer.body.includes('<TargetHealthDescriptions/>')
      ? answer.body.replace('<TargetHealthDescriptions/>', `${list}</TargetHealthDescriptions>`)
      : answer.body.replace('<TargetHealthDescriptions>', list);
    return { ...answer, body };
  };
}

/**
 * Moto deletes a security group that a load balancer uses or that another one's rule names. AWS refuses both, also for
 * a while after the load balancer is gone.
 */
function groupsInUse(): MotoRule {
  const lingering = new Map<string, number>();
  return async ({ action, version, form }, { ask, forward }) => {
    if (version === elbV2Version && action === 'DeleteLoadBalancer') {
      const all = await ask(version, 'DescribeLoadBalancers', {
        'LoadBalancerArns.member.1': form.get('LoadBalancerArn') ?? '',
      });
      const answer = await forward();
      const groups = /<SecurityGroups>(.*?)<\/SecurityGroups>/s.exec(all.body)?.[1] ?? '';
      for (const match of groups.matchAll(/sg-\w+/g)) lingering.set(match[0], 1);
      return answer;
    }
    if (version !== ec2Version || action !== 'DeleteSecurityGroup') return undefined;
    const id = form.get('GroupId') ?? '';
    const used = async () => {
      const carried = await ask(elbV2Version, 'DescribeLoadBalancers');
      if (carried.body.includes(`<member>${id}</member>`)) return true;
      const rules = await ask(version, 'DescribeSecurityGroups', {
        'Filter.1.Name': 'ip-permission.group-id',
        'Filter.1.Value.1': id,
      });
      return valuesOf(rules, 'groupName').length > 0;
    };
    const left = lingering.get(id) ?? 0;
    if (left > 0) lingering.set(id, left - 1);
    if (left === 0 && !(await used())) return undefined;
    return errorAnswer(version, 'DependencyViolation', `resource ${id} has a dependent object`);
  };
}

/** What moto lacks of load balancing. */
export function loadBalancerRules(): MotoRule[] {
  return [uniqueNames, uniqueListeners, realTargets, drainingTargets(), groupsInUse()];
}

/** Moto shows at once what it made; AWS may not, for a while: so many looks miss a new load balancer. */
export function lateBalancers(looks: number): MotoRule {
  const late = new Map<string, number>();
  return async ({ action, version, form }, { forward }) => {
    if (version !== elbV2Version) return undefined;
    if (action === 'CreateLoadBalancer') {
      const answer = await forward();
      if (answer.status === 200) late.set(form.get('Name') ?? '', looks);
      return answer;
    }
    const name = form.get('Names.member.1');
    const left = late.get(name ?? '') ?? 0;
    if (action !== 'DescribeLoadBalancers' || name === null || left === 0) return undefined;
    late.set(name, left - 1);
    return denied('LoadBalancerNotFound', `Load balancers '[${name}]' not found`);
  };
}
