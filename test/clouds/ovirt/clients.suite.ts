import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { promisify } from 'node:util';
import { type ListeningFake, listen } from '../fake-http.ts';
import { createFakeOvirt, type FakeOvirt, password, user } from './fake-ovirt.ts';

const python = process.env['OVIRT_PYTHON'];
const run = promisify(execFile);

describe('ovirt-engine-sdk-python, the client of the vendor', { skip: python === undefined }, () => {
  let fake: FakeOvirt;
  let served: ListeningFake;

  before(async () => {
    fake = createFakeOvirt();
    served = await listen(fake);
  });
  after(() => served.close());

  it('logs in, and reads VMs, NICs, guest addresses and places of the fake', async () => {
    const { id } = fake.addVm('node-0', { fqdn: 'node-0.example.com' });
    for (let each = 1; each < 450; each += 1) fake.addVm(`node-${each}`);
    const where = { OVIRT_URL: `${served.url}/ovirt-engine/api`, OVIRT_VM: id };
    const env = { ...process.env, ...where, OVIRT_USERNAME: user, OVIRT_PASSWORD: password };
    const script = join(import.meta.dirname, 'clients/drive.py');
    const { stdout } = await run(python!, [script], { env, timeout: 120_000 });
    assert.equal(stdout, 'ok\n');
  });
});
