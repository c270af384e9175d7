import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { cloudModules } from '../../controller/clouds/registry.ts';
import { alibabaWorld } from './alibaba/alibaba-world.ts';
import { startAwsWorld } from './aws/aws-world.ts';
import { startFakeEc2 } from './aws/fake/fake-ec2.ts';
import { loadBalancerRules } from './aws/load-balancer-rules.ts';
import { azureWorld } from './azure/azure-world.ts';
import { cloudStackWorld } from './cloudstack/cloudstack-world.ts';
import { digitalOceanWorld } from './digitalocean/digitalocean-world.ts';
import { fakeGceWorld } from './gce/gce-world.ts';
import { hetznerWorld } from './hetzner/hetzner-world.ts';
import { huaweiWorld } from './huawei/huawei-world.ts';
import { fakeOpenStackWorld } from './openstack/fake-world.ts';
import { fakeOctaviaWorld, octaviaConfig } from './openstack/octavia-world.ts';
import type { CloudWorld } from './suite/world.ts';

const worlds: Readonly<Record<string, () => CloudWorld | Promise<CloudWorld>>> = {
  alibaba: () => alibabaWorld(),
  aws: awsWorld,
  azure: () => azureWorld(),
  cloudstack: () => cloudStackWorld(),
  digitalocean: () => digitalOceanWorld(),
  gce: () => fakeGceWorld('internal load balancers'),
  hetzner: () => hetznerWorld(),
  huaweicloud: () => huaweiWorld(),
  openstack: () => fakeOpenStackWorld({ config: octaviaConfig, octavia: (fake) => fakeOctaviaWorld(fake) }),
};

async function awsWorld(): Promise<CloudWorld> {
  const { url, close } = await startFakeEc2();
  const world = await startAwsWorld({ server: url, kind: 'nlb', rules: loadBalancerRules() });
  return { ...world, close: async () => void (await Promise.all([world.close(), close()])) };
}

describe('what explain and ui know of the members of Services without a configuration', () => {
  for (const [name, open] of Object.entries(worlds))
    it(`chooses members without a configuration as the driver of ${name} does`, async () => {
      const world = await open();
      try {
        const driver = (await world.open()).loadBalancerDriver!;
        const { memberChoice = {} } = await cloudModules.get(name)!();
        const choices = ({ nodeLabels, takesPods, maxMembers }: Partial<typeof driver>) => ({
          nodeLabels: nodeLabels !== undefined,
          takesPods: takesPods !== undefined,
          maxMembers,
        });
        assert.deepEqual(choices(memberChoice), choices(driver));
      } finally {
        await world.close();
      }
    });
});
