import assert from 'node:assert/strict';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { annotations as annotationKeys, taints } from '../../../common/well-known.ts';
import { buildAll } from '../../../scripts/build.ts';
import { taintKeys } from '../../kit/world/scenario.ts';
import { type LifeStage, openLifeStage } from '../life/life-stage.ts';
import { stepsAfter, stepsBefore } from '../life/life-steps.ts';
import { serviceSteps } from '../life/service-steps.ts';
import { copyExamplePackage, type ExamplePackage, run } from './example-package.ts';
import { type ExampleLife, openExampleLife } from './life-cloud.ts';

const faultyModule = join(import.meta.dirname, 'faulty-module.ts');

describe('the example package of a cloud that is no part of Mooring', () => {
  let example: ExamplePackage;
  let dist: string;
  const program = () => join(dist, 'controller.cjs');
  before(async () => {
    example = await copyExamplePackage();
    dist = await mkdtemp(join(tmpdir(), 'mooring-dist-'));
    await buildAll(dist);
  });
  after(async () => {
    await example?.close();
    if (dist) await rm(dist, { recursive: true });
  });

  it('compiles against the published types, which refuse what differs from them', async () => {
    const good = await example.tsc();
    assert.equal(good.code, 0, good.output);
    const other = join(example.developed, 'other.ts');
    await writeFile(
      other,
      "import type { Lookup } from 'mooring/cloud';\nexport const lookup: Lookup = { state: 'deleted' };\n",
    );
    const bad = await example.tsc();
    await rm(other);
    assert.notEqual(bad.code, 0);
    assert.match(bad.output, /other\.ts.*TS2322/);
  });

  it('passes the conformance suite', async () => {
    const { code, output } = await example.test();
    assert.equal(code, 0, output.slice(-3000));
    assert.ok(Number(/^# pass (\d+)$/m.exec(output)?.[1]) > 50, output.slice(-300));
  });

  for (const [what, text, message] of [
    ['of another contract', 'export const contractVersion = 2;', 'contractVersion: 2, expected 1'],
    ['without a factory', 'export const contractVersion = 1;', 'createCloud: missing, expected a function'],
    ['that throws', "throw new Error('no licence');", 'it cannot be loaded: no licence'],
    ['that is not there', undefined, /^it cannot be loaded: Cannot find module '[^\n]*'$/],
    [
      'that cannot be opened',
      "export const [contractVersion, createCloud] = [1, () => ({ open: () => Promise.reject('no token') })];",
      'open: no token',
    ],
  ] as const)
    it(`ends the shipped controller at its start where it is one ${what}`, async () => {
      const path = join(example.shipped, 'refused.mjs');
      await rm(path, { force: true });
      if (text !== undefined) await writeFile(path, text);
      const flags = ['--cloud-provider=example', `--cloud-module=example=${path}`];
      for (const command of ['run', 'check', 'plan', 'teardown']) {
        const { code, output } = await run([process.execPath, program(), command, ...flags], example.shipped);
        const begin = `mooring-controller ${command}: --cloud-module: "example=${path}": `;
        assert.ok(output.startsWith(begin) && output.endsWith('\n'), output);
        const said = output.slice(begin.length, -1);
        if (typeof message === 'string') assert.equal(said, message);
        else assert.match(said, message);
        assert.equal(code, 2);
      }
    });

  describe('with the shipped controller', () => {
    let stage: LifeStage<ExampleLife>;
    before(async () => {
      const module = await example.bundle();
      const open = () => openExampleLife({ folder: example.shipped, module });
      stage = await openLifeStage([open], { program: [program()] });
    });
    after(() => stage?.close());

    for (const { title, isLong, run: step } of [...stepsBefore, ...serviceSteps, ...stepsAfter])
      if (isLong !== true) it(title, () => step(stage));

    it('deletes the load balancers of the example cloud by teardown', async () => {
      const [cloud] = stage.clouds as [ExampleLife];
      const path = '/api/v1/namespaces/default/services';
      await stage.controller.rest.must('POST', path, {
        apiVersion: 'v1',
        kind: 'Service',
        metadata: { name: 'left' },
        spec: { type: 'LoadBalancer', selector: { app: 'web' }, ports: [{ name: 'http', port: 80 }] },
      });
      await stage.wait('it has a load balancer', async () => (await cloud.balancers?.())?.length === 1);
      await stage.controller.stopProcess();
      const { code, output } = await stage.controller.command('teardown', '--yes', '--force');
      assert.equal(code, 0, output);
      assert.deepEqual(await cloud.balancers?.(), []);
    });

    it('explains a Node of the example cloud', async () => {
      const { code, output } = await stage.controller.command('explain', 'node', 'example-1');
      assert.equal(code, 0, output);
      assert.match(output, /initialized/);
    });
  });

  describe('beside one that is broken, with the shipped controller', () => {
    let stage: LifeStage<ExampleLife>;
    before(async () => {
      const { shipped: folder } = example;
      const faulty = () => openExampleLife({ folder, name: 'faulty', module: faultyModule });
      stage = await openLifeStage([() => openExampleLife({ folder }), faulty], { program: [program()] });
    });
    after(() => stage?.close());

    const services = '/api/v1/namespaces/default/services';
    async function createService(name: string, cloud: string): Promise<void> {
      await stage.controller.rest.must('POST', services, {
        apiVersion: 'v1',
        kind: 'Service',
        metadata: { name, annotations: { [annotationKeys.cloud]: cloud } },
        spec: { type: 'LoadBalancer', selector: { app: 'web' }, ports: [{ name: 'http', port: 80 }] },
      });
    }
    const addressOf = async (name: string) =>
      (await stage.controller.rest.call('GET', `${services}/${name}`)).body?.status?.loadBalancer?.ingress?.[0]?.ip;
    /** What follows from its cloud; its kubelet and others change the rest. */
    const ofCloud = async (name: string) => {
      const node = await stage.nodeNamed(name);
      const isOff = taintKeys(node).includes(taints.shutdown);
      return {
        providerID: node?.spec.providerID,
        addresses: node?.status.addresses,
        labels: node?.metadata.labels,
        isOff,
      };
    };
    const isInitialised = async (name: string) => {
      const node = await stage.nodeNamed(name);
      return node?.spec.providerID !== undefined && !taintKeys(node).includes(taints.uninitialized);
    };

    it('both initialise their Nodes, and each gives a Service an address', async () => {
      for (const { node } of stage.machines) await stage.wait(`${node} is initialised`, () => isInitialised(node));
      for (const cloud of ['example', 'faulty']) {
        await createService(`${cloud}-web`, cloud);
        await stage.wait(`${cloud} has given an address`, () => addressOf(`${cloud}-web`));
      }
    });

    for (const fault of ['throw', 'garbage', 'hang'])
      it(`the other goes on, and nothing of the broken one changes: ${fault}`, async () => {
        const [example, faulty] = stage.clouds as [ExampleLife, ExampleLife];
        const before = await ofCloud('faulty-1');
        const [address, changes] = [await addressOf('faulty-web'), faulty.changes()];
        await faulty.breakWith(fault);
        await createService(`example-${fault}`, 'example');
        await stage.wait('the other cloud gives an address', () => addressOf(`example-${fault}`));
        await createService(`faulty-${fault}`, 'faulty');
        const audits = example.audits();
        await stage.wait('the other cloud is read again and again', async () => example.audits() > audits + 1);
        assert.equal(await addressOf(`faulty-${fault}`), undefined);
        assert.equal(await addressOf('faulty-web'), address);
        assert.equal(faulty.changes(), changes);
        assert.deepEqual(await ofCloud('faulty-1'), before);
        for (const { node } of faulty.machines) assert.ok(await isInitialised(node), node);
        assert.ok(stage.controller.running);
        await faulty.breakWith('');
      });

    it('serves what has waited, when it works again', async () => {
      for (const fault of ['throw', 'garbage', 'hang'])
        await stage.wait(`${fault} has an address`, () => addressOf(`faulty-${fault}`), 150_000);
    });
  });
});
