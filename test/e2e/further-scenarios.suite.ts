import { execFile } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { promisify } from 'node:util';
import { names, taints } from '../../common/well-known.ts';
import { mergePatch } from '../kit/world/kube-rest.ts';
import { assertThat, conditionOf, nodeNamed, type Scenario, taintKeys, until } from '../kit/world/scenario.ts';
import { controllerMain } from '../kit/world/shortened.ts';

const execute = promisify(execFile);
const configMap = `/api/v1/namespaces/${names.namespace}/configmaps/${names.certificates}`;

const paused: Scenario = {
  name: 'paused',
  title: 'while everything is paused nothing is written, and afterwards all is made up for',
  async run(world) {
    await world.rest.must('PATCH', configMap, { data: { paused: 'true' } }, { type: mergePatch });
    await new Promise((resolve) => setTimeout(resolve, 2000));
    const { name } = await world.boot('while-paused');
    await new Promise((resolve) => setTimeout(resolve, 4000));
    const before = await nodeNamed(world, name);
    assertThat(taintKeys(before).includes(taints.uninitialized), 'the taint was lifted while paused');
    assertThat(conditionOf(before, 'CloudInitialized') === undefined, 'a condition was written while paused');
    await world.rest.must('PATCH', configMap, { data: { paused: null } }, { type: mergePatch });
    await until(
      'the node is initialised after the pause',
      20_000,
      async () => !taintKeys(await nodeNamed(world, name)).includes(taints.uninitialized),
    );
    return `${name} waited for the end of the pause`;
  },
};

const agentRights: Scenario = {
  name: 'agent-rights',
  title: "an agent's token opens nothing but the report API",
  async run(world) {
    const [mounts] = world.agents.mounts();
    assertThat(mounts, 'no agent runs');
    const token = await readFile(mounts.tokenFile, 'utf8');
    const answer = await world.rest.call('GET', '/api/v1/nodes', undefined, { token });
    assertThat(answer.status === 401, `the API server answered ${answer.status} to an agent's token`);
    return 'the API server answers 401 to it';
  },
};

const explained: Scenario = {
  name: 'explain',
  title: 'explain says where each node stands, from the API server alone',
  async run(world) {
    const name = world.vms[0]?.name ?? '';
    const run = async (node: string) => {
      const { stdout } = await execute(process.execPath, [
        controllerMain,
        'explain',
        'node',
        node,
        '-o',
        'json',
        `--kubeconfig=${world.kubeconfig}`,
      ]);
      return JSON.parse(stdout);
    };
    const known = await run(name);
    assertThat(known.state === 'initialized' && known.reason === 'Initialized', `${name}: ${JSON.stringify(known)}`);
    const foreign = await nodeNamed(world, 'foreign-1');
    if (foreign) {
      const { state } = await run('foreign-1');
      assertThat(state === 'waiting' || state === 'foreign', `foreign-1: ${state}`);
    }
    return `${name}: ${known.why}`;
  },
};

const checked: Scenario = {
  name: 'check',
  title: 'check proves every right and the cloud with the shipped ServiceAccount',
  async run(world) {
    const args = [
      'check',
      '--cloud-provider=simulated',
      `--cloud-config=${world.folder}/cloud.yaml`,
      `--kubeconfig=${world.folder}/controller.kubeconfig`,
      '-o',
      'json',
    ];
    const { stdout } = await execute(process.execPath, [controllerMain, ...args]).catch(
      (error) => error as { stdout: string },
    );
    const lines: { name: string; ok: boolean; message: string }[] = JSON.parse(stdout);
    const failed = lines.filter(({ ok }) => !ok);
    assertThat(failed.length === 0, failed.map(({ name, message }) => `${name}: ${message}`).join('; '));
    return `${lines.length} checks`;
  },
};

/** What is proved end to end beyond the tour; run on the tour's world, after it. */
export const furtherScenarios: readonly Scenario[] = [agentRights, explained, checked, paused];
