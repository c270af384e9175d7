import { after, before, describe, it } from 'node:test';
import { openAlibabaLife } from '../clouds/alibaba/life-cloud.ts';
import { openAwsLife } from '../clouds/aws/life-cloud.ts';
import { openAzureLife } from '../clouds/azure/life-cloud.ts';
import { openCloudStackLife } from '../clouds/cloudstack/life-cloud.ts';
import { openDigitalOceanLife } from '../clouds/digitalocean/life-cloud.ts';
import { openGceLife } from '../clouds/gce/life-cloud.ts';
import { openHetznerLife } from '../clouds/hetzner/life-cloud.ts';
import { openHuaweiLife } from '../clouds/huawei/life-cloud.ts';
import type { OpenLifeCloud } from '../clouds/life/life-cloud.ts';
import { type LifeStage, openLifeStage } from '../clouds/life/life-stage.ts';
import { createStep } from '../clouds/life/service-steps.ts';
import { openOpenStackLife } from '../clouds/openstack/life-cloud.ts';
import { previousRelease, thisRelease } from './releases.ts';
import { furtherStep, lessStep, swapStep } from './swap-steps.ts';

const { UPGRADE_CLOUDS, UPGRADE_CONCURRENCY } = process.env;

const clouds: Readonly<Record<string, OpenLifeCloud>> = {
  'Alibaba Cloud': openAlibabaLife,
  AWS: openAwsLife,
  Azure: openAzureLife,
  CloudStack: openCloudStackLife,
  'Compute Engine': openGceLife,
  DigitalOcean: openDigitalOceanLife,
  'Hetzner Cloud': openHetznerLife,
  'Huawei Cloud': openHuaweiLife,
  OpenStack: openOpenStackLife,
};

/** At least two Services: the same annotations twice where the cloud has one kind. */
const withServices =
  (open: OpenLifeCloud): OpenLifeCloud =>
  async () => {
    const cloud = await open();
    const { services = { web: {} } } = cloud;
    const [first = {}] = Object.values(services);
    return { ...cloud, services: { again: first, ...services } };
  };

/** How many clouds are tried at a time: most of the time is spent waiting. */
const concurrency = Number(UPGRADE_CONCURRENCY ?? 5);
/** Names of clouds, in a list of commas. Default: all. */
const asked = UPGRADE_CLOUDS?.split(',');

describe('an upgrade and the way back', { concurrency }, () => {
  for (const [name, open] of Object.entries(clouds).filter(([name]) => asked?.includes(name) ?? true))
    describe(`on a fake of ${name}`, { concurrency: 1 }, () => {
      let stage: LifeStage | undefined;
      const [previous, current] = [previousRelease(), thisRelease()];
      before(async () => {
        stage = await openLifeStage([withServices(open)], { members: 2, program: [previous.controller] });
      });
      after(() => stage?.close());
      const steps = [
        { ...createStep, title: 'has Nodes and Services by the previous release' },
        swapStep(current),
        furtherStep,
        swapStep(previous),
        lessStep,
      ];
      for (const { title, run } of steps) it(title, () => run(stage!));
    });
});
