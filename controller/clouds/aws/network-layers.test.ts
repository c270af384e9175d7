import assert from 'node:assert/strict';
import { after, afterEach, before, describe, it } from 'node:test';
import { silentLog } from '../../../common/process/log.ts';
import { fakeClock } from '../../../common/testing/fake-clock.ts';
import { answerError, type FakeEc2, running, startFakeEc2 } from '../../../test/clouds/aws/fake/fake-ec2.ts';
import type { OpenedCloud } from '../cloud.ts';
import { cloudModule } from './index.ts';

const id = (n: number) => `i-${n.toString(16).padStart(17, '0')}`;
const layer = (n: number) => `topology.k8s.aws/network-node-layer-${n}`;

describe('network layers of instances, at a fake EC2', () => {
  let ec2: FakeEc2;
  const clock = fakeClock();
  const opened: OpenedCloud[] = [];
  before(async () => {
    ec2 = await startFakeEc2();
  });
  after(() => ec2.close());
  afterEach(() => {
    for (const cloud of opened.splice(0)) cloud.close();
    ec2.instances.clear();
    ec2.topologies.clear();
    ec2.calls.length = 0;
    ec2.fault = undefined;
  });

  async function open(config = ''): Promise<(n: number) => Promise<Readonly<Record<string, string>> | undefined>> {
    const env = { AWS_ACCESS_KEY_ID: 'AKIDEXAMPLE', AWS_SECRET_ACCESS_KEY: 'secret', AWS_ENDPOINT_URL_EC2: ec2.url };
    const cloud = await cloudModule.open(
      { path: 'aws.conf', text: `[Global]\nRegion = eu-west-1\n${config}` },
      { clock, random: () => 0.5, log: silentLog, env, onCall: () => {} },
    );
    assert.ok('identify' in cloud);
    opened.push(cloud);
    return async (n) => {
      const providerID = `aws:///eu-west-1a/${id(n)}`;
      const lookup = (await cloud.instances.lookup([{ by: 'providerID', providerID }])).get(providerID);
      assert.ok(lookup?.state === 'found', lookup?.state);
      return lookup.instance.labels;
    };
  }
  const asked = () => ec2.calls.filter(({ action }) => action === 'DescribeInstanceTopology').length;

  it('become labels, the widest first, and are asked for once a day', async () => {
    ec2.instances.set(id(1), running(id(1), { type: 'p5.48xlarge' }));
    ec2.topologies.set(id(1), ['nn-1', 'nn-2', 'nn-3']);
    const labels = await open();
    const expected = {
      'topology.k8s.aws/zone-id': 'euw1-az1',
      [layer(1)]: 'nn-1',
      [layer(2)]: 'nn-2',
      [layer(3)]: 'nn-3',
    };
    assert.deepEqual(await labels(1), expected);
    assert.deepEqual(await labels(1), expected);
    assert.equal(asked(), 1);
    await clock.advance(24 * 60 * 60_000 + 1);
    await labels(1);
    assert.equal(asked(), 2);
  });

  it('asks for network layers only of instance types that the configured pattern matches', async () => {
    ec2.instances.set(id(1), running(id(1), { type: 'm5.large' }));
    ec2.topologies.set(id(1), ['nn-1']);
    assert.equal((await (await open())(1))?.[layer(1)], undefined);
    assert.equal(asked(), 0);
    const labels = await open('SupportedTopologyInstanceTypePattern = ^m5\n');
    assert.equal((await labels(1))?.[layer(1)], 'nn-1');
  });

  it('asks once for network layers that AWS does not tell of an instance', async () => {
    ec2.instances.set(id(1), running(id(1), { type: 'trn1.32xlarge' }));
    const labels = await open();
    await labels(1);
    assert.deepEqual(await labels(1), { 'topology.k8s.aws/zone-id': 'euw1-az1' });
    assert.equal(asked(), 1);
  });

  for (const [code, restMs] of [
    ['UnsupportedOperation', 24 * 60 * 60_000],
    ['UnauthorizedOperation', 24 * 60 * 60_000],
    ['InternalError', 5 * 60_000],
  ] as const) {
    it(`fail with ${code} without harm, and are read again in ${restMs / 60_000} minutes`, async () => {
      ec2.instances.set(id(1), running(id(1), { type: 'hpc7g.16xlarge' }));
      ec2.topologies.set(id(1), ['nn-1']);
      ec2.fault = ({ action }, response) =>
        action === 'DescribeInstanceTopology' ? answerError(response, 400, code, 'no') : undefined;
      const labels = await open();
      assert.equal((await labels(1))?.[layer(1)], undefined);
      ec2.fault = undefined;
      await clock.advance(restMs - 1);
      assert.equal((await labels(1))?.[layer(1)], undefined);
      await clock.advance(1);
      assert.equal((await labels(1))?.[layer(1)], 'nn-1');
      assert.equal(asked(), 2);
    });
  }
});
