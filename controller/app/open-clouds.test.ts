import assert from 'node:assert/strict';
import { after, afterEach, before, describe, it } from 'node:test';
import { createLog } from '../../common/process/log.ts';
import { advanceDuring, type FakeClock, fakeClock } from '../../common/testing/fake-clock.ts';
import { answerText } from '../../test/clouds/openstack/fake/answers.ts';
import { password, startFakeOpenStack } from '../../test/clouds/openstack/fake/fake-openstack.ts';
import type { FakeOpenStack } from '../../test/clouds/openstack/fake/openstack-state.ts';
import { CloudConfigError, type CloudContext } from '../clouds/cloud.ts';
import { type CloudSet, createCloudSet } from './open-clouds.ts';

describe('the clouds of the command line', () => {
  let fake: FakeOpenStack;
  let clock: FakeClock;
  let lines: string[];
  const sets: CloudSet[] = [];
  /** As the command line names them. */
  let given = 'openstack';
  /** What the configuration file holds now. */
  let file: string;

  before(async () => {
    fake = await startFakeOpenStack();
  });
  after(() => fake.close());
  afterEach(() => {
    for (const set of sets.splice(0)) set.close();
    fake.fault = undefined;
    fake.calls.length = 0;
    given = 'openstack';
  });

  const conf = (secret: string, region = 'RegionOne') =>
    `[Global]\nauth-url=${fake.authUrl}\nusername=k8s\npassword=${secret}\ndomain-name=Default\n` +
    `tenant-name=k8s\nregion=${region}\n`;

  async function open(...texts: readonly string[]): Promise<CloudSet> {
    clock = fakeClock();
    lines = [];
    const log = createLog({ clock, level: 'info', format: 'json', write: (line) => lines.push(line) });
    const context: CloudContext = { clock, random: () => 0.5, log, env: {}, onCall: () => {} };
    file = texts[0] ?? '';
    const requests = texts.map((text) => ({
      name: 'openstack',
      given,
      config: { path: '/etc/cloud.conf', text },
      selector: undefined,
    }));
    const set = await createCloudSet(requests, context, { readFile: async () => file, onReload: () => {} });
    sets.push(set);
    return set;
  }
  const scopesOf = (set: CloudSet) => set.current().map(({ scope }) => scope);

  it('shows the account that the cloud reports, and the scopes that older versions recorded', async () => {
    const set = await open(conf(password));
    const [cloud] = set.current();
    assert.equal(cloud?.scope, `${new URL(fake.authUrl).host}/p1/RegionOne`);
    assert.deepEqual(cloud?.formerScopes, [`${new URL(fake.authUrl).host}/Default:k8s/RegionOne`]);
    assert.equal(cloud?.account, 'p1');
  });

  it('says that Rackspace is served as OpenStack', async () => {
    given = 'rackspace';
    await open(conf(password));
    const said = lines.filter((line) => line.includes('"msg":"rackspace is served as openstack, with its defaults"'));
    assert.equal(said.length, 1);
  });

  it('keeps a cloud report-only while its account is unknown, retries with back-off, and then serves', async () => {
    fake.fault = (_, response) => answerText(response, 503, 'later');
    const set = await open(conf(password));
    assert.deepEqual(scopesOf(set), ['report:openstack']);
    assert.match(set.current()[0]?.unidentified?.why ?? '', /503|Unavailable/);
    assert.ok(lines.some((line) => /report-only until it tells its account/.test(line)));
    const known = set.untilKnown(new AbortController().signal);
    await advanceDuring(clock, new Promise((resolve) => clock.setTimer(180_000, () => resolve(undefined))), 250);
    assert.ok(fake.calls.length > 2 && fake.calls.length < 20, `${fake.calls.length} calls`);
    fake.fault = undefined;
    await advanceDuring(clock, known, 250);
    assert.deepEqual(scopesOf(set), [`${new URL(fake.authUrl).host}/p1/RegionOne`]);
    assert.equal(set.current()[0]?.unidentified, undefined);
  });

  it('opens the clouds again with the current configuration file', async () => {
    const set = await open(conf('wrong'));
    assert.notEqual(set.current()[0]?.unidentified, undefined);
    file = conf(password);
    await advanceDuring(clock, set.untilKnown(new AbortController().signal), 250);
    assert.equal(set.current()[0]?.account, 'p1');
  });

  it('refuses two clouds that turn out to reach the same scope, at the start or later', async () => {
    await assert.rejects(open(conf(password), conf(password)), CloudConfigError);
    fake.fault = (_, response) => answerText(response, 503, 'later');
    const set = await open(conf(password), conf(password));
    fake.fault = undefined;
    const known = set.untilKnown(new AbortController().signal);
    await assert.rejects(advanceDuring(clock, known, 250), CloudConfigError);
  });

  it('ends the wait for unknown clouds when the signal aborts', async () => {
    const set = await open(conf(password));
    const stopping = new AbortController();
    const known = set.untilKnown(stopping.signal);
    stopping.abort();
    await known;
    assert.deepEqual(scopesOf(set).length, 1);
  });
});
