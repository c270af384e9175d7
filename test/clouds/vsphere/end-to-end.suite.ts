import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { promisify } from 'node:util';
import { systemClock } from '../../../common/process/clock.ts';
import { swapped } from '../../../common/smbios-uuid.ts';
import { names, taints } from '../../../common/well-known.ts';
import { freePort } from '../../kit/free-ports.ts';
import { startKubeApi } from '../../kit/kube-api/start-kube-api.ts';
import { type Child, startChild } from '../../kit/world/child.ts';
import { createKubeRest, type KubeRest } from '../../kit/world/kube-rest.ts';
import { createKubelet, type Kubelet } from '../../kit/world/kubelet.ts';
import { applyManifests, serviceAccountToken } from '../../kit/world/manifests.ts';
import { startNodeMonitor } from '../../kit/world/node-monitor.ts';
import { type NodeObject, taintKeys, until } from '../../kit/world/scenario.ts';
import { controllerMain, shortened } from '../../kit/world/shortened.ts';
import { startVcsim, type Vcsim } from './start-vcsim.ts';

const program = process.env['VCSIM'];
assert.ok(program, 'VCSIM: expected the program');
/** A Node has to be five minutes old before an absence counts, so the API's clock makes them look older. */
const agedMs = 6 * 60_000;

interface Machine {
  readonly name: string;
  readonly vcsim: Vcsim;
  readonly uuid: string;
  readonly kubelet: Kubelet;
}

describe('the shipped controller on vSphere, against two vcsim', () => {
  const machines: Machine[] = [];
  const vcsims: Vcsim[] = [];
  let folder: string;
  let api: Awaited<ReturnType<typeof startKubeApi>>;
  let rest: KubeRest;
  let controller: Child;
  let flags: string[];
  let monitor: ReturnType<typeof startNodeMonitor>;

  before(async () => {
    folder = await mkdtemp(join(tmpdir(), 'mooring-vsphere-'));
    const clock = systemClock();
    api = await startKubeApi({ clock: { ...clock, now: () => clock.now() - agedMs }, random: Math.random });
    rest = createKubeRest(api);
    await applyManifests(rest);
    monitor = startNodeMonitor(rest, shortened.monitorGraceMs, 1000);
    for (const [at, datacenters] of [2, 1].entries()) {
      const vcsim = await startVcsim(program, { uuid: `7c9d1f0e-0000-4000-8000-00000000000${at}`, datacenters });
      vcsims.push(vcsim);
      await vcsim.order({ do: 'tag', object: '/', category: 'k8s-region', tag: `region-${at + 1}` });
      for (let dc = 0; dc < datacenters; dc += 1)
        await vcsim.order({ do: 'tag', object: `/DC${dc}`, category: 'k8s-zone', tag: `zone-${at + 1}-${dc}` });
    }
    const [first, second] = vcsims as [Vcsim, Vcsim];
    await boot('n1', first, 'DC0', (uuid) => uuid);
    await boot('n2', first, 'DC1', swapped);
    await boot('n3', second, 'DC0', (uuid) => uuid.toUpperCase());
    const token = await serviceAccountToken(rest, { namespace: names.namespace, name: names.controller });
    const [kubeconfig, config] = [join(folder, 'kubeconfig'), join(folder, 'vsphere.yaml')];
    await writeFile(kubeconfig, api.kubeconfig(token), { mode: 0o600 });
    await writeFile(config, configOf(first, second), { mode: 0o600 });
    flags = [`--kubeconfig=${kubeconfig}`, '--cloud-provider=vsphere', `--cloud-config=${config}`];
    const ports = [`--report-address=127.0.0.1:${await freePort()}`, '--secure-port=0'];
    const more = ['--report-advertise-address=127.0.0.1', '--node-monitor-period=1s'];
    controller = startChild([controllerMain, 'run', ...flags, ...ports, ...more], join(folder, 'log'), process.env);
  });
  after(async () => {
    await controller?.stop();
    await monitor?.stop();
    for (const { kubelet } of machines) kubelet.stop();
    rest?.close();
    await api?.stop();
    for (const vcsim of vcsims) await vcsim.close();
    await rm(folder, { recursive: true, force: true });
  });

  async function boot(name: string, vcsim: Vcsim, datacenter: string, systemUuid: (uuid: string) => string) {
    const at = machines.length + 1;
    const nics = [
      { network: 'br', addresses: ['10.244.0.1'], key: -1 },
      { network: 'VM Network', addresses: ['fe80::1', `192.0.2.${at}`, `10.0.0.${at}`] },
    ];
    const { uuid } = await vcsim.order({
      do: 'create',
      vm: `${name} on ${datacenter}`,
      hostName: name,
      datacenter,
      nics,
    });
    const token = api.nodeToken(name);
    const kubelet = createKubelet({ rest, name, token, systemUuid: systemUuid(uuid), leaseRenewMs: 2000 });
    await kubelet.start();
    machines.push({ name, vcsim, uuid, kubelet });
  }

  const configOf = (first: Vcsim, second: Vcsim) => `global:
  user: user
  password: pass
  insecureFlag: true
vcenter:
  first: {server: ${first.server}, port: ${first.port}, datacenters: [DC0, DC1]}
  second: {server: ${second.server}, port: ${second.port}}
labels: {zone: k8s-zone, region: k8s-region}
nodes: {internalNetworkSubnetCidr: 10.0.0.0/8, externalNetworkSubnetCidr: 192.0.2.0/24}
`;
  const nodeNamed = async (name: string): Promise<NodeObject | undefined> => {
    const { status, body } = await rest.call('GET', `/api/v1/nodes/${name}`);
    return status === 200 ? body : undefined;
  };
  async function wait<T>(what: string, seconds: number, probe: () => Promise<T | undefined | false>): Promise<T> {
    try {
      return await until(what, seconds * 1000, probe);
    } catch (error) {
      throw new Error(`${String(error)}\n${(await readFile(join(folder, 'log'), 'utf8')).slice(-3000)}`);
    }
  }

  it('initialises Nodes of all vCenters and datacenters by host name and UUID in both byte orders', async () => {
    const zones = { n1: ['zone-1-0', 'region-1'], n2: ['zone-1-1', 'region-1'], n3: ['zone-2-0', 'region-2'] };
    for (const [at, { name, uuid }] of machines.entries()) {
      const node = await wait(`${name} is initialised`, 60, async () => {
        const seen = await nodeNamed(name);
        return seen && !taintKeys(seen).includes(taints.uninitialized) && seen;
      });
      assert.equal(node.spec.providerID, `vsphere://${uuid}`);
      const { labels } = node.metadata;
      const place = ['topology.kubernetes.io/zone', 'topology.kubernetes.io/region'].map((key) => labels[key]);
      assert.deepEqual(place, zones[name as keyof typeof zones]);
      assert.equal(labels['node.kubernetes.io/instance-type'], 'vsphere-vm.cpu-1.mem-0gb.os-other');
      assert.deepEqual(
        node.status.addresses.map(({ type, address }: { type: string; address: string }) => `${type} ${address}`),
        [`Hostname ${name}`, `InternalIP 10.0.0.${at + 1}`, `ExternalIP 192.0.2.${at + 1}`],
      );
    }
  });

  it('goes on when every session is ended, and deletes only the Node of a destroyed VM', async () => {
    const [gone, off, kept] = machines as [Machine, Machine, Machine];
    for (const vcsim of vcsims) assert.ok((await vcsim.order({ do: 'end sessions' })) >= 1);
    for (const { kubelet } of [gone, off]) kubelet.stop();
    for (const { vcsim, uuid } of [gone, off]) await vcsim.order({ do: 'power off', uuid });
    await gone.vcsim.order({ do: 'destroy', uuid: gone.uuid });
    await wait(`${off.name} is marked as shut down`, 120, async () => {
      const node = await nodeNamed(off.name);
      return node && taintKeys(node).includes(taints.shutdown);
    });
    await wait(`${gone.name} is deleted`, 180, async () => (await nodeNamed(gone.name)) === undefined);
    for (const { name } of [off, kept]) assert.ok(await nodeNamed(name));
  });

  it('passes its check', async () => {
    const { stdout } = await promisify(execFile)(process.execPath, [controllerMain, 'check', ...flags]).catch(
      (error) => error,
    );
    assert.match(stdout, /log in.*user on vCenter 7c9d1f0e-0000-4000-8000-000000000000/);
    assert.match(stdout, /read VMs.* VMs/);
    assert.match(stdout, /have a zone and region/);
  });
});
