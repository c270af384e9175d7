import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { after, before, describe, it } from 'node:test';
import { systemClock } from '../../../common/process/clock.ts';
import { createHttp } from '../../../common/process/http.ts';
import { silentLog } from '../../../common/process/log.ts';
import { seededRandom } from '../../../common/process/random.ts';
import { prefix } from '../../../controller/clouds/huaweicloud/annotations.ts';
import { openHuawei } from '../../../controller/clouds/huaweicloud/index.ts';
import type { DesiredLoadBalancer, LoadBalancers } from '../../../controller/clouds/load-balancers.ts';
import { withLoadBalancers } from '../../../controller/services/balancers/with-load-balancers.ts';
import { type ListeningFake, listen } from '../fake-http.ts';
import { desiredFor, memberOf, newOwner, port } from '../suite/desired.ts';
import { ensure, remove, type ServiceRecord } from '../suite/drive.ts';
import type { CloudWorld } from '../suite/world.ts';
import { accessKey, createFakeHuawei, subnet, vpcId } from './fake/fake-huawei.ts';
import type { FakeProject } from './fake/fake-project.ts';
import { configOf } from './huawei-world.ts';

/** What Services ask for, one after the other: at the end the last one stands. */
const asks: readonly Partial<DesiredLoadBalancer>[] = [
  { annotations: named({ 'eip-auto-create-option': '{"bandwidth_size":5}' }), sourceRanges: ['192.0.2.0/24'] },
  {
    annotations: named({
      class: 'shared',
      'eip-auto-create-option': '{"share_type":"WHOLE","share_id":"bw-1"}',
      'health-check-flag': 'off',
    }),
  },
  { annotations: named({ 'lb-algorithm': 'LEAST_CONNECTIONS', 'idle-timeout': '60' }) },
];

function named(values: Readonly<Record<string, string>>) {
  return Object.fromEntries(Object.entries(values).map(([name, value]) => [prefix + name, value]));
}

const { HUAWEI_PYTHON: python } = process.env;
const clock = systemClock();

describe("the vendor's clients for Python", () => {
  let fake: FakeProject;
  let served: ListeningFake;

  before(async () => {
    fake = createFakeHuawei(clock);
    for (let each = 0; each < 61; each += 1) fake.addServer(`node-${each}`);
    const further = { id: randomUUID(), name: 'further', isDefault: false, vpc: vpcId, routes: [] };
    fake.tables.set(further.id, further);
    served = await listen(fake);
  });
  after(() => served.close());

  /** What Mooring asks for, sends and gets. */
  async function exchanges(): Promise<readonly object[]> {
    const { http, close } = createHttp({ clock, plain: {}, tls: {} });
    const seen: object[] = [];
    const opened = openHuawei({
      config: configOf(served.url, { SECURITY_GROUP_ID: '7d2c1b0a-3e4f-4a5b-8c6d-9e0f1a2b3c4d' }),
      context: { clock, random: seededRandom(1), log: silentLog, env: {}, onCall: () => {} },
      wrapHttp: () => async (request) => {
        const answer = await http(request);
        const { method = 'GET', url, body } = request;
        const sent = body === undefined ? undefined : JSON.parse(body);
        const got = answer.text === '' ? undefined : JSON.parse(answer.text);
        seen.push({ method, path: new URL(url).pathname, body: sent, answer: got });
        return answer;
      },
    });
    const cloud = withLoadBalancers<typeof opened>(opened, clock);
    const [id] = fake.servers.keys();
    const providerID = `huaweicloud://${id}`;
    await cloud.identify();
    await cloud.instances.lookup([{ by: 'providerID', providerID }]);
    const desired = { cluster: 'c', node: 'n', nodeUid: 'u', destination: '10.9.0.0/24', providerID, addresses: [] };
    const made = await cloud.routes!.create(desired, { permit: () => {} });
    await cloud.routes!.remove(made, { permit: () => {} });
    await balance(cloud.loadBalancers!);
    cloud.close();
    close();
    return seen;
  }

  async function balance(balancers: LoadBalancers): Promise<void> {
    const pass = (ms: number) => new Promise<void>((resolve) => void setTimeout(resolve, ms));
    const world = { during: <T>(work: Promise<T>) => work, pass } as CloudWorld;
    const vms = [...fake.servers.values()].slice(0, 2).map(({ id, name, address, zone }) => {
      return { name, providerID: `huaweicloud://${id}`, addresses: [address], zone };
    });
    for (const [at, ask] of asks.entries()) {
      const record: ServiceRecord = { id: undefined };
      const service = `shop/web-${at}`;
      const desired = desiredFor(newOwner('11111111-2222-4333-8444-555555555555'), vms, { ...ask, service });
      const udp = port(53, 30_053, { protocol: 'UDP' });
      const driving = { world, balancers, record };
      const first = { ...desired.annotations, ...named({ 'health-check-flag': 'on', 'lb-algorithm': 'ROUND_ROBIN' }) };
      await ensure({ ...driving, desired: { ...desired, annotations: first, ports: [...desired.ports, udp] } });
      const members = [memberOf(vms[0]!, true)];
      await ensure({ ...driving, desired: { ...desired, members, sourceRanges: ['198.51.100.0/24'] } });
      const changed = {
        ...desired.annotations,
        ...named({ 'l4-flavor-id': 'l4', 'health-check-option': '{"delay":7}' }),
      };
      await ensure({ ...driving, desired: { ...desired, members, annotations: changed } });
      if (at < asks.length - 1) await remove({ world, balancers, record, desired });
    }
  }

  it("the vendor's clients find the fake, and every body that Mooring sends, as their models have it", async () => {
    assert.ok(python);
    const { HUAWEI_PYTHON: _, ...outer } = process.env;
    const env = {
      ...outer,
      HUAWEI_URL: served.url,
      HUAWEI_AK: accessKey.id,
      HUAWEI_SK: accessKey.secret,
      HUAWEI_PROJECT: fake.project,
      HUAWEI_VPC: vpcId,
      HUAWEI_SUBNET: subnet.neutron,
    };
    const sent = JSON.stringify(await exchanges());
    const script = `${import.meta.dirname}/clients/drive.py`;
    const stdout = await new Promise<string>((resolve, reject) => {
      const child = execFile(python, [script], { env, timeout: 120_000 }, (error, out, err) =>
        error === null ? resolve(out) : reject(new Error(err)),
      );
      child.stdin?.end(sent);
    });
    assert.equal(stdout, 'ok\n');
  });
});
