import { describe } from 'node:test';
import { openAlibabaLife } from '../clouds/alibaba/life-cloud.ts';
import { openAwsLife } from '../clouds/aws/life-cloud.ts';
import { openAzureLife } from '../clouds/azure/life-cloud.ts';
import { openCloudStackLife } from '../clouds/cloudstack/life-cloud.ts';
import { openDigitalOceanLife } from '../clouds/digitalocean/life-cloud.ts';
import { openGceLife } from '../clouds/gce/life-cloud.ts';
import { openHetznerLife } from '../clouds/hetzner/life-cloud.ts';
import { openHuaweiLife } from '../clouds/huawei/life-cloud.ts';
import type { OpenLifeCloud } from '../clouds/life/life-cloud.ts';
import { openOpenStackLife } from '../clouds/openstack/life-cloud.ts';
import { upgradeSuite } from './upgrade-suite.ts';

const { UPGRADE_CLOUDS, UPGRADE_CONCURRENCY } = process.env;

const clouds: Readonly<Record<string, OpenLifeCloud>> = {
  'Alibaba Cloud': openAlibabaLife,
  AWS: openAwsLife,
  Azure: openAzureLife,
  // The previous release deletes tags in a way that a management server refuses, so it has no load balancer there.
  CloudStack: () => openCloudStackLife({ emptyTagValueIsAny: true }),
  'Compute Engine': openGceLife,
  DigitalOcean: openDigitalOceanLife,
  'Hetzner Cloud': openHetznerLife,
  // The previous release deletes listeners that have a pool, which Huawei Cloud refuses.
  'Huawei Cloud': () => openHuaweiLife({ deletesUsedListeners: true }),
  OpenStack: openOpenStackLife,
};

/** How many clouds are tried at a time: most of the time is spent waiting. */
const concurrency = Number(UPGRADE_CONCURRENCY ?? 5);
/** Names of clouds, in a list of commas. Default: all. */
const asked = UPGRADE_CLOUDS?.split(',');

/** One beside the other. */
describe('on fakes', { concurrency }, () => {
  for (const [name, open] of Object.entries(clouds).filter(([name]) => asked?.includes(name) ?? true))
    upgradeSuite(`a fake of ${name}`, open);
});
