import assert from 'node:assert/strict';
import type { ServerResponse } from 'node:http';
import { after, afterEach, before } from 'node:test';
import { systemClock } from '../../../../common/process/clock.ts';
import { silentLog } from '../../../../common/process/log.ts';
import { cloudModule } from '../../../../controller/clouds/aws/index.ts';
import type { CloudCall, CloudContext, InstanceRef, Lookup, OpenedCloud } from '../../../../controller/clouds/cloud.ts';
import { type FakeEc2, running, startFakeEc2 } from './fake-ec2.ts';

export const id = (n: number) => `i-${n.toString(16).padStart(17, '0')}`;
export const providerID = (n: number) => `aws:///eu-west-1a/${id(n)}`;
export const ref = (n: number): InstanceRef => ({ by: 'providerID', providerID: providerID(n) });
export const emptyAnswer = '<DescribeInstancesResponse><reservationSet/></DescribeInstancesResponse>';
export const named = (name: string): InstanceRef => ({ by: 'name', name });

export function cutConnection(_: unknown, response: ServerResponse): 'answered' {
  response.destroy();
  return 'answered';
}

export const states = (lookups: ReadonlyMap<string, Lookup>) => [...lookups.values()].map(summary);
export function summary(lookup: Lookup): string {
  if (lookup.state === 'unknown') return `unknown ${lookup.error.kind}`;
  return lookup.state === 'found' ? `found ${lookup.power} by ${lookup.request}` : lookup.state;
}

/** A fake EC2 for the tests of one `describe`, empty at the start of each. */
export function lookupHarness() {
  let ec2: FakeEc2;
  let calls: CloudCall[] = [];
  const opened: OpenedCloud[] = [];

  async function openCloud(more: Partial<CloudContext> = {}, text?: string): Promise<OpenedCloud> {
    const file = text === undefined ? undefined : { path: 'aws.conf', text };
    const cloud = await cloudModule.open(file, {
      clock: systemClock(),
      random: () => 0.5,
      log: silentLog,
      env: {
        AWS_ACCESS_KEY_ID: 'AKIDEXAMPLE',
        AWS_SECRET_ACCESS_KEY: 'wJalrXUtnFEMI',
        AWS_REGION: 'eu-west-1',
        AWS_ENDPOINT_URL_EC2: ec2.url,
        AWS_EC2_METADATA_DISABLED: 'true',
      },
      onCall: (call) => calls.push(call),
      ...more,
    });
    assert.ok('identify' in cloud);
    opened.push(cloud);
    return cloud;
  }

  before(async () => {
    ec2 = await startFakeEc2();
  });
  after(() => ec2.close());
  afterEach(() => {
    for (const cloud of opened.splice(0)) cloud.close();
    ec2.instances.clear();
    ec2.volumes.clear();
    ec2.calls.length = 0;
    ec2.fault = undefined;
    ec2.pageSize = 1000;
    calls = [];
  });
  const add = (...numbers: number[]) => {
    for (const n of numbers) ec2.instances.set(id(n), running(id(n)));
  };
  const describes = () => ec2.calls.filter(({ action }) => action === 'DescribeInstances');

  return {
    get ec2() {
      return ec2;
    },
    /** As the cloud has reported them. */
    get calls() {
      return calls;
    },
    openCloud,
    add,
    describes,
  };
}
