import { ec2Version, elbV2Version, errorAnswer, type MotoRule } from './moto-proxy.ts';

/** What AWS does now and then, and moto never: turned on and off by a test. */
export interface Weather {
  readonly rules: readonly MotoRule[];
  /** Private DNS names of instances that were just made and do not show yet. */
  readonly hidden: Set<string>;
  /** Calls about network load balancers are too many. */
  throttled: boolean;
  /** How many were refused for that. */
  refusals(): number;
  /** For how long a security group counts as used after the load balancer is gone: its interfaces are let go slowly. */
  readonly releaseMs: number;
  /** How often a group was still in use. */
  stillUsed(): number;
}

export function createWeather(now: () => number, releaseMs: number): Weather {
  const hidden = new Set<string>();
  let refusals = 0;
  let stillUsed = 0;
  let deletedAt = Number.NEGATIVE_INFINITY;
  const weather = {
    rules: [] as MotoRule[],
    hidden,
    throttled: false,
    refusals: () => refusals,
    releaseMs,
    stillUsed: () => stillUsed,
  };
  weather.rules.push(
    async ({ action, version, form }) => {
      if (action !== 'DescribeInstances' || version !== ec2Version) return undefined;
      if (![...form.values()].some((value) => hidden.has(value))) return undefined;
      return { status: 200, body: '<DescribeInstancesResponse><reservationSet/></DescribeInstancesResponse>' };
    },
    async ({ version }) => {
      if (version !== elbV2Version || !weather.throttled) return undefined;
      refusals += 1;
      return errorAnswer(version, 'Throttling', 'Rate exceeded');
    },
    async ({ action, version }) => {
      if (action === 'DeleteLoadBalancer') deletedAt = now();
      if (action !== 'DeleteSecurityGroup' || now() - deletedAt > releaseMs) return undefined;
      stillUsed += 1;
      return errorAnswer(version, 'DependencyViolation', 'resource sg-1 has a dependent object');
    },
  );
  return weather;
}
