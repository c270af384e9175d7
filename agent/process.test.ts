import assert from 'node:assert/strict';
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { systemClock } from '../common/process/clock.ts';
import { createHttp } from '../common/process/http.ts';
import { testCa } from '../common/testing/certificates.ts';
import { names } from '../common/well-known.ts';
import { attemptTimeoutMs } from './deliver.ts';
import { acceptedAnswer, type ControllerReply, startFakeController } from './testing/fake-controller.ts';
import { type FakeAnswer, startFakeMetadata, treeAnswer } from './testing/fake-metadata.ts';
import { spawnAgent } from './testing/spawn-agent.ts';

const ca = await testCa();
const certificate = await ca.issue({ dnsNames: [names.serverName] });
const drive = fileURLToPath(new URL('metadata/fixtures/config-drive', import.meta.url));
const awsTree = JSON.parse(await readFile(new URL('metadata/fixtures/aws.json', import.meta.url), 'utf8'));
const serverId = '5c1d9d1e-1111-4222-8333-944444444444';

async function folderOf(context: TestContext): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'agent-'));
  context.after(() => rm(folder, { recursive: true, force: true }));
  return folder;
}

async function metadataOf(context: TestContext, answer: (path: string) => FakeAnswer): Promise<string> {
  const service = await startFakeMetadata(({ path }) => answer(path));
  context.after(() => service.close());
  return service.url;
}

/** `run` beside a controller, with a config drive for metadata. */
async function running(context: TestContext, reply?: () => ControllerReply | 'hang', extra: readonly string[] = []) {
  const folder = await folderOf(context);
  await writeFile(join(folder, 'ca.crt'), ca.caPem);
  await writeFile(join(folder, 'token'), 'token-1');
  const controller = await startFakeController(certificate, reply);
  context.after(() => controller.close());
  const agent = spawnAgent(
    [
      'run',
      '--cloud=openstack',
      `--config-drive=${drive}`,
      `--controller-url=${controller.url}`,
      `--ca-file=${join(folder, 'ca.crt')}`,
      `--token-file=${join(folder, 'token')}`,
      '--health-address=127.0.0.1:0',
      ...extra,
    ],
    { NODE_NAME: 'node-7' },
  );
  context.after(() => agent.child.kill('SIGKILL'));
  const [, health = ''] = await agent.says(/"address":"(http:[^"]+)"/);
  return { controller, agent, folder, health };
}

test('run reports, serves health and metrics, and sends a last report on SIGTERM', async (context) => {
  const { controller, agent, health } = await running(context);
  await agent.says(/report accepted/);
  const first = controller.reports[0]?.body;
  assert.equal(first?.instance?.id, serverId);
  assert.equal(first?.sequence, 1);
  assert.equal(first?.metadata.ok, true);
  assert.equal(first?.leaving, undefined);
  const { http, close } = createHttp({ clock: systemClock() });
  context.after(close);
  assert.equal((await http({ url: `${health}/readyz`, timeoutMs: 5000 })).status, 200);
  assert.equal((await http({ url: `${health}/livez`, timeoutMs: 5000 })).status, 200);
  const metrics = (await http({ url: `${health}/metrics`, timeoutMs: 5000 })).text;
  assert.match(metrics, /mooring_agent_reports_total\{outcome="accepted"\} 1/);
  assert.match(metrics, /mooring_agent_node_initialized 1/);
  assert.match(metrics, /mooring_agent_build_info\{version="\d+\.\d+\.\d+",cloud="openstack"\} 1/);
  agent.child.kill('SIGTERM');
  const { code, stderr, stdout } = await agent.exited;
  assert.equal(code, 0);
  assert.equal(controller.reports.at(-1)?.body.leaving, true);
  assert.equal(controller.reports.at(-1)?.body.agentId, first?.agentId);
  assert.equal(stdout, '');
  assert.match(stderr, /"node":"node-7"/);
  assert.doesNotMatch(stderr, /token-1/);
});

test('SIGTERM ends the agent before a silent controller has used up the time of a report', async (context) => {
  const { controller, agent } = await running(context, () => 'hang');
  await controller.received(1);
  const from = process.hrtime.bigint();
  agent.child.kill('SIGTERM');
  const { code, stderr } = await agent.exited;
  const tookMs = Number(process.hrtime.bigint() - from) / 1e6;
  assert.equal(code, 0, stderr);
  assert.ok(tookMs < attemptTimeoutMs, `took ${tookMs} ms`);
});

test('keeps the agent alive but not ready without a CA, and says what it waits for', async (context) => {
  const { agent, health, controller, folder } = await running(context, () => ({ status: 200, body: acceptedAnswer }), [
    '--ca-file=/nonexistent/ca.crt',
  ]);
  await agent.says(/waiting for a CA certificate in \/nonexistent\/ca\.crt/);
  const { http, close } = createHttp({ clock: systemClock() });
  context.after(close);
  const ready = await http({ url: `${health}/readyz`, timeoutMs: 5000 });
  assert.equal(ready.status, 500);
  assert.match(ready.text, /\[-\]report: no report was accepted yet: waiting for a CA/);
  assert.equal((await http({ url: `${health}/livez`, timeoutMs: 5000 })).status, 200);
  assert.equal(controller.reports.length, 0);
  assert.ok(folder);
  agent.child.kill('SIGTERM');
  assert.equal((await agent.exited).code, 0);
});

test('an address that is taken is told by the name of its flag', async (context) => {
  const { health } = await running(context, () => ({ status: 200, body: acceptedAnswer }));
  const taken = new URL(health).host;
  const args = ['run', '--cloud=openstack', `--config-drive=${drive}`, '--controller-url=https://127.0.0.1:1'];
  const { code, stderr } = await spawnAgent([...args, `--health-address=${taken}`]).exited;
  assert.equal(code, 1);
  assert.match(
    stderr,
    new RegExp(`mooring-agent run: --health-address: cannot listen on "${taken}": listen EADDRINUSE.*give another`),
  );
});

test('provider-id prints the providerID and nothing else', async () => {
  const { code, stdout, stderr } = await spawnAgent(['provider-id', '--cloud=openstack', `--config-drive=${drive}`])
    .exited;
  assert.deepEqual({ code, stdout, stderr }, { code: 0, stdout: `openstack:///${serverId}\n`, stderr: '' });
});

test('provider-id contains the region only by a flag or the variable of the classic controller', async () => {
  const args = ['provider-id', '--cloud=openstack', `--config-drive=${drive}`, '--region=RegionOne'];
  assert.equal((await spawnAgent(args).exited).stdout, `openstack:///${serverId}\n`);
  const expected = `openstack://RegionOne/${serverId}\n`;
  assert.equal((await spawnAgent([...args, '--regional-provider-id']).exited).stdout, expected);
  assert.equal((await spawnAgent(args, { OS_CCM_REGIONAL: 'true' }).exited).stdout, expected);
});

test('provider-id can print arguments for the kubelet', async () => {
  const args = ['provider-id', '--cloud=openstack', `--config-drive=${drive}`, '--output', 'kubelet-args'];
  assert.equal((await spawnAgent(args).exited).stdout, `--provider-id=openstack:///${serverId}\n`);
  const { stdout } = await spawnAgent([...args, '--with', 'hostname-override,node-ip']).exited;
  assert.equal(
    stdout,
    `--provider-id=openstack:///${serverId}\n--hostname-override=node-7\n` +
      '--node-ip=10.30.0.7,2001:db8:1:0:f816:3eff:fe00:1\n',
  );
});

test('provider-id in doubt prints nothing on stdout, the reason on stderr, and exits 1', async (context) => {
  const folder = await folderOf(context);
  await mkdir(join(folder, 'sys/class/dmi/id'), { recursive: true });
  await writeFile(join(folder, 'sys/class/dmi/id/sys_vendor'), 'QEMU\n');
  const broken = { ...awsTree, '/latest/meta-data/instance-id': 'i-0ffffffffffffffff' };
  const contradicting = await metadataOf(context, (path) =>
    path === '/latest/api/token' ? 'token' : treeAnswer(broken)({ method: 'GET', path, headers: {} }),
  );
  const failing = await metadataOf(context, () => ({ status: 503 }));
  for (const [args, reason] of [
    [[`--system-root=${folder}`], /fits no known cloud: sys_vendor="QEMU"; name the cloud/],
    [
      ['--cloud=aws', `--metadata-url=${contradicting}`],
      /instance-id: "i-0ffffffffffffffff", expected i-0aa11bb22cc33dd44/,
    ],
    [['--cloud=openstack', `--metadata-url=${failing}`, '--timeout=300ms'], /status 503/],
    [['--cloud=openstack', `--config-drive=${drive}`, '--regional-provider-id'], /region: missing/],
    [['--cloud=openstack', '--config-drive=/nonexistent', '--timeout=300ms'], /meta_data\.json: missing/],
    [['--cloud=openstack', '--config-drive=/etc/passwd'], /meta_data\.json: missing/],
    [['--cloud=nocloud', '--config-drive=/etc/passwd'], /meta-data: missing/],
  ] as const) {
    const { code, stdout, stderr } = await spawnAgent(['provider-id', ...args]).exited;
    assert.equal(code, 1);
    assert.equal(stdout, '');
    assert.match(stderr, reason);
  }
});

test('provider-id waits for a metadata service that is not up yet', async (context) => {
  let asked = 0;
  const url = await metadataOf(context, (path) => {
    if (path === '/latest/api/token') {
      asked += 1;
      return asked < 3 ? { status: 503 } : 'token';
    }
    return treeAnswer(awsTree)({ method: 'GET', path, headers: {} });
  });
  const { code, stdout } = await spawnAgent(['provider-id', '--cloud=aws', `--metadata-url=${url}`]).exited;
  assert.deepEqual([code, stdout], [0, 'aws:///eu-west-3a/i-0aa11bb22cc33dd44\n']);
});

test('bad flags exit 2 and name flag, value and expectation', async () => {
  for (const [args, message] of [
    [['run', '--poll-interval=60'], /--poll-interval: "60", expected a duration with a unit/],
    [['run', '--cloud=mars'], /--cloud: "mars", expected one of auto, /],
    [['run', '--controller-url=http://a'], /--controller-url: "http:\/\/a", expected https/],
    [['run', '--cloud=aws'], /--controller-url, --controller-url-file: none given/],
    [['provider-id', '--with=node-ip'], /--with: "node-ip", expected --output kubelet-args/],
    [['show', '--frobnicate'], /unknown option '--frobnicate'/],
    [['shwo'], /command "shwo"/],
  ] as const) {
    const { code, stdout, stderr } = await spawnAgent(args).exited;
    assert.equal(code, 2);
    assert.equal(stdout, '');
    assert.match(stderr, message);
  }
});

test('show is a table for people, and JSON alone with -o json', async () => {
  const args = ['show', '--cloud=openstack', `--config-drive=${drive}`];
  const table = (await spawnAgent(args).exited).stdout;
  assert.match(table, /^CLOUD +openstack \(by flag\)$/m);
  assert.match(table, new RegExp(`^PROVIDER ID +openstack:///${serverId}$`, 'm'));
  assert.match(table, /^ADDRESSES +InternalIP 10\.30\.0\.7$/m);
  assert.match(table, /^HOST +\d+ CPUs, \d+ MiB, kernel /m);
  const { stdout, stderr } = await spawnAgent([...args, '-o', 'json']).exited;
  const facts = JSON.parse(stdout);
  assert.equal(facts.instance.type, 'm1.large');
  assert.ok(facts.host.memoryBytes > 0);
  assert.equal(stderr, '');
});
