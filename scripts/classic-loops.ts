/** A loop that a classic controller runs beside upstream's four, and what becomes of it here. */
export interface ClassicLoop {
  readonly of: string;
  readonly loop: string;
  /** Its name in `--controllers` of the classic controller; undefined: it has none. */
  readonly name?: string;
  /** One line: where Mooring does it, or why it does not. */
  readonly here: string;
  /** What backs the line, from the root of the repository. */
  readonly proof: string;
}

export const classicLoops: readonly ClassicLoop[] = [
  {
    of: 'aws',
    loop: 'tags on instances',
    name: 'tagging',
    here: 'the same, only where it is named: [tags of instances](../clouds/aws.md#tags-of-instances)',
    proof: 'test/node-tags/node-tags.test.ts',
  },
  {
    of: 'azure',
    loop: 'pod ranges (node IPAM)',
    name: 'node-ipam',
    here: 'the same, only where it is named and with `--allocate-node-cidrs`; one mask for all Nodes',
    proof: 'controller/ipam/ipam-task.ts',
  },
  {
    of: 'azure',
    loop: 'the node manager (`azure-cloud-node-manager --node-name`): initialises its own Node',
    here: 'the agent reports, and `cloud-node` initialises; a Node that the node manager has initialised stays so',
    proof: 'controller/nodes/node-task.ts',
  },
  {
    of: 'azure',
    loop: 'address and zone labels, read again every five minutes',
    here: 'addresses and type follow the cloud; zone and region stay, and a difference is `TopologyDrift`',
    proof: 'controller/nodes/refresh.ts',
  },
  {
    of: 'azure',
    loop: 'out-of-service taint of Nodes whose VM is off',
    here: 'the same with `--out-of-service-taint`',
    proof: 'controller/nodes/power-taints.ts',
  },
  {
    of: 'azure',
    loop: 'route updates, gathered for 30 seconds',
    here: 'what gathers while a request runs goes with the next one',
    proof: 'controller/clouds/azure/routes.ts',
  },
  {
    of: 'azure',
    loop: 'reload of the configuration (`--enable-dynamic-reloading`)',
    here: 'always, of the file; a Secret has to be mounted',
    proof: 'controller/app/reload/reloading-cloud.ts',
  },
  {
    of: 'alibaba',
    loop: 'Nodes: initialisation, addresses, deletion',
    name: 'node',
    here: 'the loops `cloud-node` and `cloud-node-lifecycle`',
    proof: 'controller/app/options/loops.test.ts',
  },
  {
    of: 'alibaba',
    loop: 'source and destination check of new Nodes switched off',
    here: 'no: it is left alone, as with `--skip-disable-source-dest-check`',
    proof: 'controller/app/options/known-flags.test.ts',
  },
  {
    of: 'alibaba',
    loop: 'routes in each of `routeTableIDs`',
    name: 'route',
    here: 'the same',
    proof: 'controller/clouds/alibaba/routes.test.ts',
  },
  {
    of: 'alibaba',
    loop: 'network load balancers',
    name: 'nlb',
    here: 'the loop `service`, for `loadBalancerClass: alibabacloud.com/nlb`',
    proof: 'controller/clouds/alibaba/nlb',
  },
  {
    of: 'alibaba',
    loop: 'a hash of the Service in a label, to skip what is unchanged',
    here: 'no label: what the cloud has is compared with what the Service asks for',
    proof: 'controller/engine/plan.ts',
  },
  {
    of: 'alibaba',
    loop: 'readiness gates of pods behind load balancers',
    here: 'no: pods are members without them, by `backend-type: eni`',
    proof: 'controller/clouds/alibaba/pods.test.ts',
  },
  {
    of: 'alibaba',
    loop: 'Ingresses by ALB',
    name: 'ingress',
    here: "refused: the cloud's own ALB Ingress Controller serves them",
    proof: 'controller/app/options/loops.test.ts',
  },
  {
    of: 'alibaba',
    loop: 'records of PrivateZone for Services',
    name: 'pvtz',
    here: 'refused: ExternalDNS writes such records',
    proof: 'controller/app/options/loops.test.ts',
  },
  {
    of: 'digitalocean',
    loop: 'tags on load balancers, every fifteen minutes',
    here: 'put when a load balancer is made, and not again: no answer of the API shows them',
    proof: 'controller/clouds/digitalocean/driver.ts',
  },
  {
    of: 'digitalocean',
    loop: 'one firewall for node ports (PUBLIC_ACCESS_FIREWALL_NAME)',
    here: 'no: the firewall stays as it is',
    proof: 'docs/clouds/digitalocean.md',
  },
  {
    of: 'gce',
    loop: 'pod ranges from alias ranges (node IPAM)',
    name: 'nodeipam',
    here: 'the same with `--cidr-allocator-type=CloudAllocator`',
    proof: 'controller/ipam/instance-ranges.ts',
  },
  {
    of: 'vsphere',
    loop: 'fixed labels of all Nodes (`--node-labels`)',
    here: 'refused: the kubelet has a flag of that name',
    proof: 'controller/app/options/known-flags.test.ts',
  },
];
