import assert from 'node:assert/strict';
import { systemClock } from '../../../common/process/clock.ts';
import { cloudSuite } from '../suite/cloud-suite.ts';
import { startVcsim } from './start-vcsim.ts';
import { vsphereCapabilities, vsphereWorld } from './vsphere-world.ts';

const program = process.env['VCSIM'];
assert.ok(program, 'VCSIM: expected the program');

cloudSuite({
  name: 'vsphere, on vcsim',
  capabilities: vsphereCapabilities,
  async open() {
    const vcsim = await startVcsim(program, { uuid: '7c9d1f0e-0000-4000-8000-00000000000a' });
    await vcsim.order({ do: 'tag', object: '/DC0', category: 'k8s-region', tag: 'region-1' });
    await vcsim.order({ do: 'tag', object: '/DC0/host/DC0_C0', category: 'k8s-zone', tag: 'zone-1' });
    const config = `[Global]
user = user
password = pass
insecure-flag = true
[VirtualCenter "${vcsim.server}"]
port = ${vcsim.port}
datacenters = DC0
[Labels]
zone = k8s-zone
region = k8s-region
`;
    let isRefused = false;
    return vsphereWorld({
      config,
      wrapHttp: (http) => (request) => {
        const body = request.body?.replace('<password>pass<', `<password>${isRefused ? 'another' : 'pass'}<`);
        return http({ ...request, ...(body === undefined ? {} : { body }) });
      },
      zone: 'zone-1',
      clock: systemClock(),
      behind: {
        async createVm(vm, address) {
          const nics = [{ network: 'VM Network', addresses: [address] }];
          return (await vcsim.order({ do: 'create', vm, hostName: vm, datacenter: 'DC0', nics })).uuid;
        },
        deleteVm: async (uuid) => {
          await vcsim.order({ do: 'power off', uuid });
          await vcsim.order({ do: 'destroy', uuid });
        },
        refuseCredential: (refused) => {
          isRefused = refused;
        },
        stopVm: (uuid) => vcsim.order({ do: 'power off', uuid }),
      },
      during: (work) => work,
      pass: async () => {},
      close: () => vcsim.close(),
    });
  },
});
