import { openAwsLife } from '../clouds/aws/life-cloud.ts';
import { openAzureLife } from '../clouds/azure/life-cloud.ts';
import { listen } from '../clouds/fake-http.ts';
import { configFor } from '../clouds/gce/fake/configuration.ts';
import { openGceLife } from '../clouds/gce/life-cloud.ts';
import type { LifeCloud, OpenLifeCloud } from '../clouds/life/life-cloud.ts';
import { openOpenStackLife } from '../clouds/openstack/life-cloud.ts';
import { issueServingCertificate } from '../kit/kube-api/http/certificates.ts';
import type { KubeRest } from '../kit/world/kube-rest.ts';
import type { ClassicOptions } from './classic-process.ts';
import { type ClassicProgram, classicVariable } from './classic-programs.ts';

/** A cloud that a classic controller serves, too. */
export interface ClassicLife extends LifeCloud {
  readonly classic: Omit<ClassicOptions, 'program'>;
  /** What stands in the cluster before it starts. */
  prepare?(rest: KubeRest): Promise<void>;
}

const withoutWebhooks = ['--webhook-secure-port=0'];

async function openAws(): Promise<ClassicLife> {
  const life = await openAwsLife();
  return { ...life, classic: { provider: 'aws', configText: life.served.configText, flags: withoutWebhooks } };
}

async function openAzure(members: 'addresses' | 'interfaces'): Promise<ClassicLife> {
  const life = await openAzureLife({
    json: { loadBalancerBackendPoolConfigurationType: members === 'addresses' ? 'nodeIP' : 'nodeIPConfiguration' },
    // It may forget that it put the model of a flexible set into a pool of interfaces, and cannot delete the pool then.
    isFlexible: members === 'addresses',
  });
  const { certPem: cert, keyPem: key, caPem } = await issueServingCertificate(['127.0.0.1']);
  // Its client sends no token in the clear.
  const secure = await listen(life.fake, { cert, key });
  const json = {
    ...JSON.parse(life.served.configText),
    // With another tenant it asks the public cloud about its authority.
    resourceManagerEndpoint: secure.url,
    tenantId: 'adfs',
    loadBalancerSku: 'standard',
    routeUpdateIntervalInSeconds: 1,
    routeUpdateWaitingInSeconds: 1,
  };
  const nodeManager = {
    program: process.env[classicVariable('azure-nodes')]!,
    nodes: life.machines.map(({ node }) => node),
  };
  // This version has no worker for them.
  const flags = ['--controllers=*,-cloud-node-controller'];
  return {
    ...life,
    classic: { provider: 'azure', configText: JSON.stringify(json), caPem, flags, nodeManager },
    async close() {
      await secure.close();
      await life.close();
    },
  };
}

const clusterId = '0123456789abcdef';
const global = `token-url = nil
local-zone = us-central1-a
multizone = true
subnetwork-name = default
node-tags = node`;

async function openGce(): Promise<ClassicLife> {
  const life = await openGceLife();
  const { fake, url, services = {} } = life;
  // It reads links as the API's address begins them.
  fake.api = `${url}/compute/v1`;
  const { web = {}, inside = {} } = services;
  const readsOf = (collection: RegExp) =>
    fake.calls.filter(({ method, path }) => method === 'GET' && collection.test(path)).length;
  const configText = `${configFor(url, global)}cluster-id = ${clusterId}\n`;
  return {
    ...life,
    // It leaves the third one, which has a backend service, to another program.
    services: { web, inside },
    served: { ...life.served, configText },
    // It reads forwarding rules by their names.
    audits: () => Math.min(readsOf(/\/global\/routes$/), readsOf(/\/forwardingRules\b/)),
    // It does not see those of Mooring, and adds its own beside them.
    routes: async () => [...new Set(await life.routes())],
    classic: { provider: 'gce', configText, env: { GCE_METADATA_HOST: url.replace('http://', '') } },
    async prepare(rest) {
      const metadata = { name: 'ingress-uid', namespace: 'kube-system' };
      const data = { uid: clusterId, 'provider-uid': clusterId };
      const body = { apiVersion: 'v1', kind: 'ConfigMap', metadata, data };
      await rest.must('POST', '/api/v1/namespaces/kube-system/configmaps', body);
    },
  };
}

const everything = ['compute', 'network', 'load-balancer'].flatMap((service) =>
  ['GET', 'POST', 'PUT', 'DELETE'].map((method) => ({ service, method, path: '**' })),
);

async function openOpenStack(): Promise<ClassicLife> {
  const life = await openOpenStackLife();
  // Those that are shipped suffice for Mooring alone.
  life.fake.accessRules = everything;
  return { ...life, classic: { provider: 'openstack', configText: life.served.configText, flags: withoutWebhooks } };
}

/** Where it is tried, and the programs that it takes; the first is the controller. */
export interface ClassicTry {
  readonly programs: readonly [ClassicProgram, ...ClassicProgram[]];
  readonly open: OpenLifeCloud<ClassicLife>;
}

const ofAzure = ['azure', 'azure-nodes'] as const;

export const classicTries: Readonly<Record<string, ClassicTry>> = {
  AWS: { programs: ['aws'], open: openAws },
  'Azure with addresses in its pools': { programs: ofAzure, open: () => openAzure('addresses') },
  'Azure with network interfaces in its pools': { programs: ofAzure, open: () => openAzure('interfaces') },
  'Compute Engine': { programs: ['gce'], open: openGce },
  OpenStack: { programs: ['openstack'], open: openOpenStack },
};
