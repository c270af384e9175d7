import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { request } from 'node:https';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { isDeepStrictEqual } from 'node:util';
import { parseAllDocuments } from 'yaml';
import { testCa } from '../../common/testing/certificates.ts';
import { names } from '../../common/well-known.ts';
import type { ApiSuite, ApiUnderTest, Check } from '../conformance/api-under-test.ts';
import { mergePatch } from '../kit/world/kube-rest.ts';
import { assertThat, eventsOf, until } from '../kit/world/scenario.ts';
import type { World } from '../kit/world/world.ts';
import { affinityTo, regionLabel, volumeObject, zoneLabel } from '../volumes/harness/volume-object.ts';
import { inWorld } from './in-world.ts';

const volumes = '/api/v1/persistentvolumes';
const path = '/persistentvolumelabel';
const place = 'demo/sim-1';

export const volumeNodeNames: readonly string[] = ['node-0001'];

interface Certificate {
  readonly caPem: string;
  readonly flags: readonly string[];
  /** That the certificate is for. */
  readonly servername: string;
}

/** The right of the loop, as its component has it. */
async function grant({ rest }: World): Promise<void> {
  const file = new URL('../../deploy/components/volume-labels/rbac.yaml', import.meta.url);
  for (const document of parseAllDocuments(await readFile(file, 'utf8'))) {
    const object = document.toJS() as { readonly kind: string };
    await rest.must('POST', `/apis/rbac.authorization.k8s.io/v1/${object.kind.toLowerCase()}s`, object);
  }
}

async function loopChecks(world: World, check: Check): Promise<void> {
  const { rest, cloud } = world;
  const create = (name: string, changes = {}) => rest.must('POST', volumes, volumeObject(name, changes));
  const get = (name: string) => rest.must('GET', `${volumes}/${name}`);
  const labelled = (name: string) =>
    until(`${name} is labelled`, 30_000, async () => {
      const volume = await get(name);
      return volume.metadata.labels?.[zoneLabel] && volume;
    });

  await check('a PersistentVolume gets zone, region and node affinity of its volume', async () => {
    cloud.network.volumes.create({ id: 'wide', place, zones: ['sim-1c', 'sim-1a'] });
    await create('wide');
    const { metadata, spec } = await labelled('wide');
    const expected = { [zoneLabel]: 'sim-1a__sim-1c', [regionLabel]: 'sim-1' };
    assertThat(isDeepStrictEqual(metadata.labels, expected), JSON.stringify(metadata.labels));
    const affinity = affinityTo(['sim-1a', 'sim-1c'], 'sim-1');
    assertThat(isDeepStrictEqual(spec.nodeAffinity, affinity), JSON.stringify(spec.nodeAffinity));
  });

  await check('one without its volume waits with an event and a metric, and one of another cloud stays', async () => {
    const { metadata } = await create('foreign', { spec: { nfs: { server: '192.0.2.1', path: '/' } } });
    await create('early');
    await until('the event', 20_000, async () =>
      (await eventsOf(world, 'early')).some(({ reason }) => reason === 'VolumeNotFound'),
    );
    const leader = await until('a leader', 10_000, () => world.leader());
    const waiting = (await leader.metrics()).get('mooring_volumes_waiting{reason="VolumeNotFound"}');
    assertThat(waiting === 1, `${waiting} wait`);
    const now = (await get('foreign')).metadata.resourceVersion;
    assertThat(now === metadata.resourceVersion, 'the foreign one was written');
  });

  await check('a label of a person that differs stays, until that person changes it', async () => {
    cloud.network.volumes.create({ id: 'mine', place, zones: ['sim-1a'] });
    await create('mine', { labels: { [zoneLabel]: 'sim-1b' } });
    await until('the event', 20_000, async () =>
      (await eventsOf(world, 'mine')).some(({ reason }) => reason === 'VolumeTopologyDiffers'),
    );
    assertThat((await get('mine')).spec.nodeAffinity === undefined, 'it got an affinity');
    const labels = { metadata: { labels: { [zoneLabel]: 'sim-1a' } } };
    await rest.must('PATCH', `${volumes}/mine`, labels, { type: mergePatch });
    await until('the affinity', 20_000, async () => (await get('mine')).spec.nodeAffinity !== undefined);
  });

  await check('the next leader writes none of them again', async () => {
    const versions = async () =>
      (await rest.must('GET', volumes)).items
        .map(({ metadata }: { metadata: { name: string; resourceVersion: string } }) => metadata)
        .map(({ name, resourceVersion }: { name: string; resourceVersion: string }) => `${name} ${resourceVersion}`)
        .join();
    const before = await versions();
    const first = await until('a leader', 10_000, () => world.leader());
    await first.child.stop();
    const next = await until('another leader', 30_000, async () => {
      const leader = await world.leader();
      return leader !== first && leader;
    });
    await until('it looked at them', 30_000, async () => {
      const waiting = (await next.metrics()).get('mooring_volumes_waiting{reason="VolumeNotFound"}');
      return waiting === 1;
    });
    await sleep(1000);
    assertThat((await versions()) === before, `${before} became ${await versions()}`);
    first.start();
  });
}

async function webhookChecks(world: World, api: ApiUnderTest, certificate: Certificate, check: Check): Promise<void> {
  const { rest, cloud, replicas } = world;
  const [replica] = replicas;
  assertThat(replica, 'no replica');
  cloud.network.volumes.create({ id: 'admitted', place, zones: ['sim-1b'] });

  /** The answer of the webhook to a PersistentVolume that is created. */
  async function review(name: string) {
    const ca = certificate.caPem || (await publishedCa(world));
    const uid = crypto.randomUUID();
    const resource = { group: '', version: 'v1', resource: 'persistentvolumes' };
    const asked = { uid, operation: 'CREATE', resource, object: volumeObject(name) };
    const body = JSON.stringify({ apiVersion: 'admission.k8s.io/v1', kind: 'AdmissionReview', request: asked });
    const text = await post(replica!.webhookPort, ca, certificate.servername, body);
    const { response } = JSON.parse(text);
    assertThat(response.uid === uid, text);
    return response;
  }

  await check('the webhook patches zone and region in, and refuses a volume that the cloud has not', async () => {
    const { allowed, patch } = await until('it answers', 30_000, () => review('admitted').catch(() => undefined));
    const paths = JSON.parse(Buffer.from(patch, 'base64').toString()).map(({ path: at }: { path: string }) => at);
    assertThat(allowed && paths.join() === '/metadata/labels,/spec/nodeAffinity', paths.join());
    const { status } = await review('nowhere');
    assertThat(status?.code === 403 && /has no volume nowhere/.test(status.message), JSON.stringify(status));
    const served = 'cloud_provider_webhook_request_total{code="200",webhook="persistentvolumelabel"}';
    assertThat(((await replica.metrics()).get(served) ?? 0) >= 2, 'the requests were not counted');
  });

  const skip = api.kind === 'real' ? undefined : 'the embedded API server calls no webhooks';
  await check(
    'the API server stores what the webhook says',
    async () => {
      const configurations = '/apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations';
      const file = new URL('../../deploy/chart/templates/volume-webhook.yaml', import.meta.url);
      const expression = /expression: >-\n([\s\S]*?)\n {4}clientConfig/.exec(await readFile(file, 'utf8'))?.[1] ?? '';
      await rest.must('POST', configurations, {
        apiVersion: 'admissionregistration.k8s.io/v1',
        kind: 'MutatingWebhookConfiguration',
        metadata: { name: 'volumes' },
        webhooks: [
          {
            name: 'persistentvolumelabel.mooring.dev',
            admissionReviewVersions: ['v1'],
            sideEffects: 'None',
            failurePolicy: 'Fail',
            timeoutSeconds: 10,
            rules: [{ apiGroups: [''], apiVersions: ['v1'], operations: ['CREATE'], resources: ['persistentvolumes'] }],
            matchConditions: [{ name: 'volume-of-a-cloud', expression: expression.trim().replace(/\s+/g, ' ') }],
            clientConfig: {
              url: `https://127.0.0.1:${replica.webhookPort}${path}`,
              caBundle: Buffer.from(certificate.caPem).toString('base64'),
            },
          },
        ],
      });
      const created = await until('the webhook is asked', 20_000, async () => {
        const answer = await rest.call('POST', `${volumes}?dryRun=All`, volumeObject('admitted'));
        return answer.status === 201 && answer.body.metadata.labels?.[zoneLabel] && answer.body;
      });
      assertThat(isDeepStrictEqual(created.spec.nodeAffinity, affinityTo(['sim-1b'], 'sim-1')), 'no affinity');
      const refused = await rest.call('POST', volumes, volumeObject('nowhere'));
      assertThat(refused.status === 403 && /no volume nowhere/.test(refused.body.message), JSON.stringify(refused));
      const nfs = { spec: { nfs: { server: '192.0.2.1', path: '/' } } };
      await Promise.all(replicas.map(({ child }) => child.stop()));
      const foreign = await rest.call('POST', volumes, volumeObject('nfs', nfs));
      assertThat(foreign.status === 201, `without a controller a foreign volume got ${foreign.status}`);
      await rest.must('DELETE', `${configurations}/volumes`);
    },
    { skip },
  );
}

async function publishedCa({ rest }: World): Promise<string> {
  const map = `/api/v1/namespaces/${names.namespace}/configmaps/${names.certificates}`;
  return (await rest.must('GET', map)).data?.['ca.crt'] ?? '';
}

function post(port: number, ca: string, servername: string, body: string): Promise<string> {
  return new Promise((resolve, reject) => {
    const headers = { 'content-type': 'application/json', 'content-length': Buffer.byteLength(body) };
    const options = { host: '127.0.0.1', port, path: `${path}?timeout=10s`, method: 'POST', ca, servername, headers };
    const outgoing = request({ ...options, agent: false }, (answer) => {
      let text = '';
      answer.setEncoding('utf8');
      answer.on('data', (part: string) => {
        text += part;
      });
      answer.on('end', () => (answer.statusCode === 200 ? resolve(text) : reject(new Error(text))));
    });
    outgoing.on('error', reject);
    outgoing.end(body);
  });
}

/** A real API server reaches the webhook at an address, for which Mooring's own certificate is not. */
async function certificateFor(api: ApiUnderTest, folder: string): Promise<Certificate> {
  if (api.kind === 'embedded') return { caPem: '', flags: [], servername: names.serverName };
  const ca = await testCa();
  const { certPem, keyPem } = await ca.issue({ dnsNames: ['localhost'], ips: ['127.0.0.1'] });
  const [cert, key] = [join(folder, 'tls.crt'), join(folder, 'tls.key')];
  await writeFile(cert, certPem);
  await writeFile(key, keyPem, { mode: 0o600 });
  const flags = [`--webhook-tls-cert-file=${cert}`, `--webhook-tls-private-key-file=${key}`];
  return { caPem: ca.caPem, flags, servername: 'localhost' };
}

/** Labels of volumes with the shipped controllers as processes, by the loop and by the webhook, on any API server. */
export const volumesSuite: ApiSuite = {
  name: 'volumes',
  async run(api, suiteCheck) {
    const folder = await mkdtemp(join(tmpdir(), 'mooring-webhook-'));
    const certificate = await certificateFor(api, folder);
    const controllerFlags = [
      '--controllers=persistent-volume-label',
      '--webhooks=persistentvolumelabel',
      ...certificate.flags,
    ];
    const options = { api, nodes: volumeNodeNames.length, agentProcesses: 0, controllersLater: true, controllerFlags };
    try {
      await inWorld(options, suiteCheck, async (world, check) => {
        await grant(world);
        await world.startControllers();
        await loopChecks(world, check);
        await webhookChecks(world, api, certificate, check);
      });
    } finally {
      await rm(folder, { recursive: true, force: true });
    }
  },
};
