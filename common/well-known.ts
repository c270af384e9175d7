/**
 * Keys on Kubernetes objects that Mooring reads or writes, with upstream's names where upstream has them.
 * The reference page of annotations and labels is generated from `ownKeys` below.
 */
export const taints = {
  /** Set by a kubelet with an external cloud provider; matched by key alone, as upstream does. */
  uninitialized: 'node.cloudprovider.kubernetes.io/uninitialized',
  shutdown: 'node.cloudprovider.kubernetes.io/shutdown',
  outOfService: 'node.kubernetes.io/out-of-service',
  toBeDeletedByAutoscaler: 'ToBeDeletedByClusterAutoscaler',
  /** Ours, opt-in: the cloud has announced the end of the VM. */
  interruption: 'mooring.dev/interruption',
  disruptedByKarpenter: 'karpenter.sh/disrupted',
} as const;

export const labels = {
  instanceType: 'node.kubernetes.io/instance-type',
  instanceTypeBeta: 'beta.kubernetes.io/instance-type',
  zone: 'topology.kubernetes.io/zone',
  zoneBeta: 'failure-domain.beta.kubernetes.io/zone',
  region: 'topology.kubernetes.io/region',
  regionBeta: 'failure-domain.beta.kubernetes.io/region',
  /** Ours. NodeRestriction prevents kubelets from setting labels of this domain, on creation, too. */
  attested: 'mooring.node-restriction.kubernetes.io/attested',
  excludeFromLoadBalancers: 'node.kubernetes.io/exclude-from-external-load-balancers',
} as const;

export const annotations = {
  /** Written by the kubelet for `--node-ip`: one address, or two of different families. */
  providedNodeIP: 'alpha.kubernetes.io/provided-node-ip',
  instance: 'mooring.dev/instance',
  labelsFromTags: 'mooring.dev/labels-from-tags',
  paused: 'mooring.dev/paused',
  releaseDeletion: 'mooring.dev/release-deletion',
  reportUrl: 'mooring.dev/report-url',
  /** A prefix, followed by the replica's identity. */
  replica: 'replica.mooring.dev/',
  deletionLedger: 'mooring.dev/deletion-ledger',
  orphanLedger: 'mooring.dev/orphan-ledger',
  sourceRanges: 'service.beta.kubernetes.io/load-balancer-source-ranges',
  loadBalancer: 'mooring.dev/load-balancer',
  loadBalancerId: 'mooring.dev/load-balancer-id',
  loadBalancerRetain: 'mooring.dev/load-balancer-retain',
  allowAddressChange: 'mooring.dev/allow-address-change',
  cloud: 'mooring.dev/cloud',
} as const;

export const conditions = {
  cloudInitialized: 'CloudInitialized',
  instanceMissing: 'CloudInstanceMissing',
  interruption: 'CloudInterruption',
  networkUnavailable: 'NetworkUnavailable',
  loadBalancer: 'CloudLoadBalancer',
} as const;

export const finalizers = {
  loadBalancerCleanup: 'service.kubernetes.io/load-balancer-cleanup',
} as const;

export const names = {
  namespace: 'kube-system',
  controller: 'mooring-controller',
  agent: 'mooring-agent',
  /** Secret (controller's own) and ConfigMap (mounted by agents) of the report API's certificates. */
  certificates: 'mooring-ca',
  /** ConfigMap of the records of our routes, for clouds that cannot tag them. */
  routeRecords: 'mooring-routes',
  caKey: 'ca.crt',
  controllerUrlsKey: 'controller-urls',
  /** Key of the ConfigMap: `true` stops all changes. */
  pausedKey: 'paused',
  /** Key of the ConfigMap: names of Nodes that are not deleted. */
  pausedNodesKey: 'paused-nodes',
  audience: 'mooring',
  serverName: 'mooring-controller.kube-system.svc',
  lease: 'cloud-controller-manager',
  /** Every replica's report URL, one annotation each. */
  replicasLease: 'mooring-controllers',
  nodeLeaseNamespace: 'kube-node-lease',
  reportPort: 10270,
} as const;

/** Whether a value pauses: every value except empty, `false`, `no`, `off` and `0`, in upper or lower case. */
export function isPauseValue(value: string | undefined): boolean {
  return value !== undefined && !['', 'false', 'no', 'off', '0'].includes(value.trim().toLowerCase());
}

/** The Nodes that a person protects from deletion: names, separated by commas or white space. */
export function pausedNodesOf(text: string | undefined): ReadonlySet<string> {
  return new Set((text ?? '').split(/[\s,]+/).filter((name) => name !== ''));
}

export interface OwnKey {
  readonly key: string;
  readonly on: string;
  readonly kind: 'annotation' | 'condition' | 'label' | 'taint' | 'data key';
  readonly written: 'controller' | 'person';
  readonly meaning: string;
}

/** All keys of the project itself, for the generated reference. */
export const ownKeys: readonly OwnKey[] = [
  {
    key: annotations.instance,
    on: 'Node',
    kind: 'annotation',
    written: 'controller',
    meaning:
      'Scope and incarnation in which the instance was found, separated by one space. A Node without it is ' +
      'never deleted.',
  },
  {
    key: annotations.labelsFromTags,
    on: 'Node',
    kind: 'annotation',
    written: 'controller',
    meaning:
      'Names of the labels that come from tags of the VM (`--node-labels-from-tags`), separated by commas: they are ' +
      'removed with their tags.',
  },
  {
    key: labels.attested,
    on: 'Node',
    kind: 'label',
    written: 'controller',
    meaning:
      'Under --require-attestation: the agent of this Node gave a signed document of its VM, `doc` or ' +
      '`fresh` (it answered a challenge). A Node without it joins no load balancer. A kubelet cannot set it ' +
      'where the NodeRestriction admission plugin is on.',
  },
  {
    key: annotations.paused,
    on: 'Node, Service, PersistentVolume',
    kind: 'annotation',
    written: 'person',
    meaning:
      'Set to `true`: nothing about this object is changed, in the cluster or in the cloud. A Node whose ' +
      'instance is proved gone is deleted all the same, since its kubelet can write this annotation: ' +
      '`paused-nodes` keeps it.',
  },
  {
    key: annotations.releaseDeletion,
    on: 'Node',
    kind: 'annotation',
    written: 'person',
    meaning:
      "With the Node's uid as value: a deletion that waits for the budget, or because nothing of its scope " +
      'is found (CanaryNotFound), may go ahead.',
  },
  {
    key: annotations.reportUrl,
    on: 'Lease cloud-controller-manager',
    kind: 'annotation',
    written: 'controller',
    meaning: 'Where the leader takes reports; standbys redirect there.',
  },
  {
    key: `${annotations.replica}<identity>`,
    on: 'Lease mooring-controllers',
    kind: 'annotation',
    written: 'controller',
    meaning: "A replica's report URL and when it was last announced; the leader publishes those of the living.",
  },
  {
    key: annotations.deletionLedger,
    on: 'Lease cloud-controller-manager',
    kind: 'annotation',
    written: 'controller',
    meaning: 'Times of the deletions that count against the budget, so that a restart refills nothing.',
  },
  {
    key: annotations.orphanLedger,
    on: 'Lease cloud-controller-manager',
    kind: 'annotation',
    written: 'controller',
    meaning: 'When each load balancer without a Service was first seen, so that a restart does not forget it.',
  },
  {
    key: conditions.cloudInitialized,
    on: 'Node',
    kind: 'condition',
    written: 'controller',
    meaning: 'Whether the Node is up to date with its cloud, and if not, why; the reasons are a closed set.',
  },
  {
    key: conditions.instanceMissing,
    on: 'Node',
    kind: 'condition',
    written: 'controller',
    meaning:
      'True while the cloud says that the instance is gone or absent and the Node is kept nevertheless; the ' +
      'reason says why it is kept.',
  },
  {
    key: conditions.interruption,
    on: 'Node',
    kind: 'condition',
    written: 'controller',
    meaning:
      'True while the cloud announces an interruption of the VM, as its own agent reports or the API shows; the ' +
      'message has the deadline. An absence that follows an announced end counts against --announced-deletion-budget.',
  },
  {
    key: taints.interruption,
    on: 'Node',
    kind: 'taint',
    written: 'controller',
    meaning: 'With --interruption-taint: the cloud has announced the end of the VM; no new pods are scheduled.',
  },
  {
    key: annotations.loadBalancer,
    on: 'Service',
    kind: 'annotation',
    written: 'controller',
    meaning:
      'Scope and id of the load balancer made for this Service, separated by one space; the id is `pending` from ' +
      'before the first call to the cloud until the answer to the creation. `adopted:` and addresses follow while ' +
      'it was taken over with --adopt and does not carry our tags yet. Last come `notes:` and what the cloud has to ' +
      'be told after a crash: ids of everything made for the Service, creations whose answer is not known, and ' +
      '`class:` with the loadBalancerClass that it was made for.',
  },
  {
    key: annotations.loadBalancerId,
    on: 'Service',
    kind: 'annotation',
    written: 'person',
    meaning:
      'Use this existing load balancer instead of creating one. It must carry the consent ' +
      'tag `mooring.dev/attachable-by` with `UID/namespace` or `UID/namespace/name` (UID: of the namespace ' +
      'kube-system), or stand in --attachable-load-balancers. It is never deleted.',
  },
  {
    key: annotations.loadBalancerRetain,
    on: 'Service',
    kind: 'annotation',
    written: 'person',
    meaning:
      'Set to `true`: when the Service goes, its load balancer and address stay. Only where --allow-retain ' +
      'names the namespace or the class; otherwise the condition says so, and both go.',
  },
  {
    key: annotations.allowAddressChange,
    on: 'Service',
    kind: 'annotation',
    written: 'person',
    meaning: 'Set to `true`: changes that give the load balancer another address may be made.',
  },
  {
    key: annotations.cloud,
    on: 'Service',
    kind: 'annotation',
    written: 'person',
    meaning:
      'Name or scope of the cloud that serves this Service: needed where several of the configured ones have load ' +
      'balancers. It does not move a load balancer that exists.',
  },
  {
    key: conditions.loadBalancer,
    on: 'Service',
    kind: 'condition',
    written: 'controller',
    meaning: 'Whether the load balancer is as the Service asks, and if not, why; the reasons are a closed set.',
  },
  {
    key: names.pausedKey,
    on: 'ConfigMap mooring-ca',
    kind: 'data key',
    written: 'person',
    meaning:
      'Set to `true`: every change of Nodes and of the clouds stops. The election and the certificates of ' +
      'the report API go on.',
  },
  {
    key: names.pausedNodesKey,
    on: 'ConfigMap mooring-ca',
    kind: 'data key',
    written: 'person',
    meaning:
      'Names of Nodes, separated by commas or white space, that are not deleted although their instances are gone.',
  },
];
