import { mkdir } from 'node:fs/promises';
import { Agent, get } from 'node:https';
import { join } from 'node:path';
import { freePorts } from '../free-ports.ts';
import type { Child } from './child.ts';
import { type StartProgram, startFromSources } from './programs.ts';
import { shortened } from './shortened.ts';

/** One controller process of the world. */
export interface Replica {
  readonly name: string;
  readonly reportUrl: string;
  readonly reportPort: number;
  readonly securePort: number;
  /** Of its webhooks, where `flags` switch them on. */
  readonly webhookPort: number;
  /** The running process, or the last one that ran. */
  readonly child: Child;
  /** Starts the process again, with the same ports and flags. Only when it has ended. */
  start(): void;
  /** Samples of its metrics: `name{labels}` and the value. Rejects when it does not answer. */
  metrics(): Promise<ReadonlyMap<string, number>>;
}

export interface ReplicaConfig {
  readonly folder: string;
  /** Default: from the sources. */
  readonly start?: StartProgram;
  readonly kubeconfig: string;
  /** Who may read metrics. */
  readonly token: string;
  /** None: proved reports are all it has. */
  readonly cloudConfig?: string;
  /** What the cloud signs the identity of its VMs with, in PEM. */
  readonly identityKey?: string;
  readonly requireAttestation?: boolean;
  /** Whether it keeps Services, routes and pod ranges. */
  readonly network: boolean;
  /** Beside those of every world. */
  readonly flags?: readonly string[];
}

export async function startReplica(name: string, config: ReplicaConfig): Promise<Replica> {
  const ports = await freePorts('report', 'secure', 'webhook');
  const logs = join(config.folder, 'logs');
  await mkdir(logs, { recursive: true });
  const args = [
    `--kubeconfig=${config.kubeconfig}`,
    '--cloud-provider=simulated',
    ...(config.identityKey === undefined ? [] : [`--attestation-trust=simulated=${config.identityKey}`]),
    ...(config.requireAttestation ? ['--require-attestation'] : []),
    ...(config.cloudConfig === undefined ? [] : [`--cloud-config=${config.cloudConfig}`]),
    `--report-address=127.0.0.1:${ports.report}`,
    '--report-advertise-address=127.0.0.1',
    '--bind-address=127.0.0.1',
    `--secure-port=${ports.secure}`,
    '--webhook-bind-address=127.0.0.1',
    `--webhook-secure-port=${ports.webhook}`,
    `--leader-elect-lease-duration=${shortened.leaseDuration}`,
    `--leader-elect-renew-deadline=${shortened.renewDeadline}`,
    `--leader-elect-retry-period=${shortened.retryPeriod}`,
    `--node-monitor-period=${shortened.nodeMonitorPeriod}`,
    ...(config.network ? networkFlags : []),
    ...(config.flags ?? []),
  ];
  const start = () => (config.start ?? startFromSources)('controller', args, join(logs, `${name}.log`));
  let child = start();
  return {
    name,
    reportUrl: `https://127.0.0.1:${ports.report}`,
    reportPort: ports.report,
    securePort: ports.secure,
    webhookPort: ports.webhook,
    get child() {
      return child;
    },
    start() {
      if (child.running) throw new Error(`${name} runs already`);
      child = start();
    },
    metrics: () => readMetrics(ports.secure, config.token),
  };
}

/** Pod ranges come from the controller itself: the sandbox has no kube-controller-manager. */
const networkFlags: readonly string[] = [
  '--controllers=*,nodeipam',
  '--allocate-node-cidrs',
  `--cluster-cidr=${shortened.clusterCidr}`,
  '--node-cidr-mask-size=25',
  `--service-cluster-ip-range=${shortened.serviceRange}`,
  `--member-drain-time=${shortened.memberDrainTime}`,
  `--load-balancer-audit-period=${shortened.loadBalancerAudit}`,
];

async function readMetrics(port: number, token: string): Promise<ReadonlyMap<string, number>> {
  // Its certificate is self-signed, in its own memory.
  const agent = new Agent({ keepAlive: false, rejectUnauthorized: false });
  const text = await new Promise<string>((resolve, reject) => {
    const request = get(
      {
        host: '127.0.0.1',
        port,
        path: '/metrics',
        agent,
        headers: { authorization: `Bearer ${token}` },
        timeout: 5000,
      },
      (answer) => {
        const parts: Buffer[] = [];
        answer.on('data', (part: Buffer) => parts.push(part));
        answer.on('error', reject);
        answer.on('end', () => {
          const body = Buffer.concat(parts).toString('utf8');
          if (answer.statusCode === 200) resolve(body);
          else reject(new Error(`/metrics: ${answer.statusCode} ${body.slice(0, 200)}`));
        });
      },
    );
    request.on('timeout', () => request.destroy(new Error('/metrics: no answer')));
    request.on('error', reject);
  }).finally(() => agent.destroy());
  const samples = new Map<string, number>();
  for (const line of text.split('\n')) {
    const match = /^([a-zA-Z_:][^ {]*(?:\{.*\})?) (\S+)/.exec(line);
    if (match) samples.set(match[1] ?? '', Number(match[2]));
  }
  return samples;
}
