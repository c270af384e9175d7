import { type KubeRest, mergePatch, strategicPatch } from './kube-rest.ts';

/**
 * The part of kube-controller-manager that the sandbox needs: Ready turns Unknown when a lease is silent, and the
 * not-ready taint goes when a Node is Ready.
 */
export interface NodeMonitor {
  stop(): Promise<void>;
}

interface NodeObject {
  readonly metadata: { readonly name: string; readonly resourceVersion: string; readonly creationTimestamp: string };
  readonly spec?: { readonly taints?: readonly { readonly key: string; readonly effect: string }[] };
  readonly status?: { readonly conditions?: readonly { readonly type: string; readonly status: string }[] };
}

/**
 * Looks at every Node once.
 * @param graceMs how long a lease may be silent; kube-controller-manager's default is 50 s
 */
export async function monitorNodes(rest: KubeRest, graceMs: number): Promise<void> {
  // Leases after Nodes: a kubelet renews its lease before it says Ready.
  const nodes = await rest.must('GET', '/api/v1/nodes');
  const leases = await rest.must('GET', '/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases');
  const renewed = new Map<string, number>(
    // biome-ignore lint/suspicious/noExplicitAny: a Lease
    leases.items.map((lease: any) => [lease.metadata.name, Date.parse(lease.spec?.renewTime ?? '')]),
  );
  for (const node of nodes.items as NodeObject[]) {
    const { name, resourceVersion } = node.metadata;
    const ready = node.status?.conditions?.find(({ type }) => type === 'Ready')?.status;
    const silentMs = Date.now() - (renewed.get(name) ?? Date.parse(node.metadata.creationTimestamp));
    if (silentMs > graceMs && ready === 'True') {
      const now = new Date().toISOString().replace(/\.\d+Z$/, 'Z');
      const condition = {
        type: 'Ready',
        status: 'Unknown',
        reason: 'NodeStatusUnknown',
        message: 'Kubelet stopped posting node status.',
        lastTransitionTime: now,
      };
      await rest.call(
        'PATCH',
        `/api/v1/nodes/${name}/status`,
        { status: { conditions: [condition] } },
        { type: strategicPatch },
      );
    } else if (ready === 'True' && node.spec?.taints?.some(({ key }) => key === 'node.kubernetes.io/not-ready')) {
      const taints = node.spec.taints.filter(({ key }) => key !== 'node.kubernetes.io/not-ready');
      await rest.call(
        'PATCH',
        `/api/v1/nodes/${name}`,
        { metadata: { resourceVersion }, spec: { taints } },
        { type: mergePatch },
      );
    }
  }
}

/** @param graceMs as for `monitorNodes`, which is called at this period */
export function startNodeMonitor(rest: KubeRest, graceMs: number, periodMs: number): NodeMonitor {
  let stopped = false;
  let timer: NodeJS.Timeout | undefined;
  let running: Promise<void> = Promise.resolve();

  function next(): void {
    if (stopped) return;
    timer = setTimeout(() => {
      running = monitorNodes(rest, graceMs)
        .catch(() => {})
        .then(next);
    }, periodMs);
  }

  next();
  return {
    async stop() {
      stopped = true;
      clearTimeout(timer);
      await running;
    },
  };
}
