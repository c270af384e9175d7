import { AwsFault } from './query.ts';

/** Of an account that raised none. A group's rules count for each family, and those that name a group for both. */
const most = { rules: 60, groups: 5 };

/** @param ingress all rules that a group is to have */
export function demandRoom(ingress: readonly { readonly source: string }[]): void {
  const ofFamily = (other: string) => ingress.filter(({ source }) => !source.includes(other)).length;
  if (Math.max(ofFamily(':'), ofFamily('.')) <= most.rules) return;
  throw new AwsFault(
    'RulesPerSecurityGroupLimitExceeded',
    'The maximum number of rules per security group has been reached.',
  );
}

/** Groups that a load balancer is to carry. */
export function fewGroups<Ids extends readonly unknown[]>(ids: Ids): Ids {
  if (ids.length <= most.groups) return ids;
  throw new AwsFault(
    'InvalidConfigurationRequest',
    `You have exceeded the maximum of ${most.groups} security groups per load balancer.`,
  );
}
