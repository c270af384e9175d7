import type { Capability } from '../cloud.ts';

/** Commands that the role of the credential needs, by what they are for. `deploy/iam/cloudstack.json` has the same. */
export const permissions: readonly {
  readonly neededFor: Capability | undefined;
  readonly commands: readonly string[];
}[] = [
  { neededFor: undefined, commands: ['listAccounts', 'listApis', 'listProjects'] },
  { neededFor: 'nodes', commands: ['listVirtualMachines'] },
  {
    neededFor: 'load balancers',
    commands: [
      'listVirtualMachines',
      'listNetworks',
      'listPublicIpAddresses',
      'listLoadBalancerRules',
      'listFirewallRules',
      'listLoadBalancerRuleInstances',
      'listNetworkACLs',
      'queryAsyncJobResult',
      'associateIpAddress',
      'disassociateIpAddress',
      'createTags',
      'deleteTags',
      'createLoadBalancerRule',
      'updateLoadBalancerRule',
      'deleteLoadBalancerRule',
      'assignToLoadBalancerRule',
      'removeFromLoadBalancerRule',
      'listLBStickinessPolicies',
      'createLBStickinessPolicy',
      'deleteLBStickinessPolicy',
      'createFirewallRule',
      'deleteFirewallRule',
      'createNetworkACL',
      'updateNetworkACLItem',
      'deleteNetworkACL',
    ],
  },
];
