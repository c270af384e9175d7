import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { afterEach, describe, it } from 'node:test';
import { isCloudError } from '../../../common/cloud-error.ts';
import { HttpFailure } from '../../../common/process/http.ts';
import { silentLog } from '../../../common/process/log.ts';
import { seededRandom } from '../../../common/process/random.ts';
import { swapped } from '../../../common/smbios-uuid.ts';
import { advanceDuring, fakeClock } from '../../../common/testing/fake-clock.ts';
import {
  answerOf,
  type FakeVCenter,
  type FakeVm,
  fakeVCenter,
  faultAnswer,
} from '../../../test/clouds/vsphere/fake/fake-vcenter.ts';
import { openClient } from '../../../test/clouds/vsphere/vsphere-world.ts';
import { type CloudCall, type InstanceRef, type Lookup, type OpenedCloud, refKey } from '../cloud.ts';
import { createModule } from './index.ts';

const byId = (uuid: string): InstanceRef => ({ by: 'providerID', providerID: `vsphere://${uuid}` });
const byName = (name: string): InstanceRef => ({ by: 'name', name });

describe('vSphere lookups', () => {
  const opened: OpenedCloud[] = [];
  afterEach(() => {
    for (const cloud of opened.splice(0)) cloud.close();
  });

  /** One fake for each vCenter `vc1`, `vc2`, with the user `user` and the password `pass`. */
  async function open(fakes: readonly FakeVCenter[], more = '', own = '') {
    const clock = fakeClock();
    const sections = fakes.map((_, at) => `[VirtualCenter "vc${at + 1}"]\n${own}`).join('\n');
    const text = `[Global]\nuser = user\npassword = pass\n${sections}\n${more}`;
    const codes = new Set<string>();
    const context = { clock, onCall: ({ code }: CloudCall) => void codes.add(code) };
    const cloud = await openClient(text, context, () => async (request) => {
      const at = Number(/^https:\/\/vc(\d)/.exec(request.url)?.[1]) - 1;
      return fakes[at]!.http(request);
    });
    opened.push(cloud);
    const ask = async (refs: readonly InstanceRef[], canaries: readonly InstanceRef[] = []) => {
      const answers = await advanceDuring(clock, cloud.instances.lookup(refs, { canaries }));
      return [...refs, ...canaries].map((ref) => answers.get(refKey(ref))!);
    };
    return { cloud, clock, codes, ask };
  }
  /** Opens one vCenter again and again, as one process does when a file changes or the vCenter did not answer. */
  function reopening(fake: FakeVCenter) {
    const [clock, module] = [fakeClock(), createModule(() => fake.http)];
    const context = { clock, random: seededRandom(1), log: silentLog, env: {}, onCall: () => {} };
    return async (password = 'pass') => {
      const text = `[Global]\nserver = vc1\nuser = user\npassword = ${password}\n`;
      const cloud = await module.open({ path: 'vsphere.conf', text }, context);
      assert.ok(!('reportOnly' in cloud));
      opened.push(cloud);
      const ask = async (ref: InstanceRef) => {
        const answers = await advanceDuring(clock, cloud.instances.lookup([ref]));
        return answers.get(refKey(ref))!;
      };
      return { ask, clock };
    };
  }
  const vcenterWith = (...vms: Partial<FakeVm>[]): FakeVCenter => {
    const fake = fakeVCenter();
    for (const [at, vm] of vms.entries())
      fake.vms.set(`vm-${at + 1}`, {
        uuid: randomUUID(),
        name: `n${at + 1}`,
        addresses: [`10.0.${(at + 1) >> 8}.${(at + 1) % 256}`],
        ...vm,
      });
    return fake;
  };
  const uuidOf = (fake: FakeVCenter, id: string) => fake.vms.get(id)!.uuid;
  const short = (lookup: Lookup) => (lookup.state === 'unknown' ? `unknown ${lookup.error.kind}` : lookup.state);
  const found = (lookup: Lookup | undefined) => {
    assert.ok(lookup?.state === 'found', lookup && JSON.stringify(lookup));
    return lookup;
  };
  const problem = (lookup: Lookup | undefined) => {
    assert.ok(lookup?.state === 'unknown', lookup && JSON.stringify(lookup));
    return lookup.error.message;
  };

  it('tells two vCenters on one host apart, whose objects have the same names', async () => {
    const fakes = [vcenterWith({}), vcenterWith({ power: 'poweredOff' })];
    const sections = [1, 2].map((n) => `[VirtualCenter "${n}"]\nserver = vc\nport = 800${n}`).join('\n');
    const clock = fakeClock();
    const cloud = await openClient(
      `[Global]\nuser = user\npassword = pass\n${sections}\n`,
      { clock },
      () => async (request) => fakes[Number(/:800(\d)/.exec(request.url)?.[1]) - 1]!.http(request),
    );
    opened.push(cloud);
    const refs = fakes.map((fake) => byId(uuidOf(fake, 'vm-1')));
    const answers = await advanceDuring(clock, cloud.instances.lookup(refs));
    const shown = refs.map((ref) => found(answers.get(refKey(ref))));
    assert.deepEqual(
      shown.map(({ instance, power }) => [instance.id, power]),
      fakes.map((fake, at) => [uuidOf(fake, 'vm-1'), at === 0 ? 'running' : 'stopped']),
    );
  });

  it('describes a VM as its Node shall show it', async () => {
    const fake = vcenterWith({ name: 'VM one', hostName: 'n1.example.com' });
    const { ask } = await open([fake]);
    const uuid = uuidOf(fake, 'vm-1');
    const [lookup] = await ask([byId(uuid)]);
    assert.deepEqual(found(lookup), {
      state: 'found',
      request: 'id',
      power: 'running',
      instance: {
        cloud: 'vsphere',
        id: uuid,
        providerID: `vsphere://${uuid}`,
        incarnation: uuid,
        name: 'VM one',
        type: 'vsphere-vm.cpu-4.mem-7gb.os-ubuntu',
        addresses: [
          { type: 'Hostname', address: 'n1.example.com' },
          { type: 'InternalIP', address: '10.0.0.1' },
          { type: 'ExternalIP', address: '10.0.0.1' },
        ],
        smbiosUuid: uuid,
      },
    });
  });

  it('finds a VM by its uuid in either byte order and any case, one by one and listed, as one instance', async () => {
    const fake = vcenterWith(...Array.from({ length: 8 }, () => ({})));
    const { ask } = await open([fake]);
    const uuids = [...fake.vms.values()].map(({ uuid }) => uuid);
    for (const form of [swapped(uuids[0]!), uuids[0]!.toUpperCase(), ` ${uuids[0]} `]) {
      assert.equal(found((await ask([byId(form)]))[0]).instance.providerID, `vsphere://${uuids[0]}`, form);
    }
    const listed = await ask(uuids.map((uuid) => byId(swapped(uuid))));
    assert.deepEqual(
      listed.map((lookup) => found(lookup).instance.id),
      uuids,
    );
    assert.ok(listed.every((lookup) => found(lookup).request === 'list'));
  });

  it('lists thousands of VMs in a call for each page, and reads no details of VMs that are no Nodes', async () => {
    const fake = vcenterWith(...Array.from({ length: 2200 }, () => ({})));
    const { ask } = await open([fake]);
    const uuids = [...fake.vms.values()].map(({ uuid }) => uuid).slice(0, 600);
    assert.ok((await ask(uuids.map(byId))).every(({ state }) => state === 'found'));
    const reads = fake.calls.filter((call) => call.includes('RetrieveProperties'));
    assert.equal(reads.length, 5 + 2);
  });

  it('lists once in a pass, for all proofs', async () => {
    const fake = vcenterWith(...Array.from({ length: 8 }, () => ({})));
    const { ask } = await open([fake]);
    const bodies: string[] = [];
    fake.fault = (_, body) => {
      bodies.push(body);
      return undefined;
    };
    const gone = [1, 2, 3].map(() => byId(randomUUID()));
    const lookups = await ask([...[...fake.vms.values()].map(({ uuid }) => byId(uuid)), ...gone, byName('n1')]);
    assert.equal(lookups.filter(({ state }) => state === 'absent').length, 3);
    assert.equal(bodies.filter((body) => body.includes('>ContainerView<')).length, 1);
  });

  it('leaves every VM unknown that a lost page may have held', async () => {
    const fake = vcenterWith(...Array.from({ length: 30 }, () => ({})));
    fake.pageSize = 8;
    const { ask } = await open([fake]);
    const refs = [...fake.vms.values()].map(({ uuid }) => byId(uuid));
    const endless = '<e><Body><ContinueRetrievePropertiesExResponse><returnval><token>t</token></returnval>';
    const empty = answerOf(200, `${endless}</ContinueRetrievePropertiesExResponse></Body></e>`);
    for (const page of [answerOf(503, ''), empty]) {
      fake.fault = (call) => (call === 'ContinueRetrievePropertiesEx' ? page : undefined);
      assert.deepEqual(new Set((await ask(refs)).map(short)), new Set(['unknown Unavailable']));
    }
  });

  it('proves an absence with a canary that the same search finds', async () => {
    const fake = vcenterWith({}, {});
    const { ask } = await open([fake]);
    const [lookup, canary] = await ask([byId(randomUUID())], [byId(uuidOf(fake, 'vm-1'))]);
    assert.equal(lookup?.state, 'absent');
    assert.equal(found(canary).request, 'id');
  });

  it('proves no absence while one of the vCenters does not answer, and finds what the others have', async () => {
    const [one, two] = [vcenterWith({}), vcenterWith({})];
    const { ask } = await open([one, two]);
    two.fault = () => {
      throw new HttpFailure('unreachable', 'connect ECONNREFUSED');
    };
    const refs = [byId(uuidOf(one, 'vm-1')), byId(uuidOf(two, 'vm-1')), byId(randomUUID())];
    assert.deepEqual((await ask(refs)).map(short), ['found', 'unknown Unavailable', 'unknown Unavailable']);
    const named = await ask(['n1', 'n2'].map(byName));
    assert.deepEqual(named.map(short), ['found', 'unknown Unavailable']);
    // The other one may have a VM of that name.
    assert.match(found(named[0]).instance.namesakesUnknown ?? '', /^Unavailable: .*ECONNREFUSED/);
    two.fault = undefined;
    assert.deepEqual((await ask([byName('n1')])).map(short), ['unknown Conflict']);
    assert.deepEqual((await ask(refs)).map(short), ['found', 'found', 'absent']);
  });

  it('proves no absence where a vCenter shows its user no VM at all', async () => {
    const [one, two] = [vcenterWith({}), vcenterWith({})];
    const { ask } = await open([one, two]);
    const uuid = uuidOf(two, 'vm-1');
    two.vms.get('vm-1')!.hidden = true;
    const [lookup] = await ask([byId(uuid)], [byId(uuidOf(one, 'vm-1'))]);
    assert.match(problem(lookup), /vc2 shows no VM at all to its user/);
  });

  it('takes no VM for deleted that may no longer be read, or whose uuid was changed', async () => {
    const fake = vcenterWith({}, {});
    const { ask } = await open([fake]);
    const uuid = uuidOf(fake, 'vm-1');
    found((await ask([byId(uuid)]))[0]);
    const vm = fake.vms.get('vm-1')!;
    vm.hidden = true;
    assert.equal(short((await ask([byId(uuid)]))[0]!), 'unknown Forbidden');
    vm.hidden = false;
    vm.uuid = randomUUID();
    assert.match(problem((await ask([byId(uuid)]))[0]), /vm-1 is there, and no longer found by uuid/);
    fake.vms.delete('vm-1');
    assert.equal(short((await ask([byId(uuid)]))[0]!), 'absent');
  });

  it('takes no hidden VM for deleted after the cloud was opened again in the same process', async () => {
    const fake = vcenterWith({}, {});
    const again = reopening(fake);
    const uuid = uuidOf(fake, 'vm-1');
    found(await (await again()).ask(byId(uuid)));
    fake.vms.get('vm-1')!.hidden = true;
    assert.equal(short(await (await again()).ask(byId(uuid))), 'unknown Forbidden');
    fake.vms.delete('vm-1');
    assert.equal(short(await (await again()).ask(byId(uuid))), 'absent');
  });

  it('takes no unseen VM for deleted while one is listed without its uuid', async () => {
    const fake = vcenterWith({}, {});
    const uuid = uuidOf(fake, 'vm-1');
    const { ask } = await open([fake]);
    fake.vms.get('vm-1')!.uuid = '';
    assert.match(problem((await ask([byId(uuid)]))[0]), /vm-1 of vc1 is in the list without its uuid/);
    const seen = uuidOf(fake, 'vm-2');
    found((await ask([byId(seen)]))[0]);
    fake.vms.delete('vm-2');
    for (let time = 0; time < 2; time += 1) assert.equal(short((await ask([byId(seen)]))[0]!), 'absent');
  });

  it('proves no absence by a search index that lags behind the list', async () => {
    const fake = vcenterWith({});
    const { ask } = await open([fake]);
    fake.fault = (call) =>
      call === 'FindAllByUuid' ? answerOf(200, '<e><Body><FindAllByUuidResponse/></Body></e>') : undefined;
    assert.equal(short((await ask([byId(uuidOf(fake, 'vm-1'))]))[0]!), 'unknown Conflict');
  });

  it('takes the one that runs of VMs with one uuid, and none where several run or none does', async () => {
    const uuid = randomUUID();
    const [one, replica] = [vcenterWith({ uuid }), vcenterWith({ uuid, power: 'poweredOff', name: 'replica' })];
    const { ask } = await open([one, replica]);
    const many = [byId(uuid), ...Array.from({ length: 6 }, () => byId(randomUUID()))];
    for (const refs of [[byId(uuid)], many]) {
      assert.equal(found((await ask(refs))[0]).instance.name, 'n1');
    }
    one.vms.get('vm-1')!.power = 'suspended';
    assert.equal(short((await ask([byId(uuid)]))[0]!), 'unknown Conflict');
    for (const fake of [one, replica]) fake.vms.get('vm-1')!.power = 'poweredOn';
    assert.match(problem((await ask([byId(uuid)]))[0]), /vm-1 of vc1, vm-1 of vc2/);
  });

  it('keeps all others when a VM is deleted while it is read', async () => {
    const fake = vcenterWith(...Array.from({ length: 8 }, () => ({})));
    const { ask } = await open([fake]);
    const uuids = [...fake.vms.values()].map(({ uuid }) => uuid);
    fake.fault = (call, body) => {
      if (call === 'RetrievePropertiesEx' && body.includes('powerState')) fake.vms.delete('vm-3');
      return undefined;
    };
    const states = (await ask(uuids.map(byId))).map(short);
    assert.deepEqual(
      states,
      uuids.map((_, at) => (at === 2 ? 'unknown Conflict' : 'found')),
    );
  });

  it('logs in again, once, when the session has ended, and goes on', async () => {
    const fake = vcenterWith(...Array.from({ length: 8 }, () => ({})));
    fake.tags.set('datacenter-1', { region: 'r' });
    fake.tags.set('host-1', { zone: 'z' });
    const { ask, clock, codes } = await open([fake], '[Labels]\nzone = zone\nregion = region\n');
    const refs = [...fake.vms.values()].map(({ uuid }) => byId(uuid));
    for (const some of [refs.slice(0, 1), refs]) {
      found((await ask(some))[0]);
      await clock.advance(600_000);
      fake.endSessions();
      const logins = fake.passwords.length;
      assert.ok((await ask(some)).every(({ state }) => state === 'found'));
      assert.equal(fake.passwords.length, logins + 1);
    }
    const views = fake.passwords.length;
    fake.fault = (_, body) =>
      body.includes('>ContainerView<') && fake.passwords.length === views
        ? faultAnswer('ManagedObjectNotFound', '<obj type="ContainerView">session[x]</obj>')
        : undefined;
    const logouts = () => fake.calls.filter((call) => call === 'Logout').length;
    const ended = logouts();
    assert.ok((await ask(refs)).every(({ state }) => state === 'found'));
    assert.equal(fake.passwords.length, views + 1);
    assert.equal(logouts(), ended + 1, 'the session without views is ended');
    assert.ok(codes.has('NotFound'));
    fake.fault = (call) => (call === 'FindAllByUuid' ? faultAnswer('NotAuthenticated') : undefined);
    const logins = fake.passwords.length;
    assert.equal(short((await ask(refs.slice(0, 1)))[0]!), 'unknown Unauthorized');
    assert.equal(fake.passwords.length, logins + 1);
  });

  it('shares one login among all lookups that wait for it', async () => {
    const fake = vcenterWith({}, {}, {});
    const { ask } = await open([fake]);
    await Promise.all([...fake.vms.values()].map(({ uuid }) => ask([byId(uuid)])));
    assert.equal(fake.passwords.length, 1);
  });

  it('shows a refused password again only after two minutes, so that vCenter does not lock its user', async () => {
    const fake = vcenterWith({});
    fake.password = 'another';
    const { ask, clock } = await open([fake]);
    for (let count = 0; count < 5; count += 1) {
      assert.equal(short((await ask([byId(uuidOf(fake, 'vm-1'))]))[0]!), 'unknown Unauthorized');
    }
    await clock.advance(119_000);
    assert.equal(short((await ask([byId(uuidOf(fake, 'vm-1'))]))[0]!), 'unknown Unauthorized');
    assert.equal(fake.passwords.length, 1);
    await clock.advance(2000);
    fake.password = 'pass';
    found((await ask([byId(uuidOf(fake, 'vm-1'))]))[0]);
  });

  it('repeats no refused password when the cloud is opened again, unless the password has changed', async () => {
    const fake = vcenterWith({});
    fake.password = 'another';
    const again = reopening(fake);
    const ref = byId(uuidOf(fake, 'vm-1'));
    for (let count = 0; count < 5; count += 1) {
      const { ask, clock } = await again();
      assert.equal(short(await ask(ref)), 'unknown Unauthorized');
      await clock.advance(20_000);
    }
    assert.equal(fake.passwords.length, 1);
    found(await (await again('another')).ask(ref));
  });

  it('shows no password in any error', async () => {
    const fake = vcenterWith({});
    const { ask, cloud } = await open([fake], '', 'user = user\npassword = "s3cret<&\\""\n');
    const problems = [problem((await ask([byId(uuidOf(fake, 'vm-1'))]))[0])];
    for (const result of await cloud.check()) problems.push(result.message);
    assert.equal(fake.passwords[0], 's3cret<&"');
    for (const text of problems) assert.doesNotMatch(text, /s3cret/);
  });

  it('waits for VMware Tools of a VM that runs, and asks nothing of them where it does not', async () => {
    const fake = vcenterWith({ addresses: [] }, { addresses: [], power: 'poweredOff' }, { power: 'suspended' });
    const { ask } = await open([fake]);
    const [booting, off, suspended] = await ask(['vm-1', 'vm-2', 'vm-3'].map((id) => byId(uuidOf(fake, id))));
    assert.match(problem(booting), /VMware Tools of n1 tell no host name and address/);
    assert.deepEqual([found(off).power, found(suspended).power], ['stopped', 'suspended']);
    for (const lookup of [off, suspended]) {
      assert.deepEqual(found(lookup).instance.addresses, []);
    }
  });

  it('finds the VM of a Node by its host name, else by its own name, else by its address', async () => {
    const fake = vcenterWith(
      { name: 'a', hostName: 'Node-1' },
      { name: 'node-1', hostName: 'b' },
      { name: 'c' },
      { name: 'c' },
    );
    const { ask } = await open([fake]);
    const lookups = await ask(['node-1', 'b', 'a', '10.0.0.3', 'c', 'nothing'].map(byName));
    assert.deepEqual(
      lookups.slice(0, 4).map((lookup) => found(lookup).instance.id),
      [...['vm-1', 'vm-2', 'vm-1', 'vm-3'].map((id) => uuidOf(fake, id))],
    );
    assert.deepEqual(lookups.slice(4).map(short), ['unknown Conflict', 'unknown NotFound']);
  });

  it('sees the VMs of the configured datacenters by list and by name, and any of the vCenter by uuid', async () => {
    const fake = vcenterWith({ name: 'a' }, { name: 'b', datacenter: 'DC2' });
    const { ask } = await open([fake], '', 'datacenters = /DC1\n');
    assert.deepEqual((await ask(['a', 'b'].map(byName))).map(short), ['found', 'unknown NotFound']);
    assert.deepEqual((await ask([byId(uuidOf(fake, 'vm-2'))])).map(short), ['found']);
    for (const [name, expected] of [
      ['DC9', /user sees no datacenter DC9/],
      ['Asia/DC3', /user sees no datacenter Asia\/DC3/],
      ['DC4', /2 datacenters are called DC4, expected a path such as Folder\/DC4/],
    ] as const) {
      const { ask: askWrong } = await open([fake], '', `datacenters = DC1, ${name}\n`);
      assert.match(problem((await askWrong([byId(randomUUID())]))[0]), expected);
    }
  });

  it('finds a datacenter in a folder by its path, and by its name alone', async () => {
    const fake = vcenterWith({ name: 'a', datacenter: 'Europe/DC3' }, { name: 'b', datacenter: 'Asia/DC4' });
    for (const names of ['Europe/DC3, /Asia/DC4', 'DC3, Asia/DC4']) {
      const { ask } = await open([fake], '', `datacenters = ${names}\n`);
      assert.deepEqual((await ask(['a', 'b'].map(byName))).map(short), ['found', 'found'], names);
    }
  });

  it('takes a page of a proxy and a cut answer for no answer', async () => {
    const fake = vcenterWith({});
    const { ask } = await open([fake]);
    found((await ask([byId(uuidOf(fake, 'vm-1'))]))[0]);
    for (const text of ['<html><body>gateway</body></html>', '<e><Body><FindAllByUuidRes', '']) {
      fake.fault = () => answerOf(200, text);
      assert.equal(short((await ask([byId(randomUUID())]))[0]!), 'unknown Unavailable', text);
    }
  });

  it('leaves a vCenter alone that wants fewer calls', async () => {
    const fake = vcenterWith({});
    const { ask, clock } = await open([fake]);
    fake.fault = () => answerOf(429, '', { 'retry-after': '30' });
    assert.equal(short((await ask([byId(randomUUID())]))[0]!), 'unknown Throttled');
    fake.fault = undefined;
    const calls = fake.calls.length;
    assert.equal(short((await ask([byId(randomUUID())]))[0]!), 'unknown Throttled');
    assert.equal(fake.calls.length, calls);
    await clock.advance(60_000);
    found((await ask([byId(uuidOf(fake, 'vm-1'))]))[0]);
  });

  describe('zones', () => {
    const labels = '[Labels]\nzone = zone\nregion = region\n';

    it('takes zones from the nearest tags of both categories: above host, else pool, else folder', async () => {
      const fake = vcenterWith({ host: 'host-1' }, { host: 'host-2' });
      fake.tags.set('host-1', { zone: 'z-host', rack: '7' });
      fake.tags.set('cluster-1', { zone: 'z-cluster' });
      fake.tags.set('datacenter-1', { region: 'r' });
      const { ask } = await open([fake], labels);
      const zones = (await ask(['vm-1', 'vm-2'].map((id) => byId(uuidOf(fake, id))))).map(
        (lookup) => found(lookup).instance,
      );
      assert.deepEqual(
        zones.map(({ zone, region }) => [zone, region]),
        [
          ['z-host', 'r'],
          ['z-cluster', 'r'],
        ],
      );
      const pooled = vcenterWith({});
      pooled.tags.set('pool-1', { zone: 'z-pool', region: 'r-pool' });
      pooled.tags.set('group-v1', { zone: 'z-folder', region: 'r-folder' });
      const { ask: askPooled } = await open([pooled], labels);
      const { zone, region } = found((await askPooled([byId(uuidOf(pooled, 'vm-1'))]))[0]).instance;
      assert.deepEqual([zone, region], ['z-pool', 'r-pool']);
    });

    it('shows a VM without zone and region, and why, so that new Nodes alone wait for them', async () => {
      const fake = vcenterWith({}, { power: 'poweredOff' });
      fake.tags.set('host-1', { zone: 'z' });
      const { ask } = await open([fake], labels);
      const [lookup, off] = await ask(['vm-1', 'vm-2'].map((id) => byId(uuidOf(fake, id))));
      const { placeUnknown, zone, region } = found(lookup).instance;
      assert.match(placeUnknown ?? '', /^Invalid: .* has a tag of both categories/);
      assert.deepEqual([zone, region], [undefined, undefined]);
      assert.equal(found(off).power, 'stopped');
      const [absent, canary] = await ask([byId(randomUUID())], [byId(uuidOf(fake, 'vm-1'))]);
      assert.deepEqual([absent?.state, found(canary).request], ['absent', 'id']);
    });

    it('reads zones again after the REST API refused its session once', async () => {
      const fake = vcenterWith({});
      fake.tags.set('cluster-1', { zone: 'z', region: 'r' });
      const { ask } = await open([fake], labels);
      fake.fault = (call) => (call === 'POST /session' ? answerOf(503, '') : undefined);
      const [lookup] = await ask([byId(uuidOf(fake, 'vm-1'))]);
      assert.match(found(lookup).instance.placeUnknown ?? '', /^Unavailable: .*POST \/session: vc1: 503/);
      fake.fault = undefined;
      const { instance } = found((await ask([byId(uuidOf(fake, 'vm-1'))]))[0]);
      assert.deepEqual([instance.zone, instance.placeUnknown], ['z', undefined]);
    });

    it('reads zones once in five minutes for all Nodes of a host, and again after a failure', async () => {
      const fake = vcenterWith({}, {}, {});
      fake.tags.set('cluster-1', { zone: 'z', region: 'r' });
      const { ask, clock } = await open([fake], labels);
      const rest = () => fake.calls.filter((call) => call.includes('/tagging/')).length;
      fake.fault = (call) => (call.includes('/tagging/category') ? answerOf(500, '{}') : undefined);
      const [unplaced] = await ask([byId(uuidOf(fake, 'vm-1'))]);
      assert.match(found(unplaced).instance.placeUnknown ?? '', /^Unavailable/);
      fake.fault = undefined;
      for (const id of ['vm-1', 'vm-2', 'vm-3']) found((await ask([byId(uuidOf(fake, id))]))[0]);
      const calls = rest();
      found((await ask([byId(uuidOf(fake, 'vm-1'))]))[0]);
      assert.equal(rest(), calls);
      fake.tags.set('cluster-1', { zone: 'z2', region: 'r' });
      await clock.advance(301_000);
      assert.equal(found((await ask([byId(uuidOf(fake, 'vm-1'))]))[0]).instance.zone, 'z2');
    });
  });

  describe('the scope', () => {
    it('identifies the scope by the ids of the vCenters, each of which was a scope of its own before', async () => {
      const [one, two] = [vcenterWith({}), vcenterWith({})];
      const { cloud } = await open([one]);
      assert.deepEqual(await cloud.identify(), { scope: `vcenter/${one.uuid}`, account: one.uuid, formerScopes: [] });
      const { cloud: both } = await open([one, two]);
      assert.deepEqual(await both.identify(), {
        scope: `vcenter/${one.uuid}/${two.uuid}`,
        account: one.uuid,
        formerScopes: [`vcenter/${one.uuid}`, `vcenter/${two.uuid}`],
      });
    });

    it('refuses one vCenter under two names', async () => {
      const one = vcenterWith({});
      const { cloud } = await open([one, one]);
      await assert.rejects(cloud.identify(), /two of the configured vCenters are one/);
    });

    it('refuses another vCenter that took the name', async () => {
      const fake = vcenterWith({});
      const fakes = [fake];
      const { cloud, ask } = await open(fakes);
      await cloud.identify();
      const uuid = uuidOf(fake, 'vm-1');
      fake.endSessions();
      fakes[0] = vcenterWith({});
      assert.match(problem((await ask([byId(uuid)]))[0]), /it is vCenter .* now/);
      assert.deepEqual(fakes[0].passwords, []);
    });

    it('refuses to identify a server without the id of a vCenter', async () => {
      const { cloud } = await open([fakeVCenter('')]);
      await assert.rejects(cloud.identify(), (error) => isCloudError(error) && error.kind === 'Invalid');
    });
  });

  it('ends the session of a login that sees no datacenter', async () => {
    const fake = vcenterWith({});
    const { ask } = await open([fake], '', 'datacenters = DC9\n');
    assert.equal(short((await ask([byId(randomUUID())]))[0]!), 'unknown Forbidden');
    await new Promise((resolve) => setImmediate(resolve));
    const count = (name: string) => fake.calls.filter((call) => call === name).length;
    assert.equal(count('Logout'), count('Login'));
  });

  it('ends its session when it is closed', async () => {
    const fake = vcenterWith({});
    const { cloud, ask } = await open([fake]);
    await ask([byId(uuidOf(fake, 'vm-1'))]);
    cloud.close();
    await new Promise((resolve) => setImmediate(resolve));
    assert.equal(fake.calls.at(-1), 'Logout');
  });
});
