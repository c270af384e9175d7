import assert from 'node:assert/strict';
import { describe, it, type TestContext } from 'node:test';
import { swapped } from '../../../common/smbios-uuid.ts';
import { connection, type OvirtWorldOptions, ovirtWorld } from '../../../test/clouds/ovirt/ovirt-world.ts';
import type { InstanceRef, Lookup } from '../cloud.ts';

async function world(context: TestContext, options: OvirtWorldOptions = {}) {
  const opened = ovirtWorld(options);
  context.after(() => opened.close());
  const cloud = await opened.open();
  const lookUp = async (...refs: readonly (InstanceRef | string)[]): Promise<Lookup[]> => {
    const whole = refs.map((ref) => (typeof ref === 'string' ? ({ by: 'providerID', providerID: ref } as const) : ref));
    return [...(await opened.during(cloud.instances.lookup(whole))).values()];
  };
  const paths = () => opened.fake.calls.map(({ method, path }) => `${method} ${path.slice('/ovirt-engine'.length)}`);
  return { ...opened, cloud, lookUp, paths };
}

const plain = { config: connection };
const errorOf = (lookup: Lookup | undefined) =>
  lookup?.state === 'unknown' ? `${lookup.error.kind}: ${lookup.error.message}` : lookup?.state;

describe('a VM of oVirt', () => {
  it('shows a VM with host, data center, size and the addresses of its own NICs', async (context) => {
    const labels = '[Labels]\nzone=host\nregion=data-center\n';
    const config = `${connection}${labels}[Nodes]\nexternal-network-subnet-cidr=198.51.100.0/24\n`;
    const { fake, lookUp } = await world(context, { config });
    const addresses = ['fe80::1', '127.0.0.1', '10.0.0.5', '10.0.0.6', '198.51.100.7', '2001:DB8::7', 'none'];
    const { id } = fake.addVm('vm-1', { fqdn: 'node-1.example.com', addresses });
    const [found] = await lookUp(`ovirt://${id}`);
    assert.ok(found?.state === 'found');
    assert.deepEqual(found.instance, {
      cloud: 'ovirt',
      id,
      name: 'vm-1',
      incarnation: id,
      smbiosUuid: id,
      providerID: `ovirt://${id}`,
      zone: 'host-1',
      region: 'helsinki',
      type: '2vcpu-4gb',
      addresses: [
        { type: 'Hostname', address: 'node-1.example.com' },
        { type: 'InternalIP', address: '10.0.0.5' },
        { type: 'InternalIP', address: '2001:db8::7' },
        { type: 'ExternalIP', address: '198.51.100.7' },
      ],
    });
  });

  it('reads a VM by one call where zones and regions are not asked for', async (context) => {
    const { fake, lookUp, paths } = await world(context, plain);
    const { id } = fake.addVm('vm-1');
    await lookUp(`ovirt://${id}`);
    assert.deepEqual(paths(), ['POST /sso/oauth/token', `GET /api/vms/${id}`]);
  });

  it('finds one VM by every form of its providerID, and by its UUID in the other byte order', async (context) => {
    const { fake, lookUp } = await world(context, plain);
    const { id } = fake.addVm('vm-1');
    for (const written of [`ovirt:///${id}`, `ovirt-cloud-provider://${id}`, id, `ovirt://${swapped(id)}`]) {
      const [found] = await lookUp(written);
      assert.ok(found?.state === 'found', written);
      assert.equal(found.instance.providerID, `ovirt://${id}`);
    }
  });

  it('finds VMs in the list by the other byte order, too', async (context) => {
    const { fake, lookUp, paths } = await world(context, plain);
    const vms = Array.from({ length: 8 }, (_, at) => fake.addVm(`vm-${at}`));
    const found = await lookUp(...vms.map(({ id }) => `ovirt://${swapped(id)}`));
    assert.ok(found.every(({ state }) => state === 'found'));
    assert.deepEqual(paths(), ['POST /sso/oauth/token', 'GET /api/vms']);
  });

  it('finds a VM by the name that its guest has, and refuses two VMs of one name', async (context) => {
    const { fake, lookUp } = await world(context, plain);
    const { id } = fake.addVm('vm-1', { fqdn: 'node-1' });
    const byName = { by: 'name', name: 'node-1' } as const;
    const [found] = await lookUp(byName);
    assert.ok(found?.state === 'found' && found.instance.id === id);
    fake.addVm('node-1');
    assert.match(String(errorOf((await lookUp(byName))[0])), /^Conflict: .*2 machines are named "node-1"/);
  });

  it('keeps the addresses of its Node where no guest agent reports any', async (context) => {
    const { fake, lookUp } = await world(context, plain);
    const { id } = fake.addVm('vm-1', { addresses: [] });
    const [found] = await lookUp(`ovirt://${id}`);
    assert.ok(found?.state === 'found' && found.instance.keepsInternalIPs);
  });

  for (const [status, power] of [
    ...['up', 'migrating'].map((one) => [one, 'running']),
    ['down', 'stopped'],
    ['suspended', 'suspended'],
    ...['unknown', 'not_responding', 'paused', 'powering_down', 'image_locked'].map((one) => [one, 'changing']),
  ] as const)
    it(`shows a VM as ${power} when the engine shows it as ${status}`, async (context) => {
      const { fake, lookUp } = await world(context, plain);
      const { id } = fake.addVm('vm-1', { status: status! });
      const [found] = await lookUp(`ovirt://${id}`);
      assert.ok(found?.state === 'found');
      assert.equal(found.power, power);
    });

  it('finds every VM in a list of several pages', async (context) => {
    const { fake, lookUp, paths } = await world(context, plain);
    const vms = Array.from({ length: 401 }, (_, at) => fake.addVm(`vm-${at}`));
    const found = await lookUp(...vms.map(({ id }) => `ovirt://${id}`));
    assert.ok(found.every(({ state }) => state === 'found'));
    assert.equal(paths().filter((path) => path === 'GET /api/vms').length, 3);
  });

  it('that the configured search leaves out is asked for by its id, and so is not absent', async (context) => {
    const { fake, lookUp } = await world(context, { config: `${connection}[Filters]\nvms = name=k8s-*\n` });
    const vms = Array.from({ length: 8 }, (_, at) => fake.addVm(at === 0 ? 'other' : `k8s-${at}`));
    const found = await lookUp(...vms.map(({ id }) => `ovirt://${id}`));
    assert.ok(found.every(({ state }) => state === 'found'));
  });

  it('finds a VM by its name where the configured search leaves it out, however many join at once', async (context) => {
    const { fake, lookUp, paths } = await world(context, { config: `${connection}[Filters]\nvms = name=k8s-*\n` });
    const names = Array.from({ length: 12 }, (_, at) => fake.addVm(`other-${at}`).name);
    const found = await lookUp(...[...names, 'none'].map((name) => ({ by: 'name', name }) as const));
    assert.deepEqual(
      found.map((one) => (one.state === 'found' ? one.instance.name : errorOf(one))),
      [...names, 'NotFound: ovirt lookup: no machine is named "none"'],
    );
    assert.deepEqual(paths(), ['POST /sso/oauth/token', 'GET /api/vms', 'GET /api/vms']);
  });
});

describe('the engine', () => {
  it('logs in once for many calls, and once again when the token has ended', async (context) => {
    const { fake, lookUp } = await world(context, plain);
    const ids = [fake.addVm('vm-1').id, fake.addVm('vm-2').id];
    await lookUp(...ids);
    assert.equal(fake.logins(), 1);
    fake.endTokens();
    assert.ok((await lookUp(...ids)).every(({ state }) => state === 'found'));
    assert.equal(fake.logins(), 2);
  });

  it('shows a refused password again only after a minute, so that the user is not locked', async (context) => {
    const { fake, lookUp, clock } = await world(context, plain);
    const { id } = fake.addVm('vm-1');
    fake.refuses = true;
    for (let each = 0; each < 3; each += 1) assert.match(String(errorOf((await lookUp(id))[0])), /^Unauthorized/);
    assert.equal(fake.logins(), 1);
    fake.refuses = false;
    await clock.advance(60_000);
    assert.equal((await lookUp(id))[0]?.state, 'found');
  });

  const json = { 'content-type': 'application/json' };
  const faults = [
    ['a 404 of a proxy', { status: 404, headers: {}, body: '<html>no such page</html>' }, /^Unavailable: .*404/],
    [
      'a 404 with JSON of a proxy',
      { status: 404, headers: json, body: { detail: 'Not Found' } },
      /^Unavailable: .*404/,
    ],
    ['a 503', { status: 503, headers: {}, body: '' }, /^Unavailable: .*503/],
    [
      'a 403',
      { status: 403, headers: json, body: { reason: 'x', detail: 'not yours' } },
      /^Forbidden: .*403 x not yours/,
    ],
    ['a body that was cut', { status: 200, headers: json, body: '{"id": "' }, /^Unavailable: .*the answer is not JSON/],
    ['XML', { status: 200, headers: {}, body: '<!DOCTYPE a [<!ENTITY b "c">]><vm>&b;</vm>' }, /is not JSON/],
    [
      'another VM',
      {
        status: 200,
        headers: json,
        body: { id: swapped('11111111-2222-3333-4444-555555555555'), name: 'x', status: 'up' },
      },
      /^Invalid: .*the answer is about another machine/,
    ],
    [
      'an id that is none',
      { status: 200, headers: json, body: { id: '../1', name: 'x', status: 'up' } },
      /^Invalid: .*id: "\.\.\/1", expected a UUID/,
    ],
    ['a list of texts', { status: 200, headers: json, body: { id: 'x', nics: { nic: ['y'] } } }, /^Invalid/],
  ] as const;
  for (const [name, answer, expected] of faults)
    it(`proves nothing by ${name}`, async (context) => {
      const { fake, lookUp } = await world(context, plain);
      fake.fault = ({ path }) => (path.includes('/vms') ? answer : undefined);
      const [found] = await lookUp('ovirt://0a6e30c4-58a1-4c1e-9f7c-2f5d3a1b0c9d');
      assert.match(String(errorOf(found)), expected);
    });

  it('proves absence by a 404 with its own words, in both byte orders', async (context) => {
    const { lookUp, paths } = await world(context, plain);
    const id = '0a6e30c4-58a1-4c1e-9f7c-2f5d3a1b0c9d';
    assert.deepEqual(await lookUp(id), [{ state: 'absent' }]);
    assert.deepEqual(paths().slice(1), [`GET /api/vms/${id}`, `GET /api/vms/${swapped(id)}`]);
  });

  const empty404 = { status: 404, headers: {}, body: '' };
  const isVm = ({ path }: { readonly path: string }) => path.includes('/vms');

  it('proves absence by a 404 without words where its root answers in the same pass', async (context) => {
    const { fake, lookUp, paths } = await world(context, plain);
    fake.fault = (call) => (isVm(call) ? empty404 : undefined);
    const ids = ['0a6e30c4-58a1-4c1e-9f7c-2f5d3a1b0c9d', '1b6e30c4-58a1-4c1e-9f7c-2f5d3a1b0c9d'];
    assert.deepEqual(await lookUp(...ids), [{ state: 'absent' }, { state: 'absent' }]);
    assert.equal(paths().filter((path) => path === 'GET /api').length, 1);
  });

  for (const [name, root] of [
    ['too', empty404],
    ['with a page', { status: 200, headers: {}, body: '<html>welcome</html>' }],
    ['with the JSON of something else', { status: 200, headers: json, body: { status: 'ok' } }],
  ] as const)
    it(`proves nothing by a 404 without words where its root answers ${name}`, async (context) => {
      const { fake, lookUp } = await world(context, plain);
      fake.fault = (call) => (isVm(call) ? empty404 : root);
      const [found] = await lookUp('0a6e30c4-58a1-4c1e-9f7c-2f5d3a1b0c9d');
      assert.match(String(errorOf(found)), /^Unavailable: .*404 without the words of the engine/);
    });

  it('tells its own id, whatever name it is reached by', async (context) => {
    const { cloud, during } = await world(context, plain);
    assert.deepEqual(await during(cloud.identify()), {
      scope: 'engine/5c3f9d0a-7e1b-4f6d-8a2c-3b4d5e6f7081',
      account: '5c3f9d0a-7e1b-4f6d-8a2c-3b4d5e6f7081',
      formerScopes: ['engine/engine.test'],
    });
  });
});

describe('the check of oVirt', () => {
  it('reads what nodes need', async (context) => {
    const { fake, cloud, during } = await world(context);
    fake.addVm('vm-1');
    const lines = await during(cloud.check());
    assert.deepEqual(
      lines.map(({ name, ok }) => [name, ok]),
      [
        ['log in', true],
        ['read VMs', true],
        ['read places', true],
      ],
    );
  });

  it('says that a user sees no VM, because an empty engine looks alike', async (context) => {
    const { cloud, during } = await world(context, plain);
    const lines = await during(cloud.check());
    assert.match(lines[1]!.message, /no VM can be seen; mooring@internal needs a role/);
  });
});
