import type { Clock } from '../../../common/process/clock.ts';
import { names, taints as taintKeys } from '../../../common/well-known.ts';
import type { JsonObject } from '../../kit/kube-api/json.ts';
import type { KubeApiCore } from '../../kit/kube-api/kube-api-core.ts';
import { adminClient } from '../../kit/kube-api/testing/admin-client.ts';

/** What everybody but the controller does to the API server. None of it fails: their faults are not ours to survive. */
export interface Cluster {
  /** A kubelet with an external cloud provider registers. @returns the uid */
  register(name: string, node: NewNode): string;
  setReady(name: string, status: 'True' | 'False' | 'Unknown'): void;
  setSystemUuid(name: string, systemUuid: string): void;
  renewLease(name: string, aheadMs: number, leaseSeconds: number): void;
  /** A merge patch of a Node; undefined when there is none of that name. */
  patchNode(name: string, body: object): JsonObject | undefined;
  removeNode(name: string): void;
  pauseAll(paused: boolean): void;
  /** Names of Nodes that are not to be deleted. */
  keepNodes(names: Iterable<string>): void;
  ask(method: string, path: string, body?: unknown, contentType?: string): JsonObject | undefined;
}

export interface NewNode {
  readonly systemUuid: string;
  readonly providerID?: string;
  readonly uninitialized?: boolean;
  /** Given by the range allocator. */
  readonly podCIDR?: string;
  readonly addresses?: readonly { readonly type: string; readonly address: string }[];
}

const merge = 'application/merge-patch+json';
const strategic = 'application/strategic-merge-patch+json';
const nodesPath = '/api/v1/nodes';
const leasesPath = `/apis/coordination.k8s.io/v1/namespaces/${names.nodeLeaseNamespace}/leases`;
const configMapsPath = `/api/v1/namespaces/${names.namespace}/configmaps`;
const blank = {
  machineID: '',
  bootID: '',
  kernelVersion: '',
  osImage: '',
  containerRuntimeVersion: '',
  kubeletVersion: '',
  kubeProxyVersion: '',
  operatingSystem: '',
  architecture: '',
};

export function createCluster(core: KubeApiCore, clock: Clock): Cluster {
  const ask: Cluster['ask'] = adminClient(core, 'cluster');

  const seconds = () => new Date(clock.now()).toISOString().replace(/\.\d+Z$/, 'Z');
  const readyCondition = (status: 'True' | 'False' | 'Unknown') => ({
    type: 'Ready',
    status,
    reason: status === 'Unknown' ? 'NodeStatusUnknown' : status === 'True' ? 'KubeletReady' : 'KubeletNotReady',
    message: status,
    lastHeartbeatTime: seconds(),
    lastTransitionTime: seconds(),
  });
  const patchStatus = (name: string, status: object) =>
    ask('PATCH', `${nodesPath}/${name}/status`, { status }, strategic);

  return {
    ask,
    register(name, { systemUuid, providerID, podCIDR, uninitialized = true, addresses = [] }) {
      const made = ask('POST', nodesPath, {
        apiVersion: 'v1',
        kind: 'Node',
        metadata: { name, labels: { 'kubernetes.io/hostname': name } },
        spec: {
          taints: uninitialized ? [{ key: taintKeys.uninitialized, value: 'true', effect: 'NoSchedule' }] : [],
          ...(providerID === undefined ? {} : { providerID }),
          ...(podCIDR === undefined ? {} : { podCIDR, podCIDRs: [podCIDR] }),
        },
        status: { addresses, conditions: [readyCondition('True')], nodeInfo: { ...blank, systemUUID: systemUuid } },
      });
      return (made as unknown as { metadata: { uid: string } }).metadata.uid;
    },
    setReady: (name, status) => void patchStatus(name, { conditions: [readyCondition(status)] }),
    setSystemUuid: (name, systemUuid) => void patchStatus(name, { nodeInfo: { systemUUID: systemUuid } }),
    renewLease(name, aheadMs, leaseDurationSeconds) {
      const renewTime = new Date(clock.now() + aheadMs).toISOString().replace('Z', '000Z');
      const spec = { holderIdentity: name, leaseDurationSeconds, renewTime };
      if (ask('PATCH', `${leasesPath}/${name}`, { spec }, merge) !== undefined) return;
      const metadata = { name, namespace: names.nodeLeaseNamespace };
      ask('POST', leasesPath, { apiVersion: 'coordination.k8s.io/v1', kind: 'Lease', metadata, spec });
    },
    patchNode: (name, body) => ask('PATCH', `${nodesPath}/${name}`, body, merge),
    removeNode: (name) => void ask('DELETE', `${nodesPath}/${name}`),
    pauseAll: (paused) => setPause({ [names.pausedKey]: String(paused) }),
    keepNodes: (kept) => setPause({ [names.pausedNodesKey]: [...kept].join(',') }),
  };

  function setPause(data: Readonly<Record<string, string>>): void {
    if (ask('PATCH', `${configMapsPath}/${names.certificates}`, { data }, merge) !== undefined) return;
    const metadata = { name: names.certificates, namespace: names.namespace };
    ask('POST', configMapsPath, { apiVersion: 'v1', kind: 'ConfigMap', metadata, data });
  }
}
