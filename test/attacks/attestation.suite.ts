import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { type SendResult, sendReport } from '../../agent/send.ts';
import { evidenceKinds } from '../../common/attestation.ts';
import { systemClock } from '../../common/process/clock.ts';
import { createHttp } from '../../common/process/http.ts';
import type { Evidence, Report } from '../../common/report.ts';
import { conditions, labels, names, taints } from '../../common/well-known.ts';
import type { ApiSuite } from '../conformance/api-under-test.ts';
import { inWorld } from '../e2e/in-world.ts';
import type { SimulatedInstance } from '../kit/cloud/instance.ts';
import { createAgentPod } from '../kit/world/agent-pod.ts';
import { createKubelet, type Kubelet, type KubeletOptions } from '../kit/world/kubelet.ts';
import { assertThat, conditionOf, nodeNamed, taintKeys, until } from '../kit/world/scenario.ts';
import { createService, ensured, weightOf } from '../kit/world/services.ts';
import { shortened } from '../kit/world/shortened.ts';
import type { World } from '../kit/world/world.ts';

const merge = 'application/merge-patch+json';
const providerID = ({ region, id }: SimulatedInstance) => `simulated://${region}/${id}`;
const labelOf = async (world: World, name: string) =>
  (await nodeNamed(world, name))?.metadata.labels?.[labels.attested];
const reasonOf = async (world: World, name: string) =>
  conditionOf(await nodeNamed(world, name), conditions.cloudInitialized)?.reason;

/** Kubelets beside those of the world; an attacker's writes what it likes on its own Node, within NodeRestriction. */
function moreKubelets(world: World) {
  const started: Kubelet[] = [];
  return {
    async start(name: string, changes: Partial<KubeletOptions>): Promise<void> {
      const token = world.nodeToken(name);
      const leaseRenewMs = shortened.kubeletLeaseMs;
      const kubelet = createKubelet({ rest: world.rest, name, token, systemUuid: '', leaseRenewMs, ...changes });
      started.push(kubelet);
      await kubelet.start();
    },
    stop() {
      for (const kubelet of started) kubelet.stop();
    },
  };
}

/** An agent in the hands of an attacker: the genuine token of its Node, and any body. */
async function rogueAgent(world: World, name: string, claimed: SimulatedInstance) {
  const folder = join(world.folder, 'rogue', name);
  const { tokenFile } = await createAgentPod(world.rest, name, folder);
  const token = await readFile(tokenFile, 'utf8');
  const trusted = await world.rest.must(
    'GET',
    `/api/v1/namespaces/${names.namespace}/configmaps/${names.certificates}`,
  );
  const clock = systemClock();
  const { http } = createHttp({ clock, tls: { ca: trusted.data[names.caKey], servername: names.serverName } });
  let sequence = 0;
  return async (evidence?: Evidence): Promise<Extract<SendResult, { readonly answer: unknown }>['answer']> => {
    sequence += 1;
    const report: Report = {
      version: 1,
      agentVersion: '0',
      agentId: 'rogue',
      sequence,
      observedAt: new Date().toISOString(),
      metadata: { ok: true, ageSeconds: 0, failures: 0 },
      instance: {
        cloud: 'simulated',
        id: claimed.id,
        providerID: providerID(claimed),
        incarnation: claimed.incarnation,
        addresses: [],
      },
      ...(evidence && { evidence }),
    };
    const leader = await until('a replica leads', 20_000, () => world.leader());
    const body = JSON.stringify(report);
    const result = await sendReport({ http, clock, url: leader.reportUrl, token, body, timeoutMs: 10_000 });
    assertThat('answer' in result, 'message' in result ? result.message : result.outcome);
    return result.answer;
  };
}

/** What the metadata service of this VM signs, as a pod on it would read it. */
async function evidenceOf(world: World, vm: SimulatedInstance, challenge: string): Promise<Evidence> {
  const answer = await fetch(`${world.cloud.metadataUrl(vm.id)}/metadata/v1/identity?challenge=${challenge}`, {
    headers: { 'x-simulated-metadata': 'true' },
  });
  return { cloud: 'simulated', kind: evidenceKinds.simulated, document: await answer.text() };
}

async function isOut(world: World, name: string): Promise<void> {
  const node = await nodeNamed(world, name);
  assertThat(taintKeys(node).includes(taints.uninitialized), `${name} was initialised`);
  assertThat(!node.metadata.labels?.[labels.attested], `${name} is marked as proved`);
}

/** Kubelets and agents that lie about their VM, against controllers that require attestation. */
export const attestationSuite: ApiSuite = {
  name: 'attestation',
  async run(api, suiteCheck) {
    const options = { api, nodes: 2, agentProcesses: 1, requireAttestation: true };
    await inWorld(options, suiteCheck, async (world, check) => {
      const victim = world.cloud.model.create({ name: 'victim', external: true });
      const own = world.cloud.model.create({ name: 'rogue-vm', external: true });
      const database = world.cloud.model.create({ name: 'database', external: true });

      const kubelets = moreKubelets(world);
      await check('honest Nodes are initialised and marked once their agents have given evidence', async () => {
        for (const { name } of world.vms) {
          await until(`${name} is proved`, 60_000, async () => (await labelOf(world, name)) === 'fresh');
          assertThat(
            !taintKeys(await nodeNamed(world, name)).includes(taints.uninitialized),
            `${name} keeps its taint`,
          );
        }
      });
      await kubelets.start('rogue', { providerID: providerID(victim) });
      const report = await rogueAgent(world, 'rogue', victim);

      await check('a Node that registered with the providerID of another VM stays out without evidence', async () => {
        const { initialized, challenge } = await report();
        assertThat(!initialized && challenge !== undefined, 'no evidence is asked for');
        await until(
          'the reason stands',
          20_000,
          async () => (await reasonOf(world, 'rogue')) === 'AttestationRequired',
        );
        await isOut(world, 'rogue');
      });
      await check('it stays out with the genuine document of its own VM, which contradicts it', async () => {
        const { challenge = '' } = await report();
        const { reasons } = await report(await evidenceOf(world, own, challenge));
        assertThat(!reasons.some(({ code }) => code === 'EvidenceRefused'), JSON.stringify(reasons));
        await until('the reason stands', 20_000, async () => (await reasonOf(world, 'rogue')) === 'IdentityConflict');
        await isOut(world, 'rogue');
      });
      await check('a document that another Node was challenged for is refused', async () => {
        const other = world.vms[0];
        assertThat(other, 'the world has no VM');
        await kubelets.start('replayer', {});
        const replay = await rogueAgent(world, 'replayer', other);
        const { challenge = '' } = await replay();
        const { reasons } = await report(await evidenceOf(world, other, challenge));
        assertThat(
          reasons.some(({ code, message }) => code === 'EvidenceRefused' && /NotFresh/.test(message)),
          JSON.stringify(reasons),
        );
      });
      await check('a relayed fresh document of an instance whose own Node lives is refused', async () => {
        const other = world.vms[0];
        assertThat(other, 'the world has no VM');
        const relay = await rogueAgent(world, 'replayer', other);
        const { challenge = '' } = await relay();
        const { reasons } = await relay(await evidenceOf(world, other, challenge));
        assertThat(
          reasons.some(({ code, message }) => code === 'EvidenceRefused' && /UsedElsewhere/.test(message)),
          JSON.stringify(reasons),
        );
        await isOut(world, 'replayer');
      });
      await check('its kubelet cannot set the mark by itself, nor register with it', async () => {
        const body = { metadata: { labels: { [labels.attested]: 'fresh' } } };
        const token = world.nodeToken('rogue');
        const patched = await world.rest.call('PATCH', '/api/v1/nodes/rogue', body, { type: merge, token });
        assertThat(patched.status === 403, `the API server answered ${patched.status}`);
        const registering = kubelets.start('marked', { labels: { [labels.attested]: 'fresh' } });
        const error = await registering.then(() => undefined).catch((reason: Error) => reason.message);
        assertThat(error !== undefined && /403/.test(error), `registered: ${error}`);
      });
      await check('the true owner gets in', async () => {
        const { name, smbiosUuid = '' } = victim;
        await kubelets.start(name, { systemUuid: smbiosUuid });
        await world.agents.start(victim);
        await until('victim is proved', 60_000, async () => (await labelOf(world, name)) === 'fresh');
        assertThat(!taintKeys(await nodeNamed(world, name)).includes(taints.uninitialized), 'victim keeps its taint');
        await isOut(world, 'rogue');
      });
      await check('a Node without the taint and with the providerID of a database VM becomes no member', async () => {
        await kubelets.start('untainted', { providerID: providerID(database), uninitialized: false });
        await createService(world, { name: 'web' });
        const service = await ensured(world, 'web');
        const isMember = ({ id }: SimulatedInstance) => weightOf(world, service, id) !== undefined;
        await until('honest Nodes are members', 20_000, async () => [...world.vms, victim].every(isMember));
        assertThat(!isMember(database), 'the database VM is a member');
      });
      kubelets.stop();
    });
  },
};
