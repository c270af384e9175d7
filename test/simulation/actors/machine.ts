/** One machine of the cluster: a VM, the kubelet on it and the agent. */
export interface Machine {
  readonly name: string;
  vmId: string;
  /** The Node object its kubelet stands for; undefined before it registered. */
  nodeUid: string | undefined;
  kubeletUp: boolean;
  /** When its kubelet last came up, and when a leader last heard its agent. */
  upAt: number;
  heardAt: number;
  /** It hangs: the VM runs, the kubelet says nothing. */
  kubeletHangs: boolean;
  /** For now. */
  agentSilent: boolean;
  /** There is no agent on it. */
  readonly agentless: boolean;
  /** Its report-only cloud, which has no API here; empty for the simulated one. */
  readonly otherCloud: string;
  /** `kubelet --provider-id`. */
  readonly knowsProviderID: boolean;
  /** The pod range that its kubelet claims instead of the one it is given. */
  readonly rogueRange: string | undefined;
  /** How far its clock is ahead. */
  readonly skewMs: number;
  /** `nodeLeaseDurationSeconds` of its kubelet. */
  readonly leaseSeconds: number;
  /** Counts its agent's processes and reports. */
  agent: { id: string; sequence: number; processes: number };
}
