import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { region } from '../clouds/aws/aws-world.ts';
import { openAwsLife } from '../clouds/aws/life-cloud.ts';
import { openLifeStage } from '../clouds/life/life-stage.ts';
import { createStep, services } from '../clouds/life/service-steps.ts';
import { openOpenStackLife } from '../clouds/openstack/life-cloud.ts';
import { startEmbeddedApi } from '../conformance/embedded-api.ts';
import { mergePatch } from '../kit/world/kube-rest.ts';
import { findBinaries } from '../real/binaries.ts';
import { startRealApi } from '../real/start-real-api.ts';

/**
 * `node test/docs/cloud-cluster.ts aws|openstack`: a cluster on the fake of a cloud, until it is interrupted. The line
 * that it prints leads there and brings its `cloud.conf`. No controller runs. On OpenStack one did: initialised Nodes
 * are left, and what it made for Services that are gone. One Node is new. SANDBOX_KUBERNETES is `real` for a real API
 * server.
 */
const clouds = { aws: openAwsLife, openstack: openOpenStackLife } as const;
const name = process.argv[2] as keyof typeof clouds;
const hasLived = name === 'openstack';

const stopped = new Promise((resolve) => {
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, resolve);
});
const life = await clouds[name]();
const nodeNames = life.machines.map(({ node }) => node);
const { found: binaries } =
  process.env['SANDBOX_KUBERNETES'] === 'real'
    ? await findBinaries(process.env, console.error, { build: false })
    : { found: undefined };
const api = binaries === undefined ? await startEmbeddedApi() : await startRealApi({ binaries, nodeNames });
const stage = await openLifeStage([async () => life], { api, members: nodeNames.length - 1, idle: !hasLived });
if (hasLived) await leaveBalancers();
await stage.join(life.machines.at(-1)!);

const folder = await mkdtemp(join(tmpdir(), 'mooring-cloud-cluster-'));
const kubeconfig = join(folder, 'kubeconfig');
await api.writeKubeconfig(kubeconfig);
const { configText, env } = life.served;
await writeFile(join(folder, 'cloud.conf'), configText);
const variables = Object.entries({ KUBECONFIG: kubeconfig, AWS_REGION: region, ...env })
  .map(([key, value]) => `${key}=${value}`)
  .join(' ');
console.log(`export ${variables}; cp ${folder}/cloud.conf .\nThe sandbox stays up until it is interrupted.`);

await stopped;
await stage.close();
await api.stop();
await rm(folder, { recursive: true });

/** The controller makes load balancers and routes, and ends; their Services go without it. */
async function leaveBalancers(): Promise<void> {
  const { rest, stopProcess } = stage.controller;
  await createStep.run(stage);
  await stopProcess();
  for (const { metadata } of (await rest.must('GET', services)).items) {
    if (!metadata.finalizers?.length) continue;
    const path = `${services}/${metadata.name}`;
    await rest.must('PATCH', `${path}/status`, { metadata: { finalizers: null } }, { type: mergePatch });
    await rest.must('DELETE', path);
  }
}
