import { seededRandom } from '../../common/process/random.ts';
import { advanceDuring, fakeClock } from '../../common/testing/fake-clock.ts';
import type { CloudCall } from '../../controller/clouds/cloud.ts';
import type { Mode } from '../../test/clouds/gce/balancing-behind.ts';
import { simulatedWorld } from '../../test/clouds/simulated/suite-world.ts';
import type { CountedWorld } from '../../test/clouds/suite/count-operations.ts';
import type { CloudWorld } from '../../test/clouds/suite/world.ts';
import { createSimulatedCloud } from '../../test/kit/cloud/cloud.ts';
import { inProcessHttp } from '../../test/kit/cloud/in-process.ts';
import {
  alibabaUpstream,
  awsClassicUpstream,
  awsNetworkUpstream,
  azureUpstream,
  cloudStackUpstream,
  gceInternalUpstream,
  gcePoolUpstream,
  hetznerUpstream,
  huaweiUpstream,
  openstackUpstream,
  type UpstreamCounts,
} from './upstream-counts.ts';

export interface Candidate {
  readonly name: string;
  /** `skipped` says why there is none on this machine. */
  open(): Promise<CountedWorld | { readonly skipped: string }>;
  readonly upstream: UpstreamCounts;
}

export const candidates: readonly Candidate[] = [
  { name: 'simulated', open: openSimulated, upstream: () => ({}) },
  { name: 'hetzner, on a fake one', open: openHetzner, upstream: hetznerUpstream },
  { name: 'digitalocean, on a fake one', open: openDigitalOcean, upstream: () => ({}) },
  { name: 'alibaba, on a fake one', open: openAlibaba, upstream: alibabaUpstream },
  { name: 'cloudstack, on a fake one', open: openCloudStack, upstream: cloudStackUpstream },
  { name: 'huaweicloud, on a fake one', open: openHuawei, upstream: huaweiUpstream },
  { name: 'gce on a fake one, target pools', open: () => openGce('target pools'), upstream: gcePoolUpstream },
  {
    name: 'gce on a fake one, internal',
    open: () => openGce('internal load balancers'),
    upstream: gceInternalUpstream,
  },
  { name: 'azure, on a fake one', open: openAzure, upstream: azureUpstream },
  { name: 'openstack, on a fake one', open: openOpenStack, upstream: openstackUpstream },
  { name: 'aws on moto, network load balancers', open: () => openAws('nlb'), upstream: awsNetworkUpstream },
  { name: 'aws on moto, classic load balancers', open: () => openAws('classic'), upstream: awsClassicUpstream },
];

async function openSimulated(): Promise<CountedWorld> {
  const clock = fakeClock();
  const cloud = createSimulatedCloud({ clock, random: seededRandom(4) });
  const calls: CloudCall[] = [];
  const world = simulatedWorld({
    cloud,
    clock,
    http: inProcessHttp(cloud.api, clock),
    url: 'http://cloud',
    settleMs: 5000,
    onCall: (call) => calls.push(call),
    during: (work) => advanceDuring(clock, work),
    pass: (ms) => clock.advance(ms),
    close: async () => cloud.close(),
  });
  return { world, calls };
}

/** In process, on a fake clock. */
function counted(worldOf: (options: { onCall(call: CloudCall): void }) => CloudWorld): CountedWorld {
  const calls: CloudCall[] = [];
  return { world: worldOf({ onCall: (call) => void calls.push(call) }), calls };
}

async function openHetzner(): Promise<CountedWorld> {
  const { hetznerWorld } = await import('../../test/clouds/hetzner/hetzner-world.ts');
  return counted(hetznerWorld);
}

async function openDigitalOcean(): Promise<CountedWorld> {
  const { digitalOceanWorld } = await import('../../test/clouds/digitalocean/digitalocean-world.ts');
  return counted(digitalOceanWorld);
}

async function openAlibaba(): Promise<CountedWorld> {
  const { alibabaWorld } = await import('../../test/clouds/alibaba/alibaba-world.ts');
  return counted(alibabaWorld);
}

async function openCloudStack(): Promise<CountedWorld> {
  const { cloudStackWorld } = await import('../../test/clouds/cloudstack/cloudstack-world.ts');
  return counted(cloudStackWorld);
}

async function openHuawei(): Promise<CountedWorld> {
  const { huaweiWorld } = await import('../../test/clouds/huawei/huawei-world.ts');
  return counted(huaweiWorld);
}

async function openGce(mode: Mode): Promise<CountedWorld> {
  const { fakeGceCalls } = await import('./gce-world.ts');
  return fakeGceCalls(mode);
}

async function openAzure(): Promise<CountedWorld> {
  const { fakeAzureCalls } = await import('./azure-world.ts');
  return fakeAzureCalls();
}

async function openOpenStack(): Promise<CountedWorld> {
  const { fakeCalls } = await import('./openstack-world.ts');
  return fakeCalls();
}

async function openAws(kind: 'nlb' | 'classic') {
  const { motoCalls } = await import('./aws-world.ts');
  return motoCalls(kind);
}
