import { execFile } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { taints } from '../../common/well-known.ts';
import type { ApiSuite, ApiUnderTest, Check } from '../conformance/api-under-test.ts';
import { createKubeRest } from '../kit/world/kube-rest.ts';
import { addressesOf, assertThat, conditionOf, nodeNamed, taintKeys, until } from '../kit/world/scenario.ts';
import { controllerMain } from '../kit/world/shortened.ts';
import type { World } from '../kit/world/world.ts';
import { inWorld } from './in-world.ts';

const execute = promisify(execFile);
const nodes = 3;

export const bootstrapNodeNames: readonly string[] = Array.from(
  { length: nodes },
  (_, index) => `node-000${index + 1}`,
);

async function explain(world: World, name: string): Promise<{ state: string; reason: string; why: string }> {
  const args = [controllerMain, 'explain', 'node', name, '-o', 'json', `--kubeconfig=${world.kubeconfig}`];
  return JSON.parse((await execute(process.execPath, args)).stdout);
}

async function allInitialised(world: World): Promise<void> {
  for (const { name } of world.vms) {
    await until(`${name} is initialised`, 60_000, async () => {
      const node = await nodeNamed(world, name);
      return node && !taintKeys(node).includes(taints.uninitialized) && addressesOf(node, 'InternalIP').length > 0;
    });
  }
}

/**
 * The order in which a cluster starts from nothing: kubelets without --node-ip, so that host-network pods have no pod
 * IP and the Service no endpoints; no CNI, no DNS, no kube-proxy; the ConfigMap of the agents empty; the controllers
 * last. Agents get what they need from the mounted ConfigMap alone.
 */
async function coldStart(api: ApiUnderTest, suiteCheck: Check, reportOnly: boolean): Promise<void> {
  const kind = reportOnly ? 'from proved reports alone' : "with the cloud's API";
  const options = { api, nodes, agentProcesses: nodes, controllersLater: true, reportOnly };
  const names: string[] = [];
  await inWorld(options, suiteCheck, async (world, check) => {
    names.push(...world.vms.map(({ name }) => name));
    const first = names[0] ?? '';
    await check(`${kind}: before there is a controller, agents wait without a CA and say so`, async () => {
      const log = join(world.folder, 'logs', `agent-${first}.log`);
      await until('the agent says what it lacks', 20_000, async () =>
        /ca\.crt/.test(await readFile(log, 'utf8').catch(() => '')),
      );
      const node = await nodeNamed(world, first);
      assertThat(addressesOf(node, 'InternalIP').length === 0, 'the kubelet knew an address before the cloud told it');
    });
    await check(`${kind}: explain says that no controller leads`, async () => {
      const { state, why } = await explain(world, first);
      assertThat(state === 'waiting' && /no controller holds the Lease/.test(why), JSON.stringify({ state, why }));
    });
    await check(`${kind}: once the controllers come every node is initialised, and explain says so`, async () => {
      await world.startControllers();
      await allInitialised(world);
      const { state } = await explain(world, first);
      assertThat(state === 'initialized', state);
    });
    await check(`${kind}: agents found the controllers through the ConfigMap, and are heard`, async () => {
      const log = join(world.folder, 'logs', `agent-${first}.log`);
      await until('a report is accepted', 30_000, async () => /accepted/.test(await readFile(log, 'utf8')));
    });
    if (!reportOnly) return;
    await check(`${kind}: nothing is ever deleted`, async () => {
      const gone = world.vms[1];
      assertThat(gone, 'the world has too few VMs');
      world.cloud.model.terminate(gone.id);
      await world.powerLoss(gone.name);
      await until(
        'its Node is not Ready',
        30_000,
        async () => conditionOf(await nodeNamed(world, gone.name), 'Ready')?.status === 'Unknown',
      );
      await new Promise((resolve) => setTimeout(resolve, 25_000));
      assertThat(await nodeNamed(world, gone.name), 'a Node of a report-only cloud was deleted');
    });
  }).finally(async () => {
    for (const name of names) await removeTraces(api, name);
  });
}

/** Leaves the server empty for the next world. */
async function removeTraces(api: ApiUnderTest, name: string): Promise<void> {
  const rest = createKubeRest(api);
  await rest.call('DELETE', `/api/v1/nodes/${name}`);
  await rest.call('DELETE', `/api/v1/namespaces/kube-system/pods/mooring-agent-${name}?gracePeriodSeconds=0`);
  await rest.call('DELETE', '/apis/coordination.k8s.io/v1/namespaces/kube-system/leases/cloud-controller-manager');
  await rest.call('DELETE', '/api/v1/namespaces/kube-system/configmaps/mooring-ca');
  await rest.call('DELETE', '/api/v1/namespaces/kube-system/secrets/mooring-ca');
  rest.close();
}

export const bootstrapSuite: ApiSuite = {
  name: 'bootstrap',
  async run(api, check) {
    await coldStart(api, check, false);
    await coldStart(api, check, true);
  },
};
