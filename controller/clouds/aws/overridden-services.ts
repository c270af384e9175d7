import type { ServiceId } from './service-id.ts';

/** The SDK's service ids, by name without case, blanks and hyphens. */
const called: Readonly<Record<string, readonly ServiceId[]>> = {
  ec2: ['EC2'],
  sts: ['STS'],
  elasticloadbalancing: ['Elastic Load Balancing'],
  elasticloadbalancingv2: ['Elastic Load Balancing v2'],
};
/** In the SDK's endpoints, which both kinds of load balancer share. */
const bothKinds = 'elasticloadbalancing';
/** Of the classic controller and its neighbours; nothing here calls them. */
const notCalled: ReadonlySet<string> = new Set(['autoscaling', 'ecr', 'iam', 'kms', 'ssm']);

/**
 * The services that `[ServiceOverride] Service` means: empty = one that Mooring never calls; undefined = no such
 * service.
 */
export function overriddenServices(name: string): readonly ServiceId[] | undefined {
  if (name.toLowerCase() === bothKinds) return ['Elastic Load Balancing', 'Elastic Load Balancing v2'];
  const plain = name.toLowerCase().replaceAll(/[\s-]/g, '');
  if (Object.hasOwn(called, plain)) return called[plain];
  return notCalled.has(plain) ? [] : undefined;
}

export const overridable = 'EC2, Elastic Load Balancing, Elastic Load Balancing v2 or STS';
