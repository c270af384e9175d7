import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { silentLog } from '../../../common/process/log.ts';
import { seededRandom } from '../../../common/process/random.ts';
import { advanceDuring, fakeClock } from '../../../common/testing/fake-clock.ts';
import { answerFields } from '../../../controller/clouds/answer-fields.ts';
import { openCloudStack } from '../../../controller/clouds/cloudstack/index.ts';
import { foundAddress, readNetwork } from '../../../controller/clouds/cloudstack/load-balancers/found.ts';
import { httpOf, type Json } from '../fake-http.ts';
import { desiredFor, newOwner, port } from '../suite/desired.ts';
import { ensure } from '../suite/drive.ts';
import { cloudStackWorld } from './cloudstack-world.ts';
import { apiCommands } from './fake/fake-api.ts';

interface Described {
  readonly name: string;
  readonly isasync: boolean;
  readonly params: readonly { readonly name: string; readonly type: string; readonly required: boolean }[];
  readonly response: readonly { readonly name?: string }[];
}

const folder = process.env['CLOUDSTACK_DESCRIPTION']!;
const read = async (path: string) => JSON.parse(await readFile(join(folder, path), 'utf8'));
const recorded = (service: string): Promise<Record<string, Json>> => read(`test/testdata/${service}Service.json`);
const fieldsOf = (value: unknown) => answerFields(value, { cloud: 'cloudstack', operation: 'recorded' });

/** What the job of a recorded answer has made. */
async function madeBy(service: string, command: string, name: string): Promise<Json> {
  const answer = (await recorded(service))[command]![`${command.toLowerCase()}response`] as { jobresult: Json };
  return answer.jobresult[name] as Json;
}

describe("the vendor's API description", () => {
  it('describes every command of the fake, with these parameters and fields', async () => {
    const { api }: { readonly api: readonly Described[] } = await read('generate/listApis.json');
    for (const [name, command] of Object.entries(apiCommands)) {
      const described = api.find((one) => one.name === name);
      assert.ok(described, name);
      assert.equal(Boolean(described.isasync), command.isAsync, name);
      const params = described.params.map((one) => [one.name, `${one.type}${one.required ? '!' : ''}`]);
      assert.deepEqual(Object.fromEntries(params), command.params, name);
      const fields = new Set(described.response.flatMap((one) => one.name ?? []));
      assert.deepEqual([...fields].sort(), [...command.answers].sort(), name);
    }
  });

  it('describes every field that the fake answers with', async () => {
    const world = cloudStackWorld();
    world.fake.takesUdp = true;
    const vms = [await world.createVm(), await world.createVm()];
    const { loadBalancers } = await world.open();
    const ports = [port(80, 30_080), port(53, 30_053, { protocol: 'UDP' })];
    const desired = desiredFor(newOwner(world.cluster), vms, { ports });
    let lists = 0;
    const answer = world.fake.http;
    await ensure({ world, balancers: loadBalancers!, desired, record: { id: undefined } });
    for (const { name, params } of [...world.fake.commands].filter((one) => one.name.startsWith('list'))) {
      const body = new URLSearchParams([...params]).toString();
      const { text } = await answer({
        url: 'http://cloudstack.test/client/api',
        method: 'POST',
        body,
        timeoutMs: 1000,
      });
      const [items = []] = Object.values((Object.values(JSON.parse(text))[0] ?? {}) as Json).filter(Array.isArray);
      const known = new Set(apiCommands[name]!.answers);
      // The description lists the fields of the answer itself here, and those of VMs elsewhere.
      if (name === 'listLoadBalancerRuleInstances') continue;
      for (const item of items as Json[]) {
        lists += 1;
        for (const field of Object.keys(item)) assert.ok(known.has(field), `${name}: ${field}`);
      }
    }
    assert.ok(lists > 5);
    await world.close();
  });
});

describe('recorded answers of a management server', () => {
  it('reads the recorded answer of a VM as the instance of its Node', async () => {
    const record = (await recorded('VirtualMachine'))['listVirtualMachines']!;
    // The record names this answer by its command; a server says `listvirtualmachinesresponse`.
    const body = { listvirtualmachinesresponse: record['listVirtualMachines']! };
    const clock = fakeClock();
    const context = { clock, random: seededRandom(1), log: silentLog, env: {}, onCall: () => {} };
    const config = { endpoint: 'http://cs.test/client/api', apiKey: 'a', secretKey: 'b', project: undefined };
    const cloud = openCloudStack({
      config: { ...config, region: undefined, isInsecure: false, warnings: [] },
      context,
      wrapHttp: () => httpOf(() => ({ status: 200, body })),
    });
    const providerID = 'external-cloudstack://915653c4-298b-4d74-bdee-4ced282114f1';
    const answers = await advanceDuring(clock, cloud.instances.lookup([{ by: 'providerID', providerID }]));
    const found = answers.get(providerID);
    assert.ok(found?.state === 'found', JSON.stringify(found));
    const { name, zone, type, addresses } = found.instance;
    assert.deepEqual([name, zone, type, found.power], ['testDummyVM', 'shouldwork', 'Verysmallinstance', 'running']);
    assert.deepEqual(addresses.at(-1), { type: 'InternalIP', address: '10.1.1.62' });
  });

  it('reads recorded answers of an address, a load balancer rule and a network as resources', async () => {
    const address = await madeBy('Address', 'associateIpAddress', 'ipaddress');
    const rule = await madeBy('LoadBalancer', 'createLoadBalancerRule', 'loadbalancer');
    const [found, foundRule] = foundAddress(fieldsOf(address), { rules: [fieldsOf(rule)], firewall: [] }, undefined);
    assert.ok(found && foundRule);
    assert.deepEqual([found.status, found.address], ['pending', '10.70.3.100']);
    assert.equal((found.body as { isShared: boolean }).isShared, true);
    const { publicPort, privatePort, algorithm, cidrs } = foundRule.body as Record<string, unknown>;
    assert.deepEqual([publicPort, privatePort, algorithm, cidrs], [9090, 9090, 'roundrobin', []]);
    assert.equal(foundRule.owner, undefined);
    const networks = (await recorded('Network'))['listNetworks']!['listnetworksresponse'] as { network: Json[] };
    const { services } = readNetwork(fieldsOf(networks.network[0]));
    for (const service of ['Lb', 'Firewall']) assert.ok(services.includes(service), services.join());
  });
});
