import assert from 'node:assert/strict';
import { after, afterEach, before } from 'node:test';
import { systemClock } from '../../../../common/process/clock.ts';
import { silentLog } from '../../../../common/process/log.ts';
import { cloudModule } from '../../../../controller/clouds/aws/index.ts';
import type { CloudContext, OpenedCloud, ReportOnlyCloud } from '../../../../controller/clouds/cloud.ts';
import { type FakeEc2, startFakeEc2 } from './fake-ec2.ts';

export const keys = { AWS_ACCESS_KEY_ID: 'AKIDEXAMPLE', AWS_SECRET_ACCESS_KEY: 'wJalrXUtnFEMI' };

/** The SDK's chain reads the process's own environment: none of the machine's own sources must be seen by a test. */
const hermetic = {
  AWS_EC2_METADATA_DISABLED: 'true',
  AWS_CONFIG_FILE: '/nonexistent',
  AWS_SHARED_CREDENTIALS_FILE: '/nonexistent',
  AWS_ACCESS_KEY_ID: undefined,
  AWS_PROFILE: undefined,
  AWS_REGION: undefined,
  AWS_DEFAULT_REGION: undefined,
  AWS_WEB_IDENTITY_TOKEN_FILE: undefined,
};

export interface OpenHarness {
  readonly ec2: FakeEc2;
  /** What was opened in this test; closed after it. */
  readonly opened: readonly OpenedCloud[];
  /** Of this process, until the end of the test. */
  setEnv(values: Readonly<Record<string, string | undefined>>): void;
  open(env: CloudContext['env'], text?: string, more?: Partial<CloudContext>): Promise<OpenedCloud | ReportOnlyCloud>;
  openCloud(env: CloudContext['env'], text?: string, more?: Partial<CloudContext>): Promise<OpenedCloud>;
  scopeOf(env: CloudContext['env'], text?: string): Promise<string>;
}

/** A fake EC2, and an environment without credentials of the machine, for the tests of one `describe`. */
export function openHarness(): OpenHarness {
  let ec2: FakeEc2;
  const opened: OpenedCloud[] = [];
  const saved = new Map<string, string | undefined>();

  function setEnv(values: Readonly<Record<string, string | undefined>>): void {
    for (const [name, value] of Object.entries(values)) {
      if (!saved.has(name)) saved.set(name, process.env[name]);
      if (value === undefined) delete process.env[name];
      else process.env[name] = value;
    }
  }

  async function open(env: CloudContext['env'], text?: string, more: Partial<CloudContext> = {}) {
    const context: CloudContext = {
      clock: systemClock(),
      random: () => 0.5,
      log: silentLog,
      env,
      onCall: () => {},
      ...more,
    };
    const cloud = await cloudModule.open(text === undefined ? undefined : { path: 'aws.conf', text }, context);
    if ('identify' in cloud) opened.push(cloud);
    return cloud;
  }

  async function openCloud(
    env: CloudContext['env'],
    text?: string,
    more?: Partial<CloudContext>,
  ): Promise<OpenedCloud> {
    const cloud = await open(env, text, more);
    assert.ok('identify' in cloud, JSON.stringify(cloud));
    return cloud;
  }

  async function scopeOf(env: CloudContext['env'], text?: string): Promise<string> {
    const cloud = await openCloud({ AWS_ENDPOINT_URL_STS: ec2.url, ...env }, text);
    return (await cloud.identify()).scope;
  }

  before(async () => {
    ec2 = await startFakeEc2();
    setEnv(hermetic);
  });
  after(() => {
    for (const [name, value] of saved) setEnv({ [name]: value });
    return ec2.close();
  });
  afterEach(() => {
    setEnv(hermetic);
    for (const cloud of opened.splice(0)) cloud.close();
    ec2.instances.clear();
    ec2.calls.length = 0;
    ec2.fault = undefined;
  });

  return {
    get ec2() {
      return ec2;
    },
    opened,
    setEnv,
    open,
    openCloud,
    scopeOf,
  };
}
