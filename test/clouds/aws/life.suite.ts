import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { iamActions } from '../../../controller/clouds/aws/iam-actions.ts';
import { conditionOf, type NodeObject, taintKeys } from '../../kit/world/scenario.ts';
import { type AwsWorld, startAwsWorld } from './aws-world.ts';
import { classicRules } from './classic-rules.ts';
import { type ControllerProcess, clusterCidr, prepareController } from './controller-process.ts';
import { loadBalancerRules } from './load-balancer-rules.ts';
import { ec2Version, mutates } from './moto-proxy.ts';
import { createWeather } from './weather.ts';

const moto = process.env['MOTO_URL'];
const uninitialized = 'node.cloudprovider.kubernetes.io/uninitialized';

describe('the shipped controller on AWS, against moto', () => {
  const weather = createWeather(() => performance.now(), 5000);
  let world: AwsWorld;
  let controller: ControllerProcess;
  let vms: Awaited<ReturnType<AwsWorld['createVm']>>[] = [];
  let bare: readonly string[];

  before(async () => {
    assert.ok(moto, 'MOTO_URL');
    world = await startAwsWorld({
      server: moto,
      kind: 'nlb',
      rules: [...weather.rules, ...loadBalancerRules(), ...classicRules()],
      config: ['NLBSecurityGroupMode = Managed'],
    });
    controller = await prepareController(world);
    bare = await inventory();
    vms = [await world.createVm(), await world.createVm()];
    for (const { name } of vms) await controller.kubelet(name).start();
    controller.start();
  });
  after(async () => {
    await controller?.stop();
    await world?.close();
  });

  const inventory = async () => (await world.inventory()).map(({ kind, name }) => `${kind} ${name}`).sort();
  async function nodeNamed(name: string): Promise<NodeObject | undefined> {
    const { status, body } = await controller.rest.call('GET', `/api/v1/nodes/${name}`);
    return status === 200 ? body : undefined;
  }
  const services = '/api/v1/namespaces/default/services';
  async function create(name: string, annotations: Readonly<Record<string, string>>): Promise<void> {
    await controller.rest.must('POST', services, {
      apiVersion: 'v1',
      kind: 'Service',
      metadata: { name, annotations },
      spec: { type: 'LoadBalancer', selector: { app: name }, ports: [{ name: 'http', port: 80 }] },
    });
  }
  async function hostnameOf(name: string): Promise<string | undefined> {
    const { body } = await controller.rest.call('GET', `${services}/${name}`);
    return body?.status?.loadBalancer?.ingress?.[0]?.hostname;
  }
  const wait: ControllerProcess['until'] = (...args) => controller.until(...args);
  const changes = () => world.proxy.calls.filter(mutates).map(({ action }) => action);

  it('initialises its nodes, and creates routes for their pods', async () => {
    for (const vm of vms) {
      const node = await wait(`${vm.name} is a node with a network`, 30_000, async () => {
        const seen = await nodeNamed(vm.name);
        return conditionOf(seen, 'NetworkUnavailable')?.status === 'False' ? seen : undefined;
      });
      assert.ok(!taintKeys(node).includes(uninitialized));
      assert.equal(node.spec.providerID, vm.providerID);
      assert.equal(node.metadata.labels['topology.kubernetes.io/zone'], vm.zone);
      assert.ok((await inventory()).includes(`route ${node.spec.podCIDR}`));
    }
    assert.equal(changes().filter((action) => action === 'CreateRoute').length, 2);
    assert.equal(changes().filter((action) => action === 'ModifyInstanceAttribute').length, 2);
  });

  for (const [kind, type] of [
    ['network', { 'service.beta.kubernetes.io/aws-load-balancer-type': 'nlb' }],
    ['classic', {}],
  ] as const) {
    it(`gives a Service a ${kind} load balancer with both nodes`, async () => {
      await create(kind, type);
      const hostname = await wait(`the ${kind} load balancer has an address`, 40_000, () => hostnameOf(kind));
      assert.match(hostname, /amazonaws\.com$/);
      await wait('both nodes are members', 90_000, async () =>
        (await inventory()).find((item) =>
          (kind === 'network' ? /^target group .* of 2$/ : /^classic load balancer .* of 2$/).test(item),
        ),
      );
    });
  }

  it('changes nothing after a restart with nothing changed', async () => {
    await wait('it is at rest', 60_000, async () => {
      const before = changes().length;
      await sleep(6000);
      return changes().length === before;
    });
    const standing = await inventory();
    const before = changes().length;
    const heard = world.proxy.calls.length;
    await controller.stopProcess();
    controller.start();
    await wait('it has looked at everything', 40_000, async () => {
      const since = new Set(world.proxy.calls.slice(heard).map(({ action }) => action));
      return ['DescribeInstances', 'DescribeRouteTables', 'DescribeLoadBalancers', 'DescribeTargetHealth'].every(
        (action) => since.has(action),
      );
    });
    // More than one audit of load balancers and several of nodes.
    await sleep(12_000);
    assert.deepEqual(changes().slice(before), []);
    assert.deepEqual(await inventory(), standing);
  });

  it('plans nothing, and finds no missing right in a check', async () => {
    const before = changes().length;
    const plan = await controller.command(
      'plan',
      '--exit-code',
      '--configure-cloud-routes',
      `--cluster-cidr=${clusterCidr}`,
    );
    assert.equal(plan.code, 0, plan.output);
    const check = await controller.command('check', '-o', 'json');
    const lines = JSON.parse(check.stdout) as { name: string; ok: boolean | null }[];
    const namesWhere = (wanted: boolean | null) => lines.flatMap(({ name, ok }) => (ok === wanted ? [name] : []));
    // Moto does not know it.
    assert.deepEqual(namesWhere(false), ['ec2:DescribeInstanceTopology']);
    // No harmless call proves it.
    assert.deepEqual(namesWhere(null), ['elasticloadbalancing: changes']);
    assert.deepEqual(changes().slice(before), []);
  });

  it('waits for an instance that EC2 does not show yet, and keeps its node', async () => {
    const vm = await world.createVm();
    vms.push(vm);
    weather.hidden.add(vm.name);
    await controller.kubelet(vm.name).start();
    await sleep(4000);
    assert.ok(taintKeys(await nodeNamed(vm.name)).includes(uninitialized));
    weather.hidden.delete(vm.name);
    await wait('the new instance is a node', 60_000, async () => {
      const node = await nodeNamed(vm.name);
      return node?.spec.providerID === vm.providerID && !taintKeys(node).includes(uninitialized);
    });
  });

  it('makes no call while AWS throttles, and then goes on', async () => {
    const before = weather.refusals();
    weather.throttled = true;
    await create('throttled', { 'service.beta.kubernetes.io/aws-load-balancer-type': 'nlb' });
    await sleep(8000);
    const refused = weather.refusals() - before;
    // With rests of 1, 2 and 4 seconds and calls under way together; without them it would be hundreds.
    assert.ok(refused > 0 && refused < 12, `${refused} calls were refused`);
    weather.throttled = false;
    await wait('it has an address', 60_000, () => hostnameOf('throttled'));
  });

  it('deletes the node and the route of a terminated instance', async () => {
    const [, gone] = vms;
    assert.ok(gone);
    const range = (await nodeNamed(gone.name)).spec.podCIDR;
    controller.kubelet(gone.name).stop();
    await world.deleteVm(gone.providerID);
    await wait('the node is gone', 60_000, async () => (await nodeNamed(gone.name)) === undefined);
    await wait('its route is gone', 60_000, async () => !(await inventory()).includes(`route ${range}`));
  });

  it('leaves nothing behind of deleted Services, however slowly AWS frees their security groups', async () => {
    const names = ['network', 'classic', 'throttled'];
    for (const name of names) await controller.rest.must('DELETE', `${services}/${name}`);
    await wait('the Services are gone', 90_000, async () => {
      const { body } = await controller.rest.call('GET', services);
      return !body.items.some(({ metadata }: { metadata: { name: string } }) => names.includes(metadata.name));
    });
    assert.ok(weather.stillUsed() > 0);
    const [first, , last] = vms;
    const ranges = [(await nodeNamed(first!.name)).spec.podCIDR, (await nodeNamed(last!.name)).spec.podCIDR];
    assert.deepEqual(await inventory(), [...bare, ...ranges.map((range) => `route ${range}`)].sort());
  });

  it('sends no action that the policy of its role does not allow', () => {
    const granted = new Set(iamActions.map(({ action }) => action));
    // Who a credential is of may be asked without any permission.
    const asked = world.proxy.calls.filter(({ action }) => action !== 'GetCallerIdentity');
    const sent = asked.map(
      ({ action, version }) => `${version === ec2Version ? 'ec2' : 'elasticloadbalancing'}:${action}`,
    );
    assert.deepEqual(
      [...new Set(sent)].filter((action) => !granted.has(action)),
      [],
    );
    assert.ok(new Set(sent).size > 20);
  });
});
