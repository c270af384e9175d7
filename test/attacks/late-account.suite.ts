import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { annotations, conditions, names, taints } from '../../common/well-known.ts';
import { answerText } from '../clouds/openstack/fake/answers.ts';
import { active, password, startFakeOpenStack, uuid } from '../clouds/openstack/fake/fake-openstack.ts';
import type { FakeOpenStack } from '../clouds/openstack/fake/openstack-state.ts';
import type { ApiSuite, ApiUnderTest } from '../conformance/api-under-test.ts';
import { freePort } from '../kit/free-ports.ts';
import { startChild } from '../kit/world/child.ts';
import { createKubeRest, type KubeRest } from '../kit/world/kube-rest.ts';
import { createKubelet } from '../kit/world/kubelet.ts';
import { applyManifests, serviceAccountToken } from '../kit/world/manifests.ts';
import { assertThat, conditionOf, taintKeys, until } from '../kit/world/scenario.ts';
import { controllerMain } from '../kit/world/shortened.ts';

const name = 'node-1';

/** The controller as a process of its own, on an OpenStack that this process plays. */
async function startController(api: ApiUnderTest, rest: KubeRest, fake: FakeOpenStack, folder: string) {
  const token = await serviceAccountToken(rest, { namespace: names.namespace, name: names.controller });
  const kubeconfig = join(folder, 'kubeconfig');
  const config = join(folder, 'cloud.conf');
  await writeFile(kubeconfig, api.kubeconfig(token), { mode: 0o600 });
  await writeFile(
    config,
    `[Global]\nauth-url=${fake.authUrl}\nusername=k8s\npassword=${password}\ndomain-name=Default\ntenant-name=k8s\n` +
      'region=RegionOne\n',
  );
  const args = [
    controllerMain,
    'run',
    `--kubeconfig=${kubeconfig}`,
    '--cloud-provider=openstack',
    `--cloud-config=${config}`,
    `--report-address=127.0.0.1:${await freePort()}`,
    '--report-advertise-address=127.0.0.1',
    '--secure-port=0',
  ];
  const logFile = join(folder, 'controller.log');
  return { child: startChild(args, logFile, process.env), logged: () => readFile(logFile, 'utf8') };
}

/** A cloud that does not tell the account of the credential when the controller starts. */
export const lateAccountSuite: ApiSuite = {
  name: 'late-account',
  async run(api, check) {
    const folder = await mkdtemp(join(tmpdir(), 'mooring-late-'));
    const rest = createKubeRest(api);
    const fake = await startFakeOpenStack();
    await applyManifests(rest);
    fake.servers.set(uuid(1), active(1));
    fake.fault = (_, response) => answerText(response, 503, 'later');
    const { child, logged } = await startController(api, rest, fake, folder);
    const kubelet = createKubelet({
      rest,
      name,
      token: api.nodeToken(name),
      leaseRenewMs: 2000,
      systemUuid: uuid(1),
      providerID: `openstack:///${uuid(1)}`,
    });
    const node = async () => (await rest.call('GET', `/api/v1/nodes/${name}`)).body;
    try {
      await kubelet.start();
      await check('it is report-only, and says so on the Nodes that wait', async () => {
        await until('the Node says why it waits', 30_000, async () => {
          const shown = conditionOf(await node(), conditions.cloudInitialized);
          return shown?.reason === 'AwaitingReport' && shown.message.includes('did not tell its account');
        });
      });
      await check('it serves as soon as the cloud tells the account, without a restart of the process', async () => {
        fake.fault = undefined;
        await until('the Node is initialised', 60_000, async () => {
          const keys = taintKeys(await node());
          return !keys.includes(taints.uninitialized);
        });
        assertThat(child.running, 'the process ended');
        const record: string = (await node()).metadata.annotations?.[annotations.instance] ?? '';
        const scope = `${new URL(fake.authUrl).host}/p1/RegionOne`;
        assertThat(record.startsWith(`${scope} `), `the record is ${record}, expected one of ${scope}`);
        assertThat((await logged()).includes('starting again with it'), 'nothing was logged');
      });
    } finally {
      kubelet.stop();
      await child.stop();
      await fake.close();
      rest.close();
      await rm(folder, { recursive: true, force: true });
    }
  },
};
