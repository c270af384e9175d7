import type { OperationName, Size } from '../../test/clouds/suite/count-operations.ts';
import { octaviaTakes } from './openstack-world.ts';

/**
 * Calls of the cloud's classic controller for the same operation, read from its source; text where the number depends
 * on more. W = polls of a wait. It works Service by Service and node by node, so its calls are multiplied by their
 * number.
 */
export type UpstreamCounts = (size: Size) => Readonly<Partial<Record<OperationName, string>>>;

/** cloud-provider-openstack: Octavia with fully populated creation, router with extraroute-atomic. */
export const openstackUpstream: UpstreamCounts = ({ nodes, ports, services }) => {
  const { createMs, updateMs, deleteMs } = octaviaTakes;
  const [made, changed, deleted] = [createMs, updateMs, deleteMs].map(pollsFor) as [number, number, number];
  return {
    'first ensure': `${8 + made} (8 + W), and up to 3 once`,
    'first ensure, each further Service': `${8 + made} (8 + W)`,
    'nothing changed, all Services': `${services * (4 + 3 * ports)} (${services} x (4 + 3P))`,
    'one node more, one Service': `${2 + ports * (3 + changed)} (2 + P x (3 + W))`,
    deletion: `${5 + deleted} (5 + W)`,
    'deletion, each further Service': `${5 + deleted} (5 + W)`,
    'check of all nodes': `${3 * nodes} (3N)`,
    'route table read': '2',
    'route made': '2 to 3',
    'route removed': '2 to 3',
  };
};

/**
 * hcloud-cloud-controller-manager, with its cache of all servers: it serves a lookup for ten seconds, a route for a
 * minute.
 */
export const hetznerUpstream: UpstreamCounts = ({ nodes, ports, services }) => ({
  'first ensure': `${4 + 2 * ports + 2 * nodes} (4 + 2P + 2N), and W for each change`,
  'first ensure, each further Service': `${4 + 2 * ports + 2 * nodes} (4 + 2P + 2N), and W for each change`,
  'nothing changed, all Services': `${services * (2 + 2 * ports)} (${services} x (2 + 2P))`,
  'one node more, one Service': `${2 + ports} (2 + P), and W for each change`,
  deletion: '2',
  'deletion, each further Service': '2',
  'check of all nodes': `${Math.ceil(nodes / 50)} (N / 50)`,
  'route table read': `${1 + Math.ceil(nodes / 50)} (1 + N / 50)`,
  'route made': '2 + W',
  'route removed': '1 + W',
});

/** It looks at once, after a second, and each time a fifth later than the time before. */
function pollsFor(takesMs: number): number {
  let polls = 1;
  for (let atMs = 0, stepMs = 1000; atMs < takesMs; stepMs *= 1.2) {
    atMs += stepMs;
    polls += 1;
  }
  return polls;
}

/** cloud-provider-aws, network load balancer. */
export const awsNetworkUpstream: UpstreamCounts = ({ nodes, ports, services }) => ({
  'first ensure': `more than ${10 + ports} (10 + P when nothing changed)`,
  'first ensure, each further Service': `more than ${10 + ports}`,
  'nothing changed, all Services': `${services * (10 + ports)} (${services} x (10 + P))`,
  'one node more, one Service': `${10 + ports} and the change (a whole ensure)`,
  ...awsCommon(nodes),
});

/** cloud-provider-aws, classic load balancer. */
export const awsClassicUpstream: UpstreamCounts = ({ nodes, services }) => ({
  'first ensure': 'more than 9 to 11',
  'first ensure, each further Service': 'more than 9 to 11',
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

/** What Google's cloud provider sends to the same fake for 2 nodes in 2 zones; each operation has one wait. */
export const gcePoolUpstream: UpstreamCounts = ({ services }) => ({
  'first ensure': '25',
  'first ensure, each further Service': '20',
  'nothing changed, all Services': `${services * 15} (${services} x 15)`,
  deletion: '10',
  'deletion, each further Service': '10',
  ...gceCommon,
});

export const gceInternalUpstream: UpstreamCounts = ({ services }) => ({
  'first ensure': '36',
  'first ensure, each further Service': '23',
  'nothing changed, all Services': `${services * 17} (${services} x 17)`,
  deletion: '13',
  'deletion, each further Service': '13',
  ...gceCommon,
});

const gceCommon = { 'route table read': '1', 'route made': '2 + W', 'route removed': '1 + W' };

/**
 * What Azure's cloud provider sends to the same fake for 20 nodes by IP address, where every change is done at once: a
 * W for each change besides.
 */
export const azureUpstream: UpstreamCounts = ({ services }) => ({
  'first ensure': '16 and W',
  'first ensure, each further Service': '12 and W',
  'nothing changed, all Services': `${services * 4} to ${services * 6} (${services} x (4 to 6))`,
  deletion: '12 and W',
  'deletion, each further Service': '12 and W',
});

/** alibaba-cloud-controller-manager: of load balancers and routes nothing was counted. */
export const alibabaUpstream: UpstreamCounts = ({ nodes }) => ({
  'check of all nodes': `${Math.ceil(nodes / 100)} (N / 100)`,
});

/** cloudstack-kubernetes-provider, in an isolated network. */
export const cloudStackUpstream: UpstreamCounts = ({ nodes, ports, services }) => ({
  'first ensure': `${4 + 5 * ports} (4 + 5P), W`,
  'first ensure, each further Service': `${4 + 5 * ports} (4 + 5P), W`,
  'nothing changed, all Services': `${services * (2 + 2 * ports)} (${services} x (2 + 2P))`,
  'one node more, one Service': `${2 + 2 * ports} (2 + 2P), W`,
  'check of all nodes': `${8 * nodes} (8N)`,
});

/** Huawei's cloud-provider: members are pods, each joins by calls of its own. */
export const huaweiUpstream: UpstreamCounts = ({ nodes, ports, services }) => ({
  'nothing changed, all Services': `more than ${services * (2 + 4 * ports)} (${services} x (2 + 4P))`,
  'one node more, one Service': `${3 * ports} (3P) for each pod, W`,
  'check of all nodes': `${2 * nodes} (2N)`,
});
