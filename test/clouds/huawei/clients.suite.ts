import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { after, before, describe, it } from 'node:test';
import { systemClock } from '../../../common/process/clock.ts';
import { createHttp } from '../../../common/process/http.ts';
import { silentLog } from '../../../common/process/log.ts';
import { seededRandom } from '../../../common/process/random.ts';
import { openHuawei } from '../../../controller/clouds/huaweicloud/index.ts';
import { type ListeningFake, listen } from '../fake-http.ts';
import { accessKey, createFakeHuawei, vpcId } from './fake/fake-huawei.ts';
import type { FakeProject } from './fake/fake-project.ts';
import { configOf } from './huawei-world.ts';

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
    const cloud = openHuawei({
      config: configOf(served.url),
      context: { clock, random: seededRandom(1), log: silentLog, env: {}, onCall: () => {} },
      wrapHttp: () => async (request) => {
        const answer = await http(request);
        const { method = 'GET', url, body } = request;
        const sent = body === undefined ? undefined : JSON.parse(body);
        seen.push({ method, path: new URL(url).pathname, body: sent, answer: JSON.parse(answer.text) });
        return answer;
      },
    });
    const [id] = fake.servers.keys();
    const providerID = `huaweicloud://${id}`;
    await cloud.identify();
    await cloud.instances.lookup([{ by: 'providerID', providerID }]);
    const desired = { cluster: 'c', node: 'n', nodeUid: 'u', destination: '10.9.0.0/24', providerID, addresses: [] };
    const made = await cloud.routes!.create(desired, { permit: () => {} });
    await cloud.routes!.remove(made, { permit: () => {} });
    cloud.close();
    close();
    return seen;
  }

  it('find the fake as their models have it, and every body that Mooring sends', async () => {
    assert.ok(python);
    const { HUAWEI_PYTHON: _, ...outer } = process.env;
    const env = {
      ...outer,
      ...{ HUAWEI_URL: served.url, HUAWEI_AK: accessKey.id, HUAWEI_SK: accessKey.secret },
      ...{ HUAWEI_PROJECT: fake.project, HUAWEI_VPC: vpcId },
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
