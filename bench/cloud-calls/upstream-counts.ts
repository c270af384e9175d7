import type { OperationName, Size } from './count-operations.ts';

/**
 * How many calls the cloud's classic controller makes for the same, as its source reads; text where it depends on more. W = polls of a wait. It serves Service by Service
 * and node by node, so what is for all of them is multiplied.
 */
export type UpstreamCounts = (size: Size) => Readonly<Partial<Record<OperationName, string>>>;

/** cloud-provider-openstack: Octavia with fully populated creation, router with extraroute-atomic. */
export const openstackUpstream: UpstreamCounts = ({ nodes, ports, services }) => ({
  'first ensure': '8 + W, and up to 3 once',
  'nothing changed, all Services': `${services * (4 + 3 * ports)} (${services} x (4 + 3P))`,
  'one node more, one Service': `${2 + 3 * ports} + ${ports}W (2 + P x (3 + W))`,
  'check of all nodes': `${3 * nodes} (3N)`,
  'route table read': '2',
  'route made': '2 to 3',
  'route removed': '2 to 3',
});

/** cloud-provider-aws, network load balancer. */
export const awsNetworkUpstream: UpstreamCounts = ({ nodes, ports, services }) => ({
  'first ensure': `more than ${10 + ports} (10 + P when nothing changed)`,
  'nothing changed, all Services': `${services * (10 + ports)} (${services} x (10 + P))`,
  'one node more, one Service': `${10 + ports} and the change (a whole ensure)`,
  ...awsCommon(nodes),
});

/** cloud-provider-aws, classic load balancer. */
export const awsClassicUpstream: UpstreamCounts = ({ nodes, services }) => ({
  'first ensure': 'more than 9 to 11',
  'nothing changed, all Services': `${services * 9} to ${services * 11} (${services} x (9 to 11))`,
  'one node more, one Service': '4',
  ...awsCommon(nodes),
});

function awsCommon(nodes: number) {
  return {
    'check of all nodes': `${Math.ceil(nodes / 500)} at once, ${nodes} one by one`,
    'route table read': '2',
    'route made': '4 to 5',
    'route removed': '2',
  };
}
