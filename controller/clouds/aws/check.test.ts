import assert from 'node:assert/strict';
import { before, describe, it } from 'node:test';
import { answerError, answerXml, type FakeEc2, fakeCaller } from '../../../test/clouds/aws/fake/fake-ec2.ts';
import { keys, openHarness } from '../../../test/clouds/aws/fake/open-harness.ts';
import { iamActions } from './iam-actions.ts';

describe('check of AWS', () => {
  const harness = openHarness();
  const { openCloud } = harness;
  let ec2: FakeEc2;
  before(() => {
    ec2 = harness.ec2;
  });

  const env = () => ({ ...keys, AWS_ENDPOINT_URL: ec2.url, AWS_EC2_METADATA_DISABLED: 'true' });
  const text = '[Global]\nRegion=eu-west-1\nKubernetesClusterID=one\n';

  it('proves each permission that can be proved, and changes nothing', async () => {
    ec2.tables.set('rtb-1', { id: 'rtb-1', tags: { 'kubernetes.io/cluster/one': 'shared' }, routes: new Map() });
    const results = await (await openCloud(env(), text)).check();
    assert.deepEqual(
      results.filter(({ ok }) => ok === false),
      [],
    );
    const proved = new Set(results.map(({ name }) => name));
    for (const { action } of iamActions) {
      const provable = action.startsWith('ec2:') || action.startsWith('elasticloadbalancing:Describe');
      assert.equal(proved.has(action), provable, action);
    }
    const unproved = results.at(-1)!;
    assert.equal(unproved.ok, null);
    assert.match(unproved.message, /^not proved.*CreateLoadBalancer.*RegisterTargets/);
    for (const { action, form } of ec2.calls) {
      assert.ok(form.get('DryRun') === 'true' || /^(Describe|GetCallerIdentity)/.test(action), action);
    }
    const asked = ec2.calls.find(({ action }) => action === 'DescribeTargetHealth')?.form.get('TargetGroupArn');
    assert.match(asked ?? '', /^arn:aws-us-gov:elasticloadbalancing:eu-west-1:123456789012:targetgroup/);
  });

  it('says what to grant, and what it is for', async () => {
    ec2.tables.set('rtb-1', { id: 'rtb-1', tags: { 'kubernetes.io/cluster/one': 'shared' }, routes: new Map() });
    const cloud = await openCloud(env(), text);
    ec2.fault = ({ action, form }, response) => {
      if (action === 'CreateRoute') return answerError(response, 403, 'UnauthorizedOperation', 'no');
      if (action !== 'DescribeListeners') return undefined;
      assert.equal(form.get('Version'), '2015-12-01');
      const error = '<Error><Type>Sender</Type><Code>AccessDenied</Code><Message>no</Message></Error>';
      return answerXml(response, 403, `<ErrorResponse>${error}</ErrorResponse>`);
    };
    const denied = (await cloud.check()).filter(({ ok }) => ok === false);
    assert.deepEqual(denied, [
      {
        name: 'ec2:CreateRoute',
        neededFor: ['routes'],
        ok: false,
        message: "denied (for routes); no pod routes are made. Grant ec2:CreateRoute to the controller's role",
      },
      {
        name: 'elasticloadbalancing:DescribeListeners',
        neededFor: ['load balancers'],
        ok: false,
        message:
          'denied (for load balancers); load balancers are not seen. Grant elasticloadbalancing:DescribeListeners ' +
          "to the controller's role",
      },
    ]);
  });

  it("says that a permission is not proved where no resource with the cluster's tag exists", async () => {
    ec2.tables.clear();
    const cloud = await openCloud(env(), text);
    ec2.fault = ({ action }, response) =>
      /^(CreateRoute|DeleteSecurityGroup)$/.test(action)
        ? answerError(response, 403, 'UnauthorizedOperation', 'no')
        : undefined;
    const results = await cloud.check();
    for (const name of ['ec2:CreateRoute', 'ec2:DeleteSecurityGroup']) {
      const result = results.find((one) => one.name === name);
      assert.equal(result?.ok, null, name);
      assert.match(result.message, /^not proved: denied about something that does not exist/);
    }
  });

  it('fails where pod routes have no route table, or several', async () => {
    const table = async () => {
      const results = await (await openCloud(env(), text)).check();
      return results.find(({ name }) => name === 'route table');
    };
    const tables = (...ids: readonly string[]) => {
      ec2.tables.clear();
      const tags = { 'kubernetes.io/cluster/one': 'shared' };
      for (const id of ids) ec2.tables.set(id, { id, tags, routes: new Map() });
    };
    tables('rtb-1');
    assert.deepEqual(await table(), { name: 'route table', neededFor: ['routes'], ok: true, message: 'rtb-1' });
    tables();
    const none = await table();
    assert.deepEqual([none?.ok, none?.neededFor], [false, ['routes']]);
    assert.match(none?.message ?? '', /tagged for cluster one: none; expected exactly one; RouteTableID in \[Global\]/);
    tables('rtb-1', 'rtb-2');
    assert.match((await table())?.message ?? '', /tagged for cluster one: rtb-1, rtb-2; expected exactly one/);
  });

  it('counts an action as allowed that is refused for its parameters', async () => {
    const cloud = await openCloud(env(), text);
    ec2.fault = ({ action }, response) =>
      action === 'DeleteRoute' ? answerError(response, 400, 'InvalidParameterValue', 'no such') : undefined;
    const result = (await cloud.check()).find(({ name }) => name === 'ec2:DeleteRoute');
    assert.deepEqual(result, {
      name: 'ec2:DeleteRoute',
      neededFor: ['routes'],
      ok: true,
      message: 'not denied (InvalidParameterValue)',
    });
  });

  it('names the owner of the credential, and a missing cluster id', async () => {
    const results = await (await openCloud(env(), '[Global]\nRegion=eu-west-1\n')).check();
    const message = (name: string) => results.find((result) => result.name === name)?.message ?? '';
    assert.equal(message('credentials'), `${fakeCaller}, from the environment`);
    assert.match(message('cluster id'), /no cluster id: this is no EC2 instance; expected KubernetesClusterID/);
  });
});
