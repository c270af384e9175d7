import type { AnswerFields } from '../answer-fields.ts';
import type { Capability } from '../cloud.ts';

/** One action of Azure's roles, and what is not possible without it. */
export interface NeededAction {
  readonly action: string;
  readonly neededFor: readonly Capability[];
  /** What people have to have set up for it to be needed: what Mooring reads is written again with all it refers to. */
  readonly onlyWith?: string;
}

const nodes = ['nodes'] as const;
const both = ['nodes', 'routes'] as const;
const routes = ['routes'] as const;
const loadBalancers = ['load balancers'] as const;
const joinOf = (kind: string, onlyWith: string, join = 'join'): NeededAction => ({
  action: `Microsoft.Network/${kind}/${join}/action`,
  neededFor: loadBalancers,
  onlyWith,
});
const natRules = joinOf('loadBalancers/inboundNatRules', 'inbound NAT rules');
const gateways = joinOf('loadBalancers/frontendIPConfigurations', 'gateway load balancers');

/** In the resource group of the VMs. */
export const vmActions: readonly NeededAction[] = [
  { action: 'Microsoft.Compute/virtualMachines/read', neededFor: both },
  { action: 'Microsoft.Compute/virtualMachineScaleSets/read', neededFor: both },
  { action: 'Microsoft.Compute/virtualMachineScaleSets/virtualMachines/read', neededFor: both },
  { action: 'Microsoft.Compute/virtualMachineScaleSets/networkInterfaces/read', neededFor: both },
  { action: 'Microsoft.Compute/virtualMachineScaleSets/publicIPAddresses/read', neededFor: nodes },
  { action: 'Microsoft.Compute/virtualMachineScaleSets/virtualMachines/networkInterfaces/read', neededFor: both },
  {
    action:
      'Microsoft.Compute/virtualMachineScaleSets/virtualMachines/networkInterfaces/ipConfigurations/' +
      'publicIPAddresses/read',
    neededFor: nodes,
  },
  { action: 'Microsoft.Compute/disks/read', neededFor: ['volumes'] },
  { action: 'Microsoft.Network/networkInterfaces/read', neededFor: both },
  { action: 'Microsoft.Network/publicIPAddresses/read', neededFor: nodes },
];

/** In the resource group of the route table. */
export const tableActions: readonly NeededAction[] = [
  { action: 'Microsoft.Network/routeTables/read', neededFor: routes },
  { action: 'Microsoft.Network/routeTables/write', neededFor: routes },
];

/** In the resource group of the load balancers. */
export const balancerActions: readonly NeededAction[] = [
  { action: 'Microsoft.Network/loadBalancers/read', neededFor: loadBalancers },
  { action: 'Microsoft.Network/loadBalancers/write', neededFor: loadBalancers },
  { action: 'Microsoft.Network/loadBalancers/delete', neededFor: loadBalancers },
  { action: 'Microsoft.Network/loadBalancers/backendAddressPools/join/action', neededFor: loadBalancers },
  natRules,
  gateways,
];

/** In that of the public addresses. A write of a load balancer joins what it refers to. */
export const addressActions: readonly NeededAction[] = [
  { action: 'Microsoft.Network/publicIPAddresses/read', neededFor: loadBalancers },
  { action: 'Microsoft.Network/publicIPAddresses/write', neededFor: loadBalancers },
  { action: 'Microsoft.Network/publicIPAddresses/delete', neededFor: loadBalancers },
  { action: 'Microsoft.Network/publicIPAddresses/join/action', neededFor: loadBalancers },
  { action: 'Microsoft.Network/publicIPPrefixes/join/action', neededFor: loadBalancers },
];

/** In that of the virtual network. */
export const networkActions: readonly NeededAction[] = [
  { action: 'Microsoft.Network/virtualNetworks/subnets/join/action', neededFor: loadBalancers },
  { action: 'Microsoft.Network/virtualNetworks/joinLoadBalancer/action', neededFor: loadBalancers },
];

/** In that of the VMs, for pools of network interfaces: what is written refers to all of the others. */
export const poolActions: readonly NeededAction[] = [
  { action: 'Microsoft.Network/networkInterfaces/write', neededFor: loadBalancers },
  { action: 'Microsoft.Compute/virtualMachineScaleSets/write', neededFor: loadBalancers },
  { action: 'Microsoft.Compute/virtualMachineScaleSets/virtualMachines/write', neededFor: loadBalancers },
  { action: 'Microsoft.Network/networkSecurityGroups/join/action', neededFor: loadBalancers },
  joinOf('publicIPAddresses', 'public addresses of nodes'),
  joinOf('publicIPPrefixes', 'public addresses of nodes from a prefix'),
  joinOf('applicationSecurityGroups', 'application security groups', 'joinIpConfiguration'),
  joinOf('applicationGateways/backendAddressPools', 'nodes in pools of an application gateway'),
  joinOf('loadBalancers/inboundNatPools', 'inbound NAT pools'),
  joinOf('loadBalancers/probes', 'scale sets with a health probe'),
  natRules,
  gateways,
];

/** In that of the security group. */
export const securityActions: readonly NeededAction[] = [
  { action: 'Microsoft.Network/networkSecurityGroups/read', neededFor: loadBalancers },
  { action: 'Microsoft.Network/networkSecurityGroups/write', neededFor: loadBalancers },
  joinOf('applicationSecurityGroups', 'application security groups', 'joinNetworkSecurityRule'),
];

/** Those of the actions that none of the permissions has. Each has actions with wildcards, and exceptions from them. */
export function missingActions(
  permissions: readonly AnswerFields[],
  needed: readonly NeededAction[],
): readonly NeededAction[] {
  const granted = permissions.map((one) => {
    const patterns = (name: string) => (one.json()[name] == null ? [] : one.texts(name).map(patternOf));
    return { actions: patterns('actions'), exceptions: patterns('notActions') };
  });
  return needed.filter(({ action }) => {
    const matches = (patterns: readonly RegExp[]) => patterns.some((pattern) => pattern.test(action));
    return !granted.some(({ actions, exceptions }) => matches(actions) && !matches(exceptions));
  });
}

function patternOf(text: string): RegExp {
  const parts = text.split('*').map((part) => part.replace(/[^\w/]/g, '\\$&'));
  return new RegExp(`^${parts.join('.*')}$`, 'i');
}
