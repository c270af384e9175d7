import assert from 'node:assert/strict';
import { setTimeout as sleep } from 'node:timers/promises';
import { conditions } from '../../common/well-known.ts';
import { clusterCidr } from '../clouds/aws/controller-process.ts';
import type { ClusterCloud } from '../clouds/life/life-cloud.ts';
import type { LifeStage } from '../clouds/life/life-stage.ts';
import { assertRoutes, auditsMs, type LifeStep } from '../clouds/life/life-steps.ts';
import { hasAllMembers, portsOf, removeServices, services, servicesOf } from '../clouds/life/service-steps.ts';
import { mergePatch } from '../kit/world/kube-rest.ts';
import { conditionOf } from '../kit/world/scenario.ts';
import type { BuiltRelease } from './releases.ts';
import { withoutHarm } from './watch-cluster.ts';

const routeFlags = ['--configure-cloud-routes', `--cluster-cidr=${clusterCidr}`];

/** Every Node of a VM and every Service says that it stands well. */
async function assertWell(stage: LifeStage<ClusterCloud>): Promise<void> {
  for (const { node } of stage.machines) {
    const seen = await stage.nodeNamed(node);
    assert.equal(conditionOf(seen, conditions.cloudInitialized)?.status, 'True', node);
  }
  for (const { name } of servicesOf(stage)) {
    const { body } = await stage.controller.rest.call('GET', `${services}/${name}`);
    const { status, reason, message } = conditionOf(body, conditions.loadBalancer) ?? {};
    assert.equal(`${status} ${reason}`, 'True Ensured', `${name}: ${message}`);
  }
}

/** The other release takes over, and finds everything as it shall be. */
export const swapStep = ({ name, controller: program }: BuiltRelease): LifeStep<ClusterCloud> => ({
  title: `changes nothing in the cloud, and no Node or address, when ${name} takes over`,
  async run(stage) {
    const { controller, clouds, changes, wait } = stage;
    await withoutHarm(controller.api, async () => {
      controller.use([program]);
      // The one that runs may still be busy with the last change.
      let planned = '';
      const isEmpty = async () => {
        const { code, output } = await controller.command('plan', '--exit-code', ...routeFlags);
        planned = output;
        return code === 0;
      };
      await wait('its plan is empty', isEmpty).catch((error) => assert.fail(`${error}\n${planned}`));
      const before = changes();
      await controller.stopProcess();
      const read = clouds.map((cloud) => cloud.audits());
      controller.start();
      await wait('it has read everything', async () => clouds.every((cloud, at) => cloud.audits() > read[at]!));
      await sleep(auditsMs);
      await assertWell(stage);
      assert.equal(changes(), before);
      await assertRoutes(stage);
    });
  },
});

const memberNodes = async (stage: LifeStage<ClusterCloud>) => {
  for (const service of servicesOf(stage))
    await stage.wait(`all Nodes are members for ${service.name}`, () => hasAllMembers(stage, service));
};

async function changePorts(
  stage: LifeStage<ClusterCloud>,
  change: (ports: readonly object[]) => readonly object[],
  shown: string,
) {
  const { controller, wait } = stage;
  for (const { name } of servicesOf(stage)) {
    const path = `${services}/${name}`;
    const { body } = await controller.rest.call('GET', path);
    await controller.rest.must('PATCH', path, { spec: { ports: change(body.spec.ports) } }, { type: mergePatch });
  }
  for (const service of servicesOf(stage))
    await wait(`${service.name} has the ports ${shown}`, async () => (await portsOf(stage, service)) === shown);
}

/** What the release that runs does with what the other one has made. */
export const furtherStep: LifeStep<ClusterCloud> = {
  title: 'serves a further Node and a further port',
  async run(stage) {
    const before = stage.changes();
    for (const { machines } of stage.clouds) await stage.join(machines[2]!);
    await memberNodes(stage);
    await changePorts(stage, (ports) => [...ports, { name: 'https', port: 443 }], '80,443');
    await stage.wait('its routes are there', async () => {
      for (const { routes } of stage.clouds) if (((await routes())?.length ?? 3) !== 3) return false;
      return true;
    });
    await assertRoutes(stage);
    // So that it says something when another step counts none.
    assert.ok(stage.changes() > before);
  },
};

export const lessStep: LifeStep<ClusterCloud> = {
  title: 'serves a port less, and removes every load balancer with its Service',
  async run(stage) {
    await changePorts(stage, ([first]) => [first!], '80');
    await removeServices(stage);
  },
};
