import { annotations, conditions, names, taints } from '../../common/well-known.ts';
import type { ApiSuite } from '../conformance/api-under-test.ts';
import { inWorld } from '../e2e/in-world.ts';
import { mergePatch } from '../kit/world/kube-rest.ts';
import { createKubelet, type Kubelet } from '../kit/world/kubelet.ts';
import { assertThat, conditionOf, nodeNamed, taintKeys, until } from '../kit/world/scenario.ts';
import type { World } from '../kit/world/world.ts';

const otherUuid = 'aaaaaaaa-bbbb-4ccc-8ddd-eeeeeeeeeeee';
const configMap = `/api/v1/namespaces/${names.namespace}/configmaps/${names.certificates}`;

interface Claim {
  readonly name: string;
  readonly systemUuid: string;
  readonly providerID?: string;
}

/** A rogue kubelet: it may write its own Node, and writes false facts there. */
async function register(world: World, claim: Claim): Promise<Kubelet> {
  const kubelet = createKubelet({ rest: world.rest, token: world.nodeToken(claim.name), leaseRenewMs: 2000, ...claim });
  await kubelet.start();
  return kubelet;
}

async function waits(world: World, name: string, reason: string): Promise<void> {
  await until(`Node ${name} says ${reason}`, 20_000, async () => {
    const shown = conditionOf(await nodeNamed(world, name), conditions.cloudInitialized);
    return shown?.status === 'False' && shown.reason === reason;
  });
  const node = await nodeNamed(world, name);
  assertThat(node && taintKeys(node).includes(taints.uninitialized), `the taint of ${name} was lifted`);
}

async function joins(world: World, name: string): Promise<string> {
  await until(`Node ${name} is initialised`, 30_000, async () => {
    const node = await nodeNamed(world, name);
    return node !== undefined && !taintKeys(node).includes(taints.uninitialized);
  });
  return (await nodeNamed(world, name))?.spec.providerID ?? '';
}

const providerIdOf = ({ region, id }: { readonly region: string; readonly id: string }) =>
  `simulated://${region}/${id}`;

/** What a kubelet that an attacker holds can say of its identity, and of the life of its own Node. */
export const kubeletIdentitySuite: ApiSuite = {
  name: 'kubelet-identity',
  run: (api, suiteCheck) =>
    inWorld({ api, nodes: 3, agentProcesses: 0 }, suiteCheck, async (world, check) => {
      const { model } = world.cloud;
      for (const { name } of world.vms) await joins(world, name);
      const rogues: Kubelet[] = [];

      await check('a Node with the name of another VM stays tainted, whatever UUID its kubelet tells', async () => {
        for (const name of ['namesake-1', 'namesake-2']) model.create({ name });
        rogues.push(await register(world, { name: 'namesake-1', systemUuid: '' }));
        rogues.push(await register(world, { name: 'namesake-2', systemUuid: otherUuid }));
        await waits(world, 'namesake-1', 'AwaitingReport');
        await waits(world, 'namesake-2', 'IdentityConflict');
        const bound = (await nodeNamed(world, 'namesake-1'))?.spec.providerID;
        assertThat(bound === undefined, `namesake-1 was bound to ${bound}`);
      });

      await check("a Node with another VM's providerID stays tainted, and the true owner gets in", async () => {
        const owned = model.create({ name: 'owner' });
        rogues.push(await register(world, { name: 'rogue', systemUuid: otherUuid, providerID: providerIdOf(owned) }));
        await waits(world, 'rogue', 'IdentityConflict');
        rogues.push(await register(world, { name: 'owner', systemUuid: owned.smbiosUuid ?? '' }));
        const bound = await joins(world, 'owner');
        assertThat(bound === providerIdOf(owned), `the owner is bound to ${bound}`);
        await waits(world, 'rogue', 'IdentityConflict');
      });

      const [paused, kept] = world.vms;
      await check('a kubelet cannot pause the deletion of its own Node; the ConfigMap can', async () => {
        if (paused === undefined || kept === undefined) throw new Error('the world has too few VMs');
        const token = world.nodeToken(paused.name);
        const annotation = { metadata: { annotations: { [annotations.paused]: 'true' } } };
        await world.rest.must('PATCH', `/api/v1/nodes/${paused.name}`, annotation, { type: mergePatch, token });
        const pauseNodes = (value: string | null) => ({ data: { [names.pausedNodesKey]: value } });
        const refused = await world.rest.call('PATCH', configMap, pauseNodes(paused.name), {
          type: mergePatch,
          token,
        });
        assertThat(refused.status === 403, `the kubelet's change of the ConfigMap was answered ${refused.status}`);
        await world.rest.must('PATCH', configMap, pauseNodes(kept.name), { type: mergePatch });
        for (const { id, name } of [paused, kept]) {
          await world.powerLoss(name);
          model.terminate(id);
        }
        await until(`Node ${paused.name} is gone`, 60_000, async () => !(await nodeNamed(world, paused.name)));
        await until(`Node ${kept.name} says why it is kept`, 30_000, async () => {
          const shown = conditionOf(await nodeNamed(world, kept.name), conditions.instanceMissing);
          return shown?.reason === 'DeletionPaused';
        });
        await world.rest.must('PATCH', configMap, pauseNodes(null), { type: mergePatch });
        await until(`Node ${kept.name} is gone`, 40_000, async () => !(await nodeNamed(world, kept.name)));
      });
      for (const kubelet of rogues) kubelet.stop();
    }),
};
