import { type KubeRest, strategicPatch } from './kube-rest.ts';

export interface KubeletOptions {
  readonly rest: KubeRest;
  readonly name: string;
  /** The kubelet's own token: it may touch its own Node and lease only. */
  readonly token: string;
  readonly systemUuid: string;
  readonly providerID?: string;
  readonly labels?: Readonly<Record<string, string>>;
  readonly annotations?: Readonly<Record<string, string>>;
  /** As with `--cloud-provider=external`; a Node without it has no cloud. */
  readonly uninitialized?: boolean;
  /** Pod ranges that it gives itself: NodeRestriction does not keep it from that. */
  readonly podCIDRs?: readonly string[];
  /** A quarter of the lease's duration, as in a real one, which renews every 10 s. */
  readonly leaseRenewMs: number;
}

/** What a kubelet does to the API server, and nothing else: registers its Node, reports Ready, renews its lease. */
export interface Kubelet {
  readonly name: string;
  readonly running: boolean;
  /** Registers, or takes the Node up again, and renews the lease until stopped. */
  start(): Promise<void>;
  /** Falls silent, as when the machine loses power. */
  stop(): void;
}

function microTime(): string {
  return new Date().toISOString().replace('Z', '000Z');
}

/** The status a kubelet sends: about 12 KB, most of it images, as on a real node. */
function nodeStatus(systemUuid: string) {
  const now = new Date().toISOString().replace(/\.\d+Z$/, 'Z');
  const condition = (type: string, status: string, reason: string) => ({
    type,
    status,
    reason,
    message: `kubelet: ${reason}`,
    lastHeartbeatTime: now,
    lastTransitionTime: now,
  });
  return {
    capacity: { cpu: '4', memory: '16Gi', pods: '110' },
    allocatable: { cpu: '3920m', memory: '15Gi', pods: '110' },
    conditions: [
      condition('MemoryPressure', 'False', 'KubeletHasSufficientMemory'),
      condition('DiskPressure', 'False', 'KubeletHasNoDiskPressure'),
      condition('PIDPressure', 'False', 'KubeletHasSufficientPID'),
      condition('Ready', 'True', 'KubeletReady'),
    ],
    nodeInfo: {
      machineID: systemUuid.replaceAll('-', ''),
      systemUUID: systemUuid,
      bootID: systemUuid,
      kernelVersion: '6.12.0',
      osImage: 'Sandbox Linux',
      containerRuntimeVersion: 'containerd://2.1.0',
      kubeletVersion: 'v1.36.2',
      kubeProxyVersion: '',
      operatingSystem: 'linux',
      architecture: 'amd64',
    },
    images: Array.from({ length: 50 }, (_, index) => ({
      names: [
        `registry.example/team/image-${index}@sha256:${String(index).padStart(64, '0')}`,
        `registry.example/team/image-${index}:v1.${index}`,
      ],
      sizeBytes: 10_000_000 + index,
    })),
  };
}

export function createKubelet(options: KubeletOptions): Kubelet {
  const { rest, name, token, systemUuid } = options;
  const leases = '/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases';
  let renewing: NodeJS.Timeout | undefined;

  async function register(): Promise<void> {
    const node = {
      apiVersion: 'v1',
      kind: 'Node',
      metadata: {
        name,
        labels: { 'kubernetes.io/hostname': name, 'kubernetes.io/os': 'linux', ...options.labels },
        ...(options.annotations && { annotations: options.annotations }),
      },
      spec: {
        ...(options.providerID === undefined ? {} : { providerID: options.providerID }),
        ...(options.podCIDRs && { podCIDR: options.podCIDRs[0], podCIDRs: options.podCIDRs }),
        taints:
          options.uninitialized === false
            ? []
            : [{ key: 'node.cloudprovider.kubernetes.io/uninitialized', value: 'true', effect: 'NoSchedule' }],
      },
      status: { ...nodeStatus(systemUuid), addresses: [{ type: 'Hostname', address: name }] },
    };
    const made = await rest.call('POST', '/api/v1/nodes', node, { token });
    if (made.status === 409) await beReady();
    else if (made.status !== 201)
      throw new Error(`kubelet ${name} cannot register: ${made.status} ${made.body?.message}`);
  }

  async function beReady(): Promise<void> {
    const { conditions } = nodeStatus(systemUuid);
    await rest.must(
      'PATCH',
      `/api/v1/nodes/${name}/status`,
      { status: { conditions } },
      { type: strategicPatch, token },
    );
  }

  /** When the renewal was sent that the lease shows; before the first one there is nothing to make up for. */
  let renewedAtMs = Number.POSITIVE_INFINITY;

  async function renew(): Promise<void> {
    const sentAtMs = Date.now();
    await writeLease();
    // Meanwhile the node monitor may have set Ready to Unknown, and only the kubelet sets it to True again.
    const wasSilent = Date.now() - renewedAtMs > 2 * options.leaseRenewMs;
    renewedAtMs = sentAtMs;
    if (wasSilent) await beReady();
  }

  async function writeLease(): Promise<void> {
    const leaseDurationSeconds = Math.ceil((4 * options.leaseRenewMs) / 1000);
    const spec = { holderIdentity: name, leaseDurationSeconds, renewTime: microTime() };
    const patched = await rest.call('PATCH', `${leases}/${name}`, { spec }, { type: strategicPatch, token });
    if (patched.status < 300) return;
    const lease = { apiVersion: 'coordination.k8s.io/v1', kind: 'Lease', metadata: { name }, spec };
    if (patched.status === 404) await rest.must('POST', leases, lease, { token });
    else throw new Error(`kubelet ${name} cannot renew its lease: ${patched.status} ${patched.body?.message}`);
  }

  return {
    name,
    get running() {
      return renewing !== undefined;
    },
    async start() {
      renewedAtMs = Number.POSITIVE_INFINITY;
      // The lease comes first: the node monitor sets a Ready Node with an old lease to Unknown.
      await renew();
      await register();
      // A renewal that fails is made up for by the next one, as in a real kubelet.
      renewing ??= setInterval(() => void renew().catch(() => {}), options.leaseRenewMs);
    },
    stop() {
      clearInterval(renewing);
      renewing = undefined;
    },
  };
}
