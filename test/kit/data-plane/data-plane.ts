import type { Random } from '../../../common/process/random.ts';
import type { SimulatedInstance } from '../cloud/instance.ts';
import type { LoadBalancerModel } from '../cloud/load-balancer-model.ts';
import type { CloudModel } from '../cloud/model.ts';
import { type Balancers, createBalancers } from './balancers.ts';
import { createHealthChecks } from './health-checks.ts';
import { portOnLoopback, reserveLoopback } from './loopback.ts';
import { nodeEndpoints } from './node-ports.ts';
import { watchServices } from './service-watch.ts';
import { createTcpServers } from './tcp-servers.ts';

export interface DataPlaneOptions {
  readonly api: { readonly url: string; readonly caPem: string; readonly adminToken: string };
  readonly instances: CloudModel;
  readonly loadBalancers: LoadBalancerModel;
  readonly random: Random;
  /** VMs that open sockets, in the order in which they were created; the others serve nothing. Default 50. */
  readonly maxNodes?: number;
}

/**
 * The network of the sandbox: every running VM opens the node ports of all Services, as kube-proxy would, and every
 * load balancer forwards TCP from its own address to those of its healthy members. All on loopback addresses; UDP and
 * SCTP are not carried.
 */
export interface DataPlane {
  /** Where a client reaches an address of the cloud. */
  reach(ip: string, port: number): { readonly host: string; readonly port: number };
  /** Pods of the Service (`namespace/name`) run on these nodes; undefined = on every node, as at the start. */
  placePods(service: string, nodes: readonly string[] | undefined): void;
  /** Connections that are open through this load balancer to this instance. */
  readonly open: Balancers['open'];
  /** VMs that run and are part of the network, by name. */
  nodes(): string[];
  /** A loopback address for a client of this name, for source ranges. */
  clientAddress(name: string): string;
  stop(): Promise<void>;
}

const healthPeriodMs = 500;
/** Long: nodes and checks share one process, so a late answer means a busy machine, not a node that is down. */
const healthTimeoutMs = 5000;

export async function startDataPlane(options: DataPlaneOptions): Promise<DataPlane> {
  const { instances, loadBalancers, random, maxNodes = 50 } = options;
  const block = await reserveLoopback(random);
  const servers = createTcpServers();
  const placement = new Map<string, ReadonlySet<string>>();
  const hosts = new Map<string, string>();
  let scheduled: NodeJS.Immediate | undefined;

  const checks = createHealthChecks({
    periodMs: healthPeriodMs,
    timeoutMs: healthTimeoutMs,
    failures: 2,
    onVerdict: tellHealth,
  });
  const balancers = createBalancers({
    hostOf: (ip) => block.addressOf(`ip ${ip}`),
    instanceHost: (instanceId) => hosts.get(instanceId),
    checks,
  });
  const watch = watchServices(options.api, schedule);
  const unsubscribe = [instances.onChange(schedule), loadBalancers.onChange(schedule)];

  function tellHealth(): void {
    for (const { pools } of loadBalancers.store.all()) {
      for (const pool of pools) {
        for (const { instanceId } of pool.members) {
          loadBalancers.health.set(pool.id, instanceId, balancers.healthy(pool, instanceId));
        }
      }
    }
  }

  /** Many changes of one moment are one pass. */
  function schedule(): void {
    scheduled ??= setImmediate(() => {
      scheduled = undefined;
      pass();
    });
  }

  const members = () => instances.all().filter(isPartOfNetwork).slice(0, maxNodes);
  const runningOf = (nodes: readonly SimulatedInstance[]) => nodes.filter(({ power }) => power === 'running');

  function pass(): void {
    // A node that says it is healthy and has no node port yet would break connections.
    if (!watch.listed) return;
    const nodes = members();
    const running = runningOf(nodes);
    hosts.clear();
    for (const { id } of nodes) hosts.set(id, block.addressOf(`instance ${id}`));
    balancers.update(loadBalancers.store.all());
    const onNodes = nodeEndpoints(
      running.map(({ id, name }) => ({ name, host: hosts.get(id) ?? '' })),
      watch.services.values(),
      (service) => placement.get(service),
    );
    servers.want(new Map([...onNodes, ...balancers.endpoints()]));
    checks.want(balancers.targets());
    tellHealth();
  }

  return {
    reach: (ip, port) => ({ host: block.addressOf(`ip ${ip}`), port: portOnLoopback(port) }),
    placePods(service, nodes) {
      if (nodes === undefined) placement.delete(service);
      else placement.set(service, new Set(nodes));
      schedule();
    },
    open: balancers.open,
    nodes: () => runningOf(members()).map(({ name }) => name),
    clientAddress: (name) => block.addressOf(`client ${name}`),
    async stop() {
      for (const end of unsubscribe) end();
      watch.stop();
      if (scheduled) clearImmediate(scheduled);
      checks.close();
      await servers.close();
      await block.release();
    },
  };
}

/** A VM that has ended is shown for a while yet; it keeps no address. */
function isPartOfNetwork({ power }: SimulatedInstance): boolean {
  return power !== 'terminated' && power !== 'shutting-down';
}
