import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { advanceDuring, fakeClock } from '../../../common/testing/fake-clock.ts';
import { cloudSuite } from '../suite/cloud-suite.ts';
import { fakeVCenter } from './fake/fake-vcenter.ts';
import { vsphereCapabilities, vsphereWorld } from './vsphere-world.ts';

cloudSuite({
  name: 'vsphere, on a fake vCenter',
  capabilities: vsphereCapabilities,
  async open() {
    const clock = fakeClock();
    const fake = fakeVCenter();
    fake.tags.set('host-1', { 'k8s-zone': 'zone-1' });
    fake.tags.set('datacenter-1', { 'k8s-region': 'region-1' });
    // A vCenter without any VM proves nothing.
    fake.vms.set('vm-0', { uuid: randomUUID(), name: 'another' });
    const idOf = (uuid: string) => {
      const id = [...fake.vms].find(([, vm]) => vm.uuid === uuid)?.[0];
      assert.ok(id, uuid);
      return id;
    };
    let made = 0;
    return vsphereWorld({
      config: '[Global]\nserver = vc\nuser = user\npassword = pass\n[Labels]\nzone = k8s-zone\nregion = k8s-region\n',
      zone: 'zone-1',
      clock,
      wrapHttp: () => fake.http,
      behind: {
        async createVm(name, address) {
          const uuid = randomUUID();
          made += 1;
          fake.vms.set(`vm-${made}`, { uuid, name, addresses: [address] });
          return uuid;
        },
        async deleteVm(uuid) {
          fake.vms.delete(idOf(uuid));
        },
        async stopVm(uuid) {
          fake.vms.get(idOf(uuid))!.power = 'poweredOff';
        },
        refuseCredential(refused) {
          fake.password = refused ? 'another' : 'pass';
        },
      },
      during: (work) => advanceDuring(clock, work),
      pass: (ms) => clock.advance(ms),
      close: async () => {},
    });
  },
});
