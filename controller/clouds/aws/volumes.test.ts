import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { answerError, answerXml } from '../../../test/clouds/aws/fake/fake-ec2.ts';
import { lookupHarness } from '../../../test/clouds/aws/fake/lookup-harness.ts';
import { type VolumeRef, volumeKey } from '../volumes.ts';

const ref = (handle: string, source = 'ebs.csi.aws.com'): VolumeRef => ({ source, handle, zones: [] });
const numbered = (n: number) => ref(`vol-${n.toString(16).padStart(17, '0')}`);

describe('EBS volumes', () => {
  const harness = lookupHarness();

  async function lookup(...refs: VolumeRef[]) {
    const { volumes } = await harness.openCloud();
    const answers = await volumes!.lookup(refs);
    return refs.map((one) => {
      const answer = answers.get(volumeKey(one))!;
      if (answer.state === 'found') return `${answer.place.zones} in ${answer.place.region}`;
      return answer.state === 'unknown'
        ? `unknown ${answer.error.kind}: ${answer.error.message.replace(/^.*?: /, '')}`
        : answer.state;
    });
  }

  it('finds volumes by a filter of 200 ids a call in any spelling, and takes the rest for absent', async () => {
    for (let n = 0; n < 300; n += 1) harness.ec2.volumes.set(numbered(n).handle, 'eu-west-1b');
    const [first] = [numbered(0)];
    const spelt = [ref(`aws://eu-west-1b/${first.handle}`, 'awsElasticBlockStore'), ref(`aws:///${first.handle}`)];
    const refs = [...spelt, ...Array.from({ length: 300 }, (_, n) => numbered(n)), numbered(999)];
    const answers = await lookup(...refs);
    assert.deepEqual(new Set(answers.slice(0, -1)), new Set(['eu-west-1b in eu-west-1']));
    assert.equal(answers.at(-1), 'absent');
    assert.equal(harness.ec2.calls.filter(({ action }) => action === 'DescribeVolumes').length, 2);
  });

  it('reads volumes on all pages', async () => {
    harness.ec2.pageSize = 2;
    const refs = [1, 2, 3, 4, 5].map(numbered);
    for (const { handle } of refs) harness.ec2.volumes.set(handle, 'eu-west-1a');
    assert.deepEqual(new Set(await lookup(...refs)), new Set(['eu-west-1a in eu-west-1']));
  });

  it('answers unknown where the call fails, and where the answer has no zone', async () => {
    harness.ec2.fault = (_, response) => answerError(response, 403, 'UnauthorizedOperation', 'denied');
    assert.match((await lookup(numbered(1)))[0]!, /^unknown Forbidden: /);
    const { handle } = numbered(1);
    const item = `<item><volumeId>${handle}</volumeId></item>`;
    const xml = `<DescribeVolumesResponse><volumeSet>${item}</volumeSet></DescribeVolumesResponse>`;
    harness.ec2.fault = (_, response) => answerXml(response, 200, xml);
    assert.deepEqual(await lookup(numbered(1)), [`unknown Invalid: AvailabilityZone of ${handle}: missing`]);
  });

  it('refuses volumes of another region, and ids of another form', async () => {
    const { volumes } = await harness.openCloud();
    for (const handle of ['vol-1', 'aws://eu-west-1a/vol-1', 'aws:///vol-1']) assert.ok(volumes!.accepts(ref(handle)));
    for (const handle of ['aws://us-east-1a/vol-1', 'vol-*', 'i-1', 'x/vol-1'])
      assert.ok(!volumes!.accepts(ref(handle)));
  });
});
