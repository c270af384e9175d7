import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { annotations, conditions, taints } from '../../common/well-known.ts';
import { type LifeStage, openLifeStage } from '../clouds/life/life-stage.ts';
import { assertRoutes, auditsMs } from '../clouds/life/life-steps.ts';
import {
  createStep,
  hasAllMembers,
  portsOf,
  removeServices,
  services,
  servicesOf,
} from '../clouds/life/service-steps.ts';
import { mergePatch } from '../kit/world/kube-rest.ts';
import { conditionOf, taintKeys } from '../kit/world/scenario.ts';
import { type ClassicLife, type ClassicTry, classicTries } from './classic-clouds.ts';
import { type ClassicProcess, prepareClassic } from './classic-process.ts';
import { classicVariable } from './classic-programs.ts';
import { thisRelease } from './releases.ts';
import { furtherStep } from './swap-steps.ts';
import { withoutHarm } from './watch-cluster.ts';

/** Most of the time is spent waiting. */
describe('from a classic controller to Mooring and back', { concurrency: 4 }, () => {
  for (const [name, one] of Object.entries(classicTries)) tryClassic(name, one);
});

function tryClassic(name: string, { programs, open }: ClassicTry): void {
  const [program, ...others] = programs.map((one) => process.env[classicVariable(one)]);
  const skip = [program, ...others].includes(undefined);
  describe(`of ${name}`, { skip, concurrency: 1 }, () => {
    let stage: LifeStage<ClassicLife>;
    let classic: ClassicProcess;
    before(async () => {
      stage = await openLifeStage([open], { members: 2, idle: true, program: [thisRelease().controller] });
      const { controller, clouds } = stage;
      await clouds[0]!.prepare?.(controller.rest);
      classic = await prepareClassic(controller.api, clouds[0]!, { ...clouds[0]!.classic, program: program! });
    });
    after(async () => {
      await classic?.close();
      await stage?.close();
    });

    const wait = async (what: string, probe: () => Promise<boolean>, timeoutMs = 90_000) => {
      const end = Date.now() + timeoutMs;
      while (!(await probe())) {
        assert.ok(Date.now() < end, `not within ${timeoutMs / 1000} s: ${what}\n${await classic.log()}`);
        await sleep(200);
      }
    };
    const nodesAreReady = async () => {
      for (const { node } of stage.machines) {
        const seen = await stage.nodeNamed(node);
        if (taintKeys(seen).includes(taints.uninitialized)) return false;
        if (conditionOf(seen, 'NetworkUnavailable')?.status !== 'False') return false;
      }
      return true;
    };
    const reasons = () =>
      Promise.all(
        servicesOf(stage).map(async ({ name: service }) => {
          const { body } = await stage.controller.rest.call('GET', `${services}/${service}`);
          return conditionOf(body, conditions.loadBalancer)?.reason;
        }),
      );

    /** The classic one runs, has read everything and ensured each Service, and goes on for a while. */
    async function classicAtRest(): Promise<void> {
      const read = stage.clouds[0]!.audits();
      classic.start();
      for (const { name: service } of servicesOf(stage))
        await wait(`it has ensured ${service}`, () => classic.hasEnsured(service));
      await wait('it has read everything', async () => stage.clouds[0]!.audits() > read);
      await sleep(auditsMs);
    }
    /** Likewise Mooring. */
    async function mooringAtRest(flags: readonly string[], reason: string): Promise<void> {
      const { controller, clouds } = stage;
      controller.use([thisRelease().controller], flags);
      const read = clouds[0]!.audits();
      controller.start();
      await stage.wait('it has read everything', async () => clouds[0]!.audits() > read);
      await stage.wait(`each Service says ${reason}`, async () => (await reasons()).every((one) => one === reason));
      await sleep(auditsMs);
    }
    const withoutCalls = (work: () => Promise<void>, but = 0) =>
      withoutHarm(stage.controller.api, async () => {
        const sent = stage.changes();
        await work();
        assert.equal(stage.changes(), sent + but);
        await assertRoutes(stage);
      });
    /** Changes that the classic controller sends at each start, with nothing changed and no other one between. */
    let itsOwn = 0;

    it('begins with Nodes, routes and Services of the classic controller', async () => {
      // What kube-controller-manager gives them.
      for (const [at, { node }] of stage.clouds[0]!.machines.entries()) {
        if (at > 1) break;
        const podCIDR = `10.244.${at}.0/24`;
        const spec = { podCIDR, podCIDRs: [podCIDR] };
        await stage.controller.rest.must('PATCH', `/api/v1/nodes/${node}`, { spec }, { type: mergePatch });
      }
      classic.start();
      await wait('its Nodes are ready', nodesAreReady);
      await createStep.run({ ...stage, wait: wait as LifeStage['wait'] });
      await assertRoutes(stage);
      await classic.stop();
      const sent = stage.changes();
      await classicAtRest();
      await classic.stop();
      itsOwn = stage.changes() - sent;
    });

    it('leaves the load balancers as they are without --adopt', () =>
      withoutCalls(async () => {
        await mooringAtRest([], 'AdoptionRequired');
        await stage.controller.stopProcess();
      }));

    it('takes them over with --adopt without a change', () =>
      withoutCalls(async () => {
        await mooringAtRest(['--adopt'], 'Ensured');
        await stage.controller.stopProcess();
        for (const { name: service } of servicesOf(stage)) {
          const { body } = await stage.controller.rest.call('GET', `${services}/${service}`);
          assert.match(body.metadata.annotations[annotations.loadBalancer], / adopted:/);
        }
      }));

    it('goes back to the classic controller, which changes nothing but what it sends at each start', () =>
      withoutCalls(async () => {
        await classicAtRest();
        await classic.stop();
        assert.ok(await nodesAreReady());
      }, itsOwn));

    it('deletes a Service of the classic controller with its load balancer and every finalizer', async () => {
      const [first, ...more] = servicesOf(stage);
      // This version for Compute Engine has a finalizer of its own for private addresses alone.
      const { cloud, annotations: asked } = more.find(({ name }) => name.endsWith('-inside')) ?? first!;
      const name = `${cloud.served.cloud}-further`;
      const { rest } = stage.controller;
      classic.start();
      await rest.must('POST', services, {
        apiVersion: 'v1',
        kind: 'Service',
        metadata: { name, annotations: asked },
        spec: { type: 'LoadBalancer', selector: { app: 'web' }, ports: [{ name: 'http', port: 81 }] },
      });
      await wait(`it has ensured ${name}`, () => classic.hasEnsured(name));
      const before = (await cloud.balancers!()).length;
      await classic.stop();
      await mooringAtRest(['--adopt'], 'Ensured');
      await rest.must('DELETE', `${services}/${name}`);
      const isGone = async () => (await rest.call('GET', `${services}/${name}`)).status === 404;
      await stage.wait(`${name} is gone`, isGone);
      assert.equal((await cloud.balancers!()).length, before - 1);
      await stage.controller.stopProcess();
    });

    it('serves a further Node and a further port by Mooring, and keeps the addresses', () =>
      withoutHarm(stage.controller.api, async () => {
        await mooringAtRest(['--adopt'], 'Ensured');
        await furtherStep.run(stage);
        await stage.controller.stopProcess();
      }));

    it('goes back after these changes, too: every address, Node, member and port stays', () =>
      withoutHarm(stage.controller.api, async () => {
        await classicAtRest();
        assert.ok(await nodesAreReady());
        await assertRoutes(stage);
        for (const service of servicesOf(stage)) {
          assert.ok(await hasAllMembers(stage, service), service.name);
          assert.equal(await portsOf(stage, service), '80,443');
        }
      }));

    it('lets the classic controller delete its load balancers with their Services', () =>
      removeServices({ ...stage, wait: wait as LifeStage['wait'] }));
  });
}
