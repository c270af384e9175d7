import assert from 'node:assert/strict';
import { test } from 'node:test';
import { testCa } from '../common/testing/certificates.ts';
import { deliveryHarness } from './testing/delivery-harness.ts';
import { acceptedAnswer, type ControllerReply, startFakeController } from './testing/fake-controller.ts';

const { ca, controller, serverName, start } = await deliveryHarness();

test("follows a standby's redirect to another host with the token, and stays with that leader", async (context) => {
  const leader = await controller(context, undefined, '127.0.0.2');
  const standby = await controller(context, () => ({ status: 307, headers: { location: `${leader.url}/v1/report` } }));
  const { deliverer, arrived, ready } = await start(context, [standby.url]);
  deliverer.wake();
  await ready();
  assert.equal(leader.reports[0]?.headers.authorization, 'Bearer token-1');
  assert.equal(leader.reports[0]?.serverName, serverName);
  await arrived(leader, 3);
  assert.equal(standby.reports.length, 1);
});

test('leaves a leader that fails and asks the others again', async (context) => {
  const second = await controller(context);
  let first: ControllerReply = { status: 200, body: acceptedAnswer };
  const leader = await controller(context, () => first, '127.0.0.2');
  let target = leader.url;
  const standby = await controller(context, () => ({ status: 307, headers: { location: target } }));
  const { deliverer, arrived, ready } = await start(context, [standby.url]);
  deliverer.wake();
  await ready();
  first = { status: 503 };
  target = second.url;
  await arrived(second, 1);
  assert.equal(standby.reports.length, 2);
  assert.equal(second.reports[0]?.path, '/v1/report', 'a location without path gets ours');
});

test('a redirect is followed once', async (context) => {
  const leader = await controller(context);
  const middle = await controller(context, () => ({ status: 307, headers: { location: leader.url } }));
  const standby = await controller(context, () => ({ status: 307, headers: { location: middle.url } }));
  const { deliverer, arrived } = await start(context, [standby.url]);
  deliverer.wake();
  await arrived(standby, 2);
  assert.equal(leader.reports.length, 0);
});

const badLocations: readonly (readonly [string, string | undefined])[] = [
  ['plain http', 'http://127.0.0.2:1/v1/report'],
  ['another scheme', 'file:///etc/passwd'],
  ['a user in it', 'https://user:secret@127.0.0.2:1/'],
  ['no location', undefined],
];

for (const [name, location] of badLocations) {
  test(`a redirect with ${name} is refused`, async (context) => {
    const headers: Record<string, string> = location === undefined ? {} : { location };
    const standby = await controller(context, () => ({ status: 307, headers }));
    const { deliverer, arrived, registry } = await start(context, [standby.url]);
    deliverer.wake();
    await arrived(standby, 2);
    assert.match(await registry.text(), /mooring_agent_reports_total\{outcome="bad_redirect"\} [12]/);
  });
}

test('the token is never sent to a server that our CA does not verify', async (context) => {
  const stranger = await testCa();
  const impostor = await startFakeController(await stranger.issue({ dnsNames: [serverName] }), undefined, '127.0.0.2');
  const misnamed = await startFakeController(
    await ca.issue({ dnsNames: ['other.example'], ips: ['127.0.0.2'] }),
    undefined,
    '127.0.0.2',
  );
  context.after(() => Promise.all([impostor.close(), misnamed.close()]));
  const standby = await controller(context, () => ({ status: 307, headers: { location: impostor.url } }));
  const honest = await controller(context);
  const { deliverer, ready } = await start(context, [standby.url, impostor.url, misnamed.url, honest.url]);
  deliverer.wake();
  await ready();
  assert.equal(impostor.reports.length, 0);
  assert.equal(misnamed.reports.length, 0);
  assert.equal(honest.reports.length, 1);
});
