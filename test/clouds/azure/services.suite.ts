import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';
import { systemClock } from '../../../common/process/clock.ts';
import { silentLog } from '../../../common/process/log.ts';
import { seededRandom } from '../../../common/process/random.ts';
import { portPrefix, prefix } from '../../../controller/clouds/azure/annotations.ts';
import { readConfig } from '../../../controller/clouds/azure/config.ts';
import { openAzure } from '../../../controller/clouds/azure/index.ts';
import type { Cloud } from '../../../controller/clouds/cloud.ts';
import type { DesiredLoadBalancer, DesiredPort } from '../../../controller/clouds/load-balancers.ts';
import { withLoadBalancers } from '../../../controller/services/balancers/with-load-balancers.ts';
import { issueServingCertificate } from '../../kit/kube-api/http/certificates.ts';
import type { Json } from '../fake-http.ts';
import { type ListeningFake, listen } from '../fake-http.ts';
import { desiredFor, port } from '../suite/desired.ts';
import { type Driving, ensure } from '../suite/drive.ts';
import type { CloudVm } from '../suite/world.ts';
import { azureJson } from './azure-world.ts';
import { createFakeAzure, type FakeAzure } from './fake/fake-azure.ts';

const { AZURE_CLASSIC: classic } = process.env;
const run = promisify(execFile);
const cluster = randomUUID();

/** A Service, as both have to serve it. */
interface Asked {
  readonly name: string;
  readonly ports?: readonly DesiredPort[];
  readonly annotations?: Readonly<Record<string, string>>;
  /** Annotations that begin with the number of a port. */
  readonly ofPorts?: Readonly<Record<string, string>>;
  readonly more?: Partial<DesiredLoadBalancer>;
}

const internal = { 'load-balancer-internal': 'true' };
const services: readonly Asked[] = [
  { name: 'plain' },
  { name: 'two-ports', ports: [port(80, 30081), port(443, 30443)] },
  { name: 'dns', ports: [port(53, 30053, { protocol: 'UDP' }), port(53, 30054, { name: 'tcp' })] },
  { name: 'ranges', more: { sourceRanges: ['192.0.2.0/25', '192.0.2.128/25', '198.51.100.0/24'] } },
  { name: 'local', more: { trafficPolicy: 'Local', healthCheck: { port: 32000, path: '/healthz' } } },
  {
    name: 'affine',
    annotations: { 'load-balancer-tcp-idle-timeout': '30' },
    more: { sessionAffinity: { timeoutSeconds: 60 } },
  },
  {
    name: 'guarded',
    annotations: { 'deny-all-except-load-balancer-source-ranges': 'true', 'allowed-ip-ranges': '203.0.113.0/24' },
  },
  { name: 'tagged', annotations: { 'allowed-service-tags': 'AzureCloud,VirtualNetwork', 'pip-tags': 'team=web' } },
  { name: 'labelled', annotations: { 'dns-label-name': 'shop', 'load-balancer-disable-tcp-reset': 'true' } },
  { name: 'inside', annotations: internal },
  { name: 'inside-open', annotations: internal, more: { asksForEverybody: true } },
  { name: 'fixed', annotations: { ...internal, 'load-balancer-ipv4': '10.240.0.99' } },
  { name: 'subnet', annotations: { ...internal, 'load-balancer-internal-subnet': 'other' } },
  { name: 'all-ports', annotations: { ...internal, 'load-balancer-enable-high-availability-ports': 'true' } },
  { name: 'spoken', ports: [port(8081, 30084, { appProtocol: 'http' })] },
  { name: 'both', more: { families: ['IPv4', 'IPv6'], sourceRanges: ['192.0.2.0/24', '2001:db8::/32'] } },
  { name: 'six', more: { families: ['IPv6'] } },
  { name: 'six-inside', annotations: internal, more: { families: ['IPv4', 'IPv6'] } },
  {
    name: 'ports',
    ports: [port(8090, 30090, { name: 'a' }), port(8091, 30091, { name: 'b' }), port(8092, 30092, { name: 'c' })],
    ofPorts: { '8090_no_lb_rule': 'true', '8091_no_probe_rule': 'true', '8092_health-probe_port': '8091' },
  },
  {
    name: 'local-ports',
    ports: [port(8093, 30093, { name: 'a' }), port(8094, 30094, { name: 'b' })],
    ofPorts: { '8093_health-probe_port': '9000', '8093_health-probe_protocol': 'https' },
    more: { trafficPolicy: 'Local', healthCheck: { port: 32001, path: '/healthz' } },
  },
  {
    name: 'probed',
    ports: [port(8080, 30082)],
    annotations: { 'load-balancer-health-probe-protocol': 'http', 'load-balancer-health-probe-request-path': '/ready' },
  },
];

const annotationsOf = ({ annotations = {}, ofPorts = {} }: Asked) =>
  Object.fromEntries([
    ...Object.entries(annotations).map(([name, value]) => [prefix + name, value]),
    ...Object.entries(ofPorts).map(([name, value]) => [portPrefix + name, value]),
  ]);

/** Where the nodes are behind load balancers. */
interface Kind {
  readonly members: string;
  readonly vmType: 'standard' | 'vmss';
}

for (const kind of [
  { members: 'nodeIP', vmType: 'standard' },
  { members: 'nodeIPConfiguration', vmType: 'standard' },
  { members: 'nodeIPConfiguration', vmType: 'vmss' },
] as const)
  compare(kind);

/** Ours and the classic provider's, each on a fake of its own, side by side. */
function compare({ members, vmType }: Kind): void {
  const title = `the load balancers of the classic provider, and ours, with ${members} of ${vmType}`;
  const own = { vmType, loadBalancerBackendPoolConfigurationType: members };
  describe(title, { skip: classic === undefined }, () => {
    let folder: string;
    let caFile: string;
    let served: ListeningFake;
    let theirs: FakeAzure;
    let ours: FakeAzure;
    let vms: readonly CloudVm[];
    const uids = new Map(services.map(({ name }) => [name, randomUUID()]));
    const shown = new Map<string, readonly string[]>();

    function fakeWith(): FakeAzure {
      const fake = createFakeAzure(systemClock());
      fake.operationMs = 0;
      return fake;
    }
    before(async () => {
      folder = await mkdtemp(join(tmpdir(), 'mooring-azure-'));
      const certificate = await issueServingCertificate(['127.0.0.1', 'localhost']);
      caFile = join(folder, 'ca.pem');
      await writeFile(caFile, certificate.caPem);
      [theirs, ours] = [fakeWith(), fakeWith()];
      served = await listen(theirs, { cert: certificate.certPem, key: certificate.keyPem });
      const made = [theirs, ours].map((fake) => {
        const set = vmType === 'vmss' ? fake.addSet('pool', 'Uniform') : undefined;
        return ['node-1', 'node-2'].map((name) =>
          fake.addVm(name, { families: ['IPv4', 'IPv6'], ...(set === undefined ? {} : { set }) }),
        );
      });
      vms = made[0]!.map(({ id, computerName: name, interfaces }) => {
        const addresses = interfaces[0]!.configurations.map(({ address }) => address);
        return { name, providerID: `azure://${id}`, addresses, zone: '' };
      });
    });
    after(async () => {
      await served?.close();
      await rm(folder, { recursive: true, force: true });
    });

    function desiredOf(asked: Asked): DesiredLoadBalancer {
      const { name, ports = [port(80, 30080)], more } = asked;
      const owner = { cluster, service: uids.get(name)! };
      const own = { service: `default/${name}`, ports, annotations: annotationsOf(asked), ...more };
      return desiredFor(owner, vms, own);
    }

    /** As an API server shows it. */
    function objectOf(asked: Asked): Json {
      const { name } = asked;
      const { ports, annotations, families, asksForEverybody, sessionAffinity, trafficPolicy, healthCheck, ...own } =
        desiredOf(asked);
      const sourceRanges = asksForEverybody ? ['0.0.0.0/0'] : own.sourceRanges;
      const ingress = (shown.get(name) ?? []).map((ip) => ({ ip }));
      return {
        metadata: { name, namespace: 'default', uid: uids.get(name), annotations },
        spec: {
          type: 'LoadBalancer',
          ipFamilies: families,
          loadBalancerSourceRanges: sourceRanges,
          ports: ports.map(({ name: own, protocol, port: number, nodePort, appProtocol }) => {
            return { name: own, protocol, port: number, nodePort, appProtocol };
          }),
          sessionAffinity: sessionAffinity === undefined ? 'None' : 'ClientIP',
          externalTrafficPolicy: trafficPolicy,
          ...(trafficPolicy === 'Local' ? { healthCheckNodePort: healthCheck.port } : {}),
        },
        status: { loadBalancer: { ingress } },
      };
    }

    async function classically(what: 'ensure' | 'delete'): Promise<Readonly<Record<string, readonly string[]>>> {
      const json = {
        ...azureJson,
        tenantId: 'adfs',
        resourceManagerEndpoint: served.url,
        useInstanceMetadata: false,
        loadBalancerSku: 'standard',
        ...own,
      };
      const nodes = vms.map(({ name, providerID, addresses }) => ({
        metadata: { name, labels: {} },
        spec: { providerID },
        status: { addresses: addresses.map((address) => ({ type: 'InternalIP', address })) },
      }));
      const env = {
        ...process.env,
        SSL_CERT_FILE: caFile,
        AZURE_JSON: JSON.stringify(json),
        AZURE_DO: what,
        AZURE_NODES: JSON.stringify(nodes),
        AZURE_SERVICES: JSON.stringify(services.map(objectOf)),
      };
      const { stdout } = await run(classic!, [], { env, timeout: 180_000, maxBuffer: 64 * 1024 * 1024 });
      return JSON.parse(stdout);
    }

    async function drivingOn(fake: FakeAzure, asked: Asked, more: Partial<Driving> = {}): Promise<Driving> {
      const text = JSON.stringify({ ...azureJson, ...own, resourceManagerEndpoint: 'http://azure.test' });
      const config = await readConfig({ path: 'azure.json', text }, {}, async () => undefined);
      if ('reportOnly' in config) throw new Error(config.reportOnly);
      const clock = systemClock();
      const context = { clock, random: seededRandom(1), log: silentLog, env: {}, onCall() {} };
      const opened = openAzure({ config, context, readText: async () => undefined, wrapHttp: () => fake.http });
      const { loadBalancers } = withLoadBalancers<typeof opened & Pick<Cloud, 'loadBalancers'>>(opened, clock);
      const world = { during: <T>(work: Promise<T>) => work, pass: sleep } as unknown as Driving['world'];
      return { world, balancers: loadBalancers!, desired: desiredOf(asked), record: { id: undefined }, ...more };
    }
    const writes = (fake: FakeAzure) =>
      fake.calls.filter(({ method }) => method === 'PUT' || method === 'DELETE').length;

    it('creates the same resources as the classic provider in every field but the health checks', async () => {
      const addresses = await classically('ensure');
      for (const [name, ips] of Object.entries(addresses)) shown.set(name, ips);
      for (const asked of services) {
        const { observed, refusals } = await ensure(await drivingOn(ours, asked));
        assert.deepEqual(refusals, [], asked.name);
        assert.deepEqual(
          observed?.ingress.map(({ ip }) => ip),
          addresses[asked.name],
          asked.name,
        );
      }
      const [left, right] = [fieldsOf(theirs), fieldsOf(ours)];
      const differences = [...new Set([...left.keys(), ...right.keys()])].flatMap((path) => {
        const [a, b] = [left.get(path), right.get(path)];
        return a === b ? [] : [`${path}: ${a} / ${b}`];
      });
      // One probe of kube-proxy for all rules of a Service, in place of one for each TCP port.
      const unexpected = differences.filter(
        (text) => !/^loadBalancers [\w-]+ properties (probes|loadBalancingRules .* probe id)/.test(text),
      );
      assert.deepEqual(unexpected, []);
      assert.deepEqual(membersOf(ours), membersOf(theirs));
      assert.equal(membersOf(ours).length, members === 'nodeIP' ? 0 : vmType === 'vmss' ? 12 : 8);
    });

    it('adopts the load balancers of the classic provider without a change, and hands them back', async () => {
      const adopt = (name: string) => ({ clusterName: 'kubernetes', addresses: shown.get(name)! });
      const before = writes(theirs);
      for (const asked of services) {
        const driving = await drivingOn(theirs, asked, { adopt: adopt(asked.name) });
        const { observed, calls, refusals } = await ensure(driving);
        assert.deepEqual([calls, refusals, observed?.adopted], [0, [], true], asked.name);
      }
      assert.equal(writes(theirs), before);
      const [first] = services;
      const changed = { ...desiredOf(first!), ports: [port(80, 30080), port(8443, 30083)] };
      const driving = await drivingOn(theirs, first!, { adopt: adopt(first!.name), desired: changed });
      assert.equal((await ensure(driving)).observed?.adopted, undefined);
      // The classic provider goes on from there, and deletes everything in the end.
      assert.deepEqual(await classically('ensure'), Object.fromEntries(shown));
      await classically('delete');
      const kinds = [...theirs.network.resources.values()].map(({ type }) => type);
      assert.deepEqual(kinds, ['networkSecurityGroups']);
      assert.deepEqual(membersOf(theirs), []);
      assert.deepEqual(
        [...fieldsOf(theirs).keys()].filter((path) => path.includes('k8s-azure-lb')),
        [],
      );
    });
  });
}

/** Every field of every resource, by its path; parts by their names. Without our marks, and what the cloud fills in. */
function fieldsOf({ network }: FakeAzure): ReadonlyMap<string, string> {
  const fields = new Map<string, string>();
  const skipped = /^(etag|id|type|provisioningState|resourceGuid|location|mooring\.dev-.*|loadBalancingRules)$/;
  function add(path: string, value: unknown, depth: number): void {
    if (Array.isArray(value) && value.some((one) => typeof one === 'object')) {
      for (const one of value as Json[]) add(`${path} ${one['name'] ?? one['id']}`, one, depth + 1);
    } else if (Array.isArray(value)) fields.set(path, JSON.stringify(value.toSorted()));
    else if (typeof value === 'object' && value !== null)
      for (const [name, one] of Object.entries(value)) {
        const isReference = name === 'id' && !('name' in value);
        if (isReference || !skipped.test(name) || (name === 'loadBalancingRules' && depth === 1))
          add(`${path} ${name}`, one, depth + 1);
      }
    else
      fields.set(
        path,
        typeof value === 'string' && value.startsWith('/sub') ? value.toLowerCase() : JSON.stringify(value),
      );
  }
  for (const resource of network.resources.values())
    add(`${resource.type} ${resource.name}`, network.json(resource), 0);
  return fields;
}

/** What interfaces, and models of scale sets, say of backend pools. */
function membersOf({ vms, sets }: FakeAzure): readonly string[] {
  const interfaces = [...vms.values()].flatMap((vm) => vm.interfaces.flatMap(({ configurations }) => configurations));
  return [...interfaces, ...sets.values()].flatMap(({ name, pools = [] }) => pools.map((id) => `${name} ${id}`)).sort();
}
