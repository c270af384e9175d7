import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { isIPv4 } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { taints } from '../../../common/well-known.ts';
import { addressesOf, conditionOf, taintKeys } from '../../kit/world/scenario.ts';
import { clusterCidr } from '../aws/controller-process.ts';
import type { ClusterCloud, LifeCloud } from './life-cloud.ts';
import type { LifeStage } from './life-stage.ts';

/** One thing that happens to a cluster, and what the controller has to make of it. */
export interface LifeStep<Cloud extends ClusterCloud = LifeCloud> {
  readonly title: string;
  /** It takes minutes. */
  readonly isLong?: boolean;
  run(stage: LifeStage<Cloud>): Promise<void>;
}

/** Longer than some audits of everything. */
export const auditsMs = 8000;

/** Every route is one of a Node that is there, and every such Node has its route. */
export async function assertRoutes({ clouds, nodeNamed }: LifeStage<ClusterCloud>): Promise<void> {
  for (const cloud of clouds) {
    const routes = await cloud.routes();
    if (routes === undefined) continue;
    const nodes = await Promise.all(cloud.machines.map(({ node }) => nodeNamed(node)));
    const desired = nodes.flatMap((node) => (node ? [`${node.spec.podCIDR} ${node.metadata.name}`] : []));
    assert.deepEqual([...routes].sort(), desired.sort());
  }
}

export const restartStep: LifeStep = {
  title: 'changes nothing after a restart with nothing changed',
  async run(stage) {
    const before = stage.changes();
    await stage.restart();
    await sleep(auditsMs);
    assert.equal(stage.changes(), before);
    await assertRoutes(stage);
  },
};

export const planStep: LifeStep = {
  title: 'has an empty plan, and a check that misses nothing',
  async run({ controller, clouds, changes }) {
    const before = changes();
    const routes = ['--configure-cloud-routes', `--cluster-cidr=${clusterCidr}`];
    const plan = await controller.command('plan', '--exit-code', ...routes);
    assert.equal(plan.code, 0, plan.output);
    // A check may send a change that has no effect, to see whether it is permitted.
    assert.equal(changes(), before);
    const check = await controller.command('check', '-o', 'json', ...routes);
    assert.equal(check.code, 0, check.output);
    const lines = JSON.parse(check.stdout) as { readonly name: string; readonly ok: boolean }[];
    for (const name of clouds.flatMap(({ checks }) => checks))
      assert.ok(
        lines.some((line) => line.name.includes(name) && line.ok),
        `${name}: ${check.output}`,
      );
  },
};

/** Before what a suite adds of its own. */
export const stepsBefore: readonly LifeStep[] = [
  {
    title: 'initialises a Node of each VM, and creates routes for their pods',
    async run(stage) {
      for (const { machines, routes } of stage.clouds) {
        const hasRoutes = (await routes()) !== undefined;
        for (const { node: name, providerID, labels } of machines) {
          const node = await stage.wait(`${name} is a node with a network`, async () => {
            const seen = await stage.nodeNamed(name);
            const isRouted = !hasRoutes || conditionOf(seen, 'NetworkUnavailable')?.status === 'False';
            return seen?.spec.providerID !== undefined && isRouted && seen;
          });
          assert.ok(!taintKeys(node).includes(taints.uninitialized));
          assert.equal(node.spec.providerID, providerID);
          for (const [key, value] of Object.entries(labels)) assert.equal(node.metadata.labels[key], value);
        }
      }
      await assertRoutes(stage);
    },
  },
  {
    title: 'shows another address of a VM on its Node, and the old one no more',
    async run(stage) {
      const shown = async (node: string) => addressesOf(await stage.nodeNamed(node), 'ExternalIP').filter(isIPv4);
      const changed = stage.clouds.map(({ machines }, at) => ({ ...machines[0]!, address: `198.18.0.${at + 1}` }));
      for (const { node, readdress, address } of changed) {
        assert.equal((await shown(node)).length, 1);
        readdress(address);
      }
      for (const { node, address } of changed)
        await stage.wait(`${node} shows this address alone`, async () => (await shown(node)).join() === address);
    },
  },
  restartStep,
  planStep,
];

export const stepsAfter: readonly LifeStep[] = [
  {
    title: 'marks the Node of a VM that is off, and no other',
    async run(stage) {
      const off = stage.clouds.map(({ machines }) => machines[1]!);
      for (const { node, stop } of off) {
        stop();
        stage.controller.kubelet(node).stop();
      }
      for (const { node } of off)
        await stage.wait(
          `${node} carries the taint`,
          async () => taintKeys(await stage.nodeNamed(node)).includes(taints.shutdown),
          90_000,
        );
      for (const machine of stage.machines)
        if (!off.includes(machine))
          assert.ok(!taintKeys(await stage.nodeNamed(machine.node)).includes(taints.shutdown), machine.node);
    },
  },
  {
    title: 'leaves every Node and route when its credential is refused',
    async run(stage) {
      const before = stage.changes();
      for (const cloud of stage.clouds) cloud.refuse(true);
      await sleep(5000);
      for (const cloud of stage.clouds) cloud.refuse(false);
      for (const { node } of stage.machines) assert.ok(await stage.nodeNamed(node), node);
      await assertRoutes(stage);
      assert.equal(stage.changes(), before);
    },
  },
  {
    // The Node of an absent VM is deleted once it is five minutes old.
    title: 'deletes the Node and the route of a VM that was deleted, and no other',
    isLong: true,
    async run(stage) {
      for (const { machines } of stage.clouds) {
        const { node, remove } = machines.at(-1)!;
        remove();
        stage.controller.kubelet(node).stop();
      }
      for (const { machines } of stage.clouds) {
        const { node } = machines.at(-1)!;
        await stage.wait(`${node} is gone`, async () => (await stage.nodeNamed(node)) === undefined, 480_000);
        stage.machines.splice(stage.machines.indexOf(machines.at(-1)!), 1);
      }
      await stage.wait('its routes are gone', async () => {
        for (const { routes, machines } of stage.clouds)
          if (((await routes())?.length ?? 0) >= machines.length) return false;
        return true;
      });
      for (const { node } of stage.machines) assert.ok(await stage.nodeNamed(node), node);
      await assertRoutes(stage);
    },
  },
  {
    title: 'shows no credential in its log',
    async run({ controller, clouds }) {
      const log = await readFile(controller.logFile, 'utf8');
      assert.ok(log.length > 0);
      for (const secret of clouds.flatMap(({ secrets }) => secrets)) assert.ok(!log.includes(secret));
    },
  },
];
