import type { Clock } from '../../../common/process/clock.ts';
import { taints as taintKeys } from '../../../common/well-known.ts';
import type { Taint } from '../../../controller/model/node-view.ts';
import type { KubeApiCore } from '../../kit/kube-api/kube-api-core.ts';
import { adminClient } from '../../kit/kube-api/testing/admin-client.ts';

export interface RawNode {
  readonly metadata: {
    readonly name: string;
    readonly uid: string;
    readonly resourceVersion: string;
    readonly labels?: Readonly<Record<string, string>>;
    readonly annotations?: Readonly<Record<string, string>>;
  };
  readonly spec: { readonly providerID?: string; readonly taints?: readonly Taint[]; readonly unschedulable?: boolean };
  readonly status: {
    readonly addresses?: readonly { readonly type: string; readonly address: string }[];
    readonly conditions?: readonly {
      readonly type: string;
      readonly status: string;
      readonly reason: string;
      readonly message: string;
      readonly lastTransitionTime: string;
    }[];
  };
}

export interface NewNode {
  /** Default true: a kubelet with an external cloud provider registers so. */
  readonly tainted?: boolean;
  readonly taints?: readonly Taint[];
  readonly providerID?: string;
  readonly labels?: Readonly<Record<string, string>>;
  readonly annotations?: Readonly<Record<string, string>>;
  readonly addresses?: readonly { readonly type: string; readonly address: string }[];
  /** The Ready condition; undefined = none yet. Default `True`. */
  readonly ready?: 'True' | 'False' | 'Unknown' | undefined;
  readonly systemUuid?: string;
}

/**
 * What others do to the cluster: kubelets, the node lifecycle controller, people. These calls do not count as the
 * controller's.
 */
export interface Cluster {
  register(name: string, node?: NewNode): RawNode;
  node(name: string): RawNode | undefined;
  /** Throws when it is not there. */
  mustNode(name: string): RawNode;
  names(): string[];
  mergePatch(name: string, body: object): RawNode;
  setReady(name: string, status: 'True' | 'False' | 'Unknown'): void;
  heartbeat(name: string): void;
  setCondition(
    name: string,
    condition: { readonly type: string; readonly status: string; readonly reason: string },
  ): void;
  setAddresses(name: string, addresses: readonly { readonly type: string; readonly address: string }[]): void;
  /** What a kubelet writes when it starts on another machine. */
  setSystemUuid(name: string, systemUUID: string): void;
  /** @param leaseSeconds default as a kubelet's */
  renewLease(name: string, agoMs?: number, leaseSeconds?: number): void;
  remove(name: string): void;
  condition(
    name: string,
    type: string,
  ): { readonly status: string; readonly reason: string; readonly message: string } | undefined;
  hasTaint(name: string, key: string): boolean;
  /**
   * A kubelet that renews the lease at a quarter of its duration (default 40 s), and the Node turning Unknown 50 s
   * after it died.
   */
  kubelet(name: string, leaseSeconds?: number): Kubelet;
}

export interface Kubelet {
  die(): void;
}

const readyMessages = {
  True: 'kubelet is posting ready status',
  False: 'container runtime network not ready',
  Unknown: 'Kubelet stopped posting node status.',
};
const nodesPath = '/api/v1/nodes';
const leasesPath = '/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases';

export function createCluster(core: KubeApiCore, clock: Clock): Cluster {
  const ask = adminClient(core, 'cluster');

  function must<T>(value: T | undefined, what: string): T {
    if (value === undefined) throw new Error(`no ${what}`);
    return value;
  }

  const merge = 'application/merge-patch+json';
  const strategic = 'application/strategic-merge-patch+json';
  const stamp = () => new Date(clock.now()).toISOString().replace(/\.\d+Z$/, 'Z');
  const readyCondition = (status: 'True' | 'False' | 'Unknown') => ({
    type: 'Ready',
    status,
    reason: status === 'True' ? 'KubeletReady' : 'KubeletNotReady',
    message: readyMessages[status],
    lastHeartbeatTime: stamp(),
    lastTransitionTime: stamp(),
  });

  const cluster: Cluster = {
    register(name, node = {}) {
      const { tainted = true, taints = [], providerID, labels, annotations, addresses, systemUuid } = node;
      const ready = 'ready' in node ? node.ready : 'True';
      const all = tainted ? [{ key: taintKeys.uninitialized, value: 'true', effect: 'NoSchedule' }, ...taints] : taints;
      const created = ask<RawNode>('POST', nodesPath, {
        apiVersion: 'v1',
        kind: 'Node',
        metadata: { name, labels: { 'kubernetes.io/hostname': name, ...labels }, ...(annotations && { annotations }) },
        spec: { taints: all, ...(providerID && { providerID }) },
        status: {
          ...(addresses && { addresses }),
          ...(ready && { conditions: [readyCondition(ready)] }),
          nodeInfo: {
            systemUUID: systemUuid ?? '',
            machineID: '',
            bootID: '',
            kernelVersion: '',
            osImage: '',
            containerRuntimeVersion: '',
            kubeletVersion: '',
            kubeProxyVersion: '',
            operatingSystem: '',
            architecture: '',
          },
        },
      });
      return must(created, name);
    },
    node: (name) => ask<RawNode>('GET', `${nodesPath}/${name}`),
    mustNode: (name) => must(cluster.node(name), `Node ${name}`),
    names: () => must(ask<{ items: RawNode[] }>('GET', nodesPath), 'list').items.map(({ metadata }) => metadata.name),
    mergePatch: (name, body) => must(ask<RawNode>('PATCH', `${nodesPath}/${name}`, body, merge), name),
    setReady(name, status) {
      cluster.setCondition(name, readyCondition(status));
    },
    setCondition(name, condition) {
      ask('PATCH', `${nodesPath}/${name}/status`, { status: { conditions: [condition] } }, strategic);
    },
    setAddresses(name, addresses) {
      ask('PATCH', `${nodesPath}/${name}/status`, { status: { addresses } }, merge);
    },
    setSystemUuid(name, systemUUID) {
      ask('PATCH', `${nodesPath}/${name}/status`, { status: { nodeInfo: { systemUUID } } }, merge);
    },
    heartbeat(name) {
      const conditions = [{ type: 'Ready', lastHeartbeatTime: new Date(clock.now() + 1000).toISOString() }];
      ask('PATCH', `${nodesPath}/${name}/status`, { status: { conditions } }, strategic);
      const marker = { metadata: { annotations: { 'example.com/heartbeat': String(clock.monotonic()) } } };
      ask('PATCH', `${nodesPath}/${name}`, marker, merge);
    },
    renewLease(name, agoMs = 0, leaseSeconds = 40) {
      const renewTime = new Date(clock.now() - agoMs).toISOString().replace('Z', '000Z');
      const spec = { holderIdentity: name, leaseDurationSeconds: leaseSeconds, renewTime };
      const patched = ask('PATCH', `${leasesPath}/${name}`, { spec }, merge);
      if (patched === undefined) {
        const metadata = { name, namespace: 'kube-node-lease' };
        ask('POST', leasesPath, { apiVersion: 'coordination.k8s.io/v1', kind: 'Lease', metadata, spec });
      }
    },
    remove(name) {
      ask('DELETE', `${nodesPath}/${name}`);
    },
    condition: (name, type) => cluster.node(name)?.status.conditions?.find((each) => each.type === type),
    hasTaint: (name, key) => cluster.node(name)?.spec.taints?.some((taint) => taint.key === key) ?? false,
    kubelet(name, leaseSeconds = 40) {
      let alive = true;
      const uid = cluster.mustNode(name).metadata.uid;
      const beat = () => {
        if (!alive || cluster.node(name)?.metadata.uid !== uid) return;
        cluster.renewLease(name, 0, leaseSeconds);
        clock.setTimer(leaseSeconds * 250, beat);
      };
      beat();
      return {
        die() {
          alive = false;
          clock.setTimer(50_000, () => {
            if (cluster.node(name)?.metadata.uid === uid) cluster.setReady(name, 'Unknown');
          });
        },
      };
    },
  };
  return cluster;
}
