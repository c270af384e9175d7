import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { after, before, describe, it } from 'node:test';
import { connect } from 'node:tls';
import { systemClock } from '../../../common/process/clock.ts';
import { swapped } from '../../../common/smbios-uuid.ts';
import {
  type CloudCall,
  type InstanceRef,
  type Lookup,
  type OpenedCloud,
  refKey,
} from '../../../controller/clouds/cloud.ts';
import { startVcsim, type Vcsim } from './start-vcsim.ts';
import { openClient } from './vsphere-world.ts';

const program = process.env['VCSIM'];
assert.ok(program, 'VCSIM: expected the program');
const byId = (uuid: string): InstanceRef => ({ by: 'providerID', providerID: `vsphere://${uuid}` });

describe('vSphere against vcsim', () => {
  let vcsim: Vcsim;
  let calls: CloudCall[] = [];
  const clients: OpenedCloud[] = [];

  before(async () => {
    vcsim = await startVcsim(program, { uuid: randomUUID(), machines: 1200 });
  });
  after(async () => {
    for (const client of clients) client.close();
    await vcsim?.close();
  });

  async function open(more = 'insecure-flag = true', password = 'pass') {
    const own = `[VirtualCenter "${vcsim.server}"]\nport = ${vcsim.port}\n`;
    const text = `[Global]\nuser = user\npassword = ${password}\n${more}\n${own}`;
    const client = await openClient(text, { clock: systemClock(), onCall: (call) => calls.push(call) });
    clients.push(client);
    return client;
  }
  async function ask(
    client: OpenedCloud,
    refs: readonly InstanceRef[],
    canaries: readonly InstanceRef[] = [],
  ): Promise<Lookup[]> {
    const answers = await client.instances.lookup(refs, { canaries });
    return refs.map((ref) => answers.get(refKey(ref))!);
  }
  const create = async (name: string, addresses: string[]): Promise<string> => {
    const nics = [{ network: 'VM Network', addresses }];
    return (await vcsim.order({ do: 'create', vm: name, hostName: name, datacenter: 'DC0', nics })).uuid;
  };
  const short = (lookup: Lookup | undefined) =>
    lookup?.state === 'unknown' ? `unknown ${lookup.error.kind}` : lookup?.state;
  const found = (lookup: Lookup | undefined) => {
    assert.ok(lookup?.state === 'found', lookup && JSON.stringify(lookup));
    return lookup.instance;
  };

  it('names its vCenter', async () => {
    const { scope, account } = await (await open()).identify();
    assert.deepEqual([scope, account], [`vcenter/${vcsim.uuid}`, vcsim.uuid]);
  });

  it('lists 1,200 VMs in three pages, and finds the same as govmomi', async () => {
    const client = await open();
    const uuids: string[] = await vcsim.order({ do: 'uuids' });
    assert.equal(uuids.length, 1200);
    await client.ping?.();
    calls = [];
    const lookups = await ask(client, uuids.slice(0, 1000).map(byId));
    // They run, and no tools report.
    assert.deepEqual(new Set(lookups.map(short)), new Set(['unknown Unavailable']));
    assert.match(
      lookups[0]?.state === 'unknown' ? lookups[0].error.message : '',
      /VMware Tools of DC0_C0_RP0_VM\d+ tell/,
    );
    assert.equal(calls.length, 3 + 2);
  });

  it('finds a VM by either byte order, and proves the absence of a destroyed one', async () => {
    const [uuid, kept] = [await create('swap', ['10.1.0.1']), await create('kept', ['10.1.0.2'])];
    const client = await open();
    assert.equal(found((await ask(client, [byId(swapped(uuid))]))[0]).id, uuid);
    await vcsim.order({ do: 'power off', uuid });
    await vcsim.order({ do: 'destroy', uuid });
    for (const form of [uuid, swapped(uuid)]) {
      assert.equal(short((await ask(client, [byId(form)], [byId(kept)]))[0]), 'absent');
      assert.equal(short((await ask(await open(), [byId(form)]))[0]), 'absent');
    }
  });

  it('puts the addresses of the VM before those that software in the guest adds', async () => {
    const uuid = await create('vip', ['10.1.1.100', '10.1.1.1', 'fd00::1']);
    const client = await open('insecure-flag = true\nip-family = ipv4,ipv6');
    const ips = async () => found((await ask(client, [byId(uuid)]))[0]).addresses.map(({ address }) => address);
    assert.deepEqual(await ips(), ['vip', '10.1.1.100', '10.1.1.100', 'fd00::1', 'fd00::1']);
    const metadata = Buffer.from('network:\n  ethernets:\n    a:\n      addresses: [10.1.1.1/24]\n').toString('base64');
    const config = {
      'guestinfo.metadata': metadata,
      'guestinfo.metadata.encoding': 'base64',
      guestId: 'ubuntu64Guest',
    };
    await vcsim.order({ do: 'configure', uuid, config });
    assert.deepEqual(await ips(), ['vip', '10.1.1.1', '10.1.1.1', 'fd00::1', 'fd00::1']);
    assert.match(found((await ask(client, [byId(uuid)]))[0]).type ?? '', /os-ubuntu$/);
  });

  it('names VMs that share one uuid', async () => {
    const [uuid, twin] = [await create('one', ['10.1.2.1']), await create('two', ['10.1.2.2'])];
    await vcsim.order({ do: 'configure', uuid: twin, config: { uuid } });
    const client = await open();
    assert.equal(short((await ask(client, [byId(uuid)]))[0]), 'unknown Conflict');
    await vcsim.order({ do: 'power off', uuid });
    assert.match(found((await ask(client, [byId(uuid)]))[0]).name ?? '', /^(one|two)$/);
  });

  it('logs in again when its session was ended', async () => {
    const uuid = await create('session', ['10.1.3.1']);
    const client = await open();
    for (const refs of [[byId(uuid)], [byId(uuid), ...Array.from({ length: 8 }, () => byId(randomUUID()))]]) {
      found((await ask(client, refs))[0]);
      await vcsim.order({ do: 'end sessions' });
      found((await ask(client, refs))[0]);
    }
  });

  it('trusts a thumbprint, and neither another one nor an unknown certificate', async () => {
    const socket = connect({ host: vcsim.server, port: vcsim.port, rejectUnauthorized: false });
    const fingerprint = await new Promise<string>((resolve) =>
      socket.once('secureConnect', () => resolve(socket.getPeerCertificate().fingerprint)),
    );
    socket.destroy();
    await (await open(`thumbprint = ${fingerprint}`)).identify();
    // As in the classic controller.
    await (await open(`insecure-flag = true\nthumbprint = ${'00:'.repeat(19)}00`)).identify();
    for (const other of [`thumbprint = ${'00:'.repeat(19)}00`, '']) {
      calls = [];
      await assert.rejects((await open(other)).identify(), /certificate/);
      assert.deepEqual(
        calls.map(({ code }) => code),
        ['unreachable'],
      );
    }
  });

  it('distinguishes a wrong password from an unreachable vCenter', async () => {
    const [result] = await (await open('insecure-flag = true', 'wrong')).check();
    assert.equal(result?.ok, false);
    assert.match(result.message, /InvalidLogin/);
    assert.doesNotMatch(result.message, /wrong/);
  });
});
