import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { annotations, conditions, labels, names, taints } from '../../../common/well-known.ts';
import { type KubeApiServer, startKubeApi } from '../../kit/kube-api/start-kube-api.ts';
import { type AdminClient, adminClient } from '../../kit/kube-api/testing/admin-client.ts';
import { startChild } from '../../kit/world/child.ts';
import { until } from '../../kit/world/scenario.ts';
import { controllerMain } from '../../kit/world/shortened.ts';

/** How a Node stands. */
export type NodeLook = 'well' | 'draining' | 'waiting' | 'missing' | 'off' | 'paused' | 'foreign';

/** A Kubernetes API with Nodes, Services and Events as a controller leaves them, and the page about it. */
export interface ShownCluster {
  readonly api: KubeApiServer;
  readonly ask: AdminClient;
  readonly url: string;
  /** Resident memory of the command now, in MiB. */
  memory(): Promise<number>;
  addNode(name: string, zone: string, look?: NodeLook): void;
  /** Sets our condition of a Node. */
  setCondition(name: string, status: 'True' | 'False', reason: string, message: string): void;
  /** Sets the label by which a Node leaves the load balancers, or takes it away. */
  exclude(name: string, isExcluded: boolean): void;
  renewLease(identity: string): void;
  stop(): Promise<void>;
}

const merge = 'application/merge-patch+json';
const scope = 'https://cloud.example/demo/eu-1';

/** Starts the API, lets `fill` create what there is, and runs the command. @param token whose rights it has */
export async function showCluster(
  fill: (cluster: Omit<ShownCluster, 'url' | 'memory' | 'stop'>) => void,
  token?: (api: KubeApiServer) => Promise<string>,
): Promise<ShownCluster> {
  const folder = await mkdtemp(join(tmpdir(), 'mooring-ui-'));
  const api = await startKubeApi({});
  const ask = adminClient(api.core, 'test');
  const leases = `/apis/coordination.k8s.io/v1/namespaces/${names.namespace}/leases`;

  function setCondition(name: string, status: 'True' | 'False', reason: string, message: string): void {
    const since = new Date().toISOString();
    const own = { type: conditions.cloudInitialized, status, reason, message, lastTransitionTime: since };
    const route = { type: conditions.networkUnavailable, status: 'False', reason: 'RouteCreated' };
    ask('PATCH', `/api/v1/nodes/${name}/status`, { status: { conditions: [own, route] } }, merge);
  }

  const cluster = {
    api,
    ask,
    setCondition,
    addNode(name: string, zone: string, look: NodeLook = 'well') {
      const metadata = {
        name,
        labels: { [labels.zone]: zone, ...(look === 'draining' && { [labels.excludeFromLoadBalancers]: '' }) },
        annotations: {
          [annotations.instance]: `${scope} 1`,
          ...(look === 'paused' && { [annotations.paused]: 'true' }),
        },
      };
      const taint = look === 'off' ? taints.shutdown : look === 'waiting' ? taints.uninitialized : undefined;
      const spec = {
        providerID: look === 'foreign' ? 'othercloud:///vm-1' : `simulated://eu-1/i-${name}`,
        ...(taint && { taints: [{ key: taint, effect: 'NoSchedule' }] }),
      };
      ask('POST', '/api/v1/nodes', { apiVersion: 'v1', kind: 'Node', metadata, spec });
      if (look === 'waiting') setCondition(name, 'False', 'CloudUnavailable', 'the cloud answers 503');
      else if (look !== 'foreign') setCondition(name, 'True', 'Initialized', 'up to date with the cloud');
      if (look !== 'missing') return;
      const message = 'the credential does not see the instances that exist';
      const missing = { type: conditions.instanceMissing, status: 'True', reason: 'CanaryNotFound', message };
      ask(
        'PATCH',
        `/api/v1/nodes/${name}/status`,
        { status: { conditions: [missing] } },
        'application/strategic-merge-patch+json',
      );
    },
    exclude(name: string, isExcluded: boolean) {
      const held = { [labels.excludeFromLoadBalancers]: isExcluded ? '' : null };
      ask('PATCH', `/api/v1/nodes/${name}`, { metadata: { labels: held } }, merge);
    },
    renewLease(identity: string) {
      const spec = { holderIdentity: identity, renewTime: new Date().toISOString().replace('Z', '000Z') };
      if (ask('PATCH', `${leases}/${names.lease}`, { spec }, merge) === undefined)
        ask('POST', leases, { metadata: { name: names.lease }, spec });
    },
  };
  fill(cluster);
  const kubeconfig = join(folder, 'kubeconfig');
  await api.writeKubeconfig(kubeconfig, await token?.(api));
  const output = join(folder, 'output');
  const child = startChild([controllerMain, 'ui', `--kubeconfig=${kubeconfig}`], output);
  const url = await until('the command prints its address', 60_000, async () =>
    /^http:\S+\n/m.exec(await readFile(output, 'utf8'))?.[0].trim(),
  );
  return {
    ...cluster,
    url,
    async memory() {
      const status = await readFile(`/proc/${child.pid}/status`, 'utf8');
      return Math.round(Number(/VmRSS:\s+(\d+)/.exec(status)?.[1]) / 1024);
    },
    async stop() {
      await child.stop();
      await api.stop();
      await rm(folder, { recursive: true });
    },
  };
}

/** Adds a Service of type LoadBalancer with our record and condition. @param noted further annotations */
export function addService(ask: AdminClient, name: string, reason: string, message = '', noted: object = {}): void {
  const path = '/api/v1/namespaces/default/services';
  const ok = ['Ensured', 'MembersRefused'].includes(reason);
  ask('POST', path, {
    apiVersion: 'v1',
    kind: 'Service',
    metadata: {
      name,
      annotations: { [annotations.loadBalancer]: `${scope} ${ok ? `lb-${name}` : 'pending'}`, ...noted },
    },
    spec: {
      type: 'LoadBalancer',
      ports: [
        { name: 'http', port: 80 },
        { name: 'https', port: 443 },
      ],
    },
  });
  const condition = { type: conditions.loadBalancer, status: ok ? 'True' : 'False', reason, message };
  const ingress = ok ? [{ ip: `198.51.100.${(name.length * 7) % 250}` }] : [];
  const status = {
    conditions: [{ ...condition, lastTransitionTime: new Date().toISOString() }],
    loadBalancer: { ingress },
  };
  ask('PATCH', `${path}/${name}/status`, { status }, merge);
}

export function addEvent(ask: AdminClient, at: number, node: string, reason: string, message: string): void {
  const lastTimestamp = new Date(Date.now() - at * 1000).toISOString().replace(/\.\d+Z/, 'Z');
  const name = `${node}.${reason.toLowerCase()}.${at}`;
  ask('POST', '/api/v1/namespaces/default/events', {
    apiVersion: 'v1',
    kind: 'Event',
    metadata: { name, namespace: 'default' },
    count: 1 + (at % 3),
    lastTimestamp,
    type: reason.startsWith('Sync') ? 'Normal' : 'Warning',
    involvedObject: { kind: 'Node', name: node },
    source: { component: names.controller },
    reason,
    message,
  });
}
