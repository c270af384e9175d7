import { seededRandom } from '../../common/process/random.ts';
import { advanceDuring, fakeClock } from '../../common/testing/fake-clock.ts';
import type { CloudCall } from '../../controller/clouds/cloud.ts';
import { simulatedWorld } from '../../test/clouds/simulated/suite-world.ts';
import { createSimulatedCloud } from '../../test/kit/cloud/cloud.ts';
import { inProcessHttp } from '../../test/kit/cloud/in-process.ts';
import type { CountedWorld } from './count-operations.ts';
import {
  awsClassicUpstream,
  awsNetworkUpstream,
  hetznerUpstream,
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
  { name: 'openstack, on a fake one', open: openOpenStack, upstream: openstackUpstream },
  { name: 'aws on moto, network load balancers', open: () => openAws('nlb'), upstream: awsNetworkUpstream },
  { name: 'aws on moto, classic load balancers', open: () => openAws('classic'), upstream: awsClassicUpstream },
];

async function openSimulated(): Promise<CountedWorld> {
  const clock = fakeClock();
  const cloud = createSimulatedCloud({ clock, random: seededRandom(4) });
  const calls: CloudCall[] = [];
  const world = simulatedWorld({
    ...{ cloud, clock, http: inProcessHttp(cloud.api, clock), url: 'http://cloud', settleMs: 5000 },
    onCall: (call) => calls.push(call),
    during: (work) => advanceDuring(clock, work),
    pass: (ms) => clock.advance(ms),
    close: async () => cloud.close(),
  });
  return { world, calls };
}

async function openHetzner(): Promise<CountedWorld> {
  const { fakeHetznerCalls } = await import('./hetzner-world.ts');
  return fakeHetznerCalls();
}

async function openOpenStack(): Promise<CountedWorld> {
  const { fakeCalls } = await import('./openstack-world.ts');
  return fakeCalls();
}

async function openAws(kind: 'nlb' | 'classic') {
  const { motoCalls } = await import('./aws-world.ts');
  return motoCalls(kind);
}
