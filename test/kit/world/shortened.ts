import { join } from 'node:path';

/**
 * The periods of the world, shortened so that a tour takes one minute instead of ten. Each is a flag of the shipped
 * programs or a setting of Kubernetes.
 */
export const shortened = {
  leaseDuration: '5s',
  renewDeadline: '3s',
  retryPeriod: '1s',
  nodeMonitorPeriod: '1s',
  heartbeat: '3s',
  pollInterval: '3s',
  memberDrainTime: '4s',
  loadBalancerAudit: '4s',
  /** How far the cloud's clock lags, so that a new resource looks old enough to be an orphan (ten minutes). */
  cloudLagMs: 900_000,
  /** Not shortened: a range that holds no address of the simulated cloud's VMs. */
  clusterCidr: '100.64.0.0/10',
  /** Not shortened: where the API server takes the addresses of Services from. */
  serviceRange: '10.96.0.0/12',
  /** kubelet: 10 s. */
  kubeletLeaseMs: 2000,
  /** kube-controller-manager: 50 s. */
  monitorGraceMs: 6000,
};

const main = (program: 'agent' | 'controller') => join(import.meta.dirname, `../../../${program}/main.ts`);
export const agentMain = main('agent');
export const controllerMain = main('controller');
