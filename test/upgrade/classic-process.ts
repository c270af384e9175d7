import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { clusterCidr } from '../clouds/aws/controller-process.ts';
import type { LifeCloud } from '../clouds/life/life-cloud.ts';
import type { ApiUnderTest } from '../conformance/api-under-test.ts';
import { type Child, startProgram } from '../kit/world/child.ts';

/** A classic controller beside the shipped one, on the same cloud and API. One of both runs at a time. */
export interface ClassicProcess {
  start(): void;
  stop(): Promise<void>;
  /** Whether the one that runs has ensured the load balancer of that Service since it was started. */
  hasEnsured(service: string): Promise<boolean>;
  /** The end of what it has logged. */
  log(): Promise<string>;
  close(): Promise<void>;
}

export interface ClassicOptions {
  readonly program: string;
  /** As in `--cloud-provider`. */
  readonly provider: string;
  /** Its cloud config. */
  readonly configText: string;
  readonly env?: Readonly<Record<string, string>>;
  /** What the certificate of its cloud is signed with, in PEM. */
  readonly caPem?: string;
  readonly flags?: readonly string[];
  /** What initialises the Nodes where it does not: a program, and their names. */
  readonly nodeManager?: { readonly program: string; readonly nodes: readonly string[] };
}

export async function prepareClassic(
  api: ApiUnderTest,
  { served }: Pick<LifeCloud, 'served'>,
  { program, provider, configText, env = {}, caPem, flags = [], nodeManager }: ClassicOptions,
): Promise<ClassicProcess> {
  const folder = await mkdtemp(join(tmpdir(), `classic-${provider}-`));
  const [kubeconfig, config, ca] = ['kubeconfig', 'cloud.conf', 'ca.pem'].map((name) => join(folder, name));
  await api.writeKubeconfig(kubeconfig!);
  await writeFile(config!, configText);
  if (caPem !== undefined) await writeFile(ca!, caPem);
  const shared = [`--cloud-config=${config}`, `--kubeconfig=${kubeconfig}`, '--v=2'];
  const args = [
    ...shared,
    `--cloud-provider=${provider}`,
    '--cluster-name=kubernetes',
    '--secure-port=0',
    // It would speak protobuf, which the embedded API does not.
    '--kube-api-content-type=application/json',
    '--leader-elect-lease-duration=5s',
    '--leader-elect-renew-deadline=3s',
    '--leader-elect-retry-period=1s',
    '--configure-cloud-routes=true',
    '--allocate-node-cidrs=true',
    `--cluster-cidr=${clusterCidr}`,
    '--node-monitor-period=1s',
    '--node-status-update-frequency=5s',
    '--route-reconciliation-period=5s',
    ...flags,
  ];
  const programEnv = {
    ...process.env,
    ...served.env,
    ...env,
    ...(caPem === undefined ? {} : { SSL_CERT_FILE: ca! }),
  };
  let child: Child | undefined;
  let manager: Child | undefined;
  let starts = 0;
  const logFile = () => join(folder, `${starts}.log`);
  const log = () => readFile(logFile(), 'utf8').catch(() => '');
  async function stop(): Promise<void> {
    await Promise.all([child?.stop(), manager?.stop()]);
  }
  return {
    start() {
      starts += 1;
      child = startProgram([program, ...args], logFile(), programEnv);
      if (nodeManager === undefined) return;
      const managed = [nodeManager.program, ...shared, ...nodeManager.nodes];
      manager = startProgram(managed, join(folder, `${starts}-nodes.log`), programEnv);
    },
    stop,
    async hasEnsured(service) {
      if (child?.running !== true) throw new Error(`the classic controller has ended: ${(await log()).slice(-3000)}`);
      return (await log())
        .split('\n')
        .some((line) => line.includes('"EnsuredLoadBalancer"') && line.includes(`"default/${service}"`));
    },
    log: async () => (await log()).slice(-3000),
    async close() {
      await stop();
      if (!process.env['MOORING_SHOW']) await rm(folder, { recursive: true });
    },
  };
}
