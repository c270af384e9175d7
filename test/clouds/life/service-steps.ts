import assert from 'node:assert/strict';
import type { LifeBalancer } from './life-cloud.ts';
import type { LifeStage } from './life-stage.ts';
import { type LifeStep, planStep, restartStep } from './life-steps.ts';

const services = '/api/v1/namespaces/default/services';
const path = `${services}/web`;

/** The only one of the first cloud. */
function balancerOf({ clouds }: LifeStage): LifeBalancer | undefined {
  return clouds[0]!.balancers!()[0];
}

const portsOf = (stage: LifeStage) => [...(balancerOf(stage)?.ports ?? [])].sort((a, b) => a - b);

/** The life of one Service, on a cluster that is at rest before and after it. */
export const serviceSteps: readonly LifeStep[] = [
  {
    title: 'gives a Service a load balancer with all Nodes as members, and shows its addresses',
    async run(stage) {
      const { controller, wait } = stage;
      const { machines, serviceAnnotations: annotations = {} } = stage.clouds[0]!;
      await controller.rest.must('POST', services, {
        ...{ apiVersion: 'v1', kind: 'Service', metadata: { name: 'web', annotations } },
        spec: { type: 'LoadBalancer', selector: { app: 'web' }, ports: [{ name: 'http', port: 80 }] },
      });
      const ingress = await wait('the Service shows an address', async () => {
        const { body } = await controller.rest.call('GET', path);
        const shown = body?.status?.loadBalancer?.ingress as readonly { readonly ip?: string }[] | undefined;
        return shown !== undefined && shown.length > 0 && shown;
      });
      await wait('all Nodes are members', async () => balancerOf(stage)?.members.length === machines.length);
      const { members, ports, addresses } = balancerOf(stage)!;
      assert.deepEqual([...members].sort(), machines.map(({ node }) => node).sort());
      assert.deepEqual(ports, [80]);
      assert.deepEqual(
        ingress.map(({ ip }) => ip),
        addresses,
      );
    },
  },
  { ...restartStep, title: 'changes nothing of the load balancer after a restart' },
  { ...planStep, title: 'has an empty plan with the load balancer' },
  {
    title: 'puts a port back that a person removed, and adds one that the Service gets',
    async run(stage) {
      const { controller, wait } = stage;
      balancerOf(stage)!.removePorts();
      assert.deepEqual(portsOf(stage), []);
      await wait('the port is back', async () => portsOf(stage).join() === '80');
      const { body: found } = await controller.rest.call('GET', path);
      const ports = [...found.spec.ports, { name: 'https', port: 443 }];
      await controller.rest.must('PUT', path, { ...found, spec: { ...found.spec, ports } });
      await wait('there are two ports', async () => portsOf(stage).join() === '80,443');
    },
  },
  {
    title: 'deletes the load balancer with its Service',
    async run({ controller, wait, clouds }) {
      await controller.rest.must('DELETE', path);
      await wait('the Service is gone', async () => (await controller.rest.call('GET', path)).status === 404);
      assert.deepEqual(clouds[0]!.balancers!(), []);
    },
  },
];
