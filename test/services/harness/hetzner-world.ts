import assert from 'node:assert/strict';
import type { Clock } from '../../../common/process/clock.ts';
import type { Http } from '../../../common/process/http.ts';
import { silentLog } from '../../../common/process/log.ts';
import { seededRandom } from '../../../common/process/random.ts';
import type { Cloud } from '../../../controller/clouds/cloud.ts';
import { readConfig } from '../../../controller/clouds/hetzner/config.ts';
import { openHetzner } from '../../../controller/clouds/hetzner/index.ts';
import { readClusterUid } from '../../../controller/kube/cluster-identity.ts';
import type { ConfiguredCloud } from '../../../controller/model/configured-cloud.ts';
import { withLoadBalancers } from '../../../controller/services/balancers/with-load-balancers.ts';
import { createFakeHetzner, token } from '../../clouds/hetzner/fake-hetzner.ts';
import type { FakeHetzner } from '../../clouds/hetzner/fake-project.ts';
import { inProcessKube } from '../../nodes/harness/kube-in-process.ts';
import { createWorld, type World } from './world.ts';

export interface HetznerWorld {
  readonly world: World;
  readonly fake: FakeHetzner;
  /** A server, with its Node. */
  join(name: string): void;
}

/** A cluster of two Nodes on a fake Hetzner Cloud, where the parts of a load balancer carry no marks of their own. */
export async function createHetznerWorld(): Promise<HetznerWorld> {
  const scope = 'hetzner.test/fake';
  let configuredFor: ((http: Http, clock: Clock) => ConfiguredCloud) | undefined;
  const world: World = createWorld({
    configured: (life, clock) => configuredFor!(life.http(fake.http), clock),
    task: { clusterUid: () => readClusterUid(inProcessKube(world.core, world.clock)) },
  });
  const fake = createFakeHetzner(world.clock);
  const network = fake.addNetwork('k8s');
  const env = {
    HCLOUD_TOKEN: token,
    HCLOUD_ENDPOINT: 'http://hetzner.test/v1',
    HCLOUD_NETWORK: 'k8s',
    HCLOUD_LOAD_BALANCERS_LOCATION: 'fsn1',
  };
  const config = await readConfig(undefined, env, async () => undefined);
  assert.ok(!('reportOnly' in config));
  configuredFor = (http, clock) => {
    const context = { clock, random: seededRandom(1), log: silentLog, env: {}, onCall() {} };
    const opened = openHetzner({ config, context, wrapHttp: () => http });
    const api = withLoadBalancers<Cloud>({ ...opened, scope, account: 'fake' }, clock);
    return { name: 'hcloud', scope, accepts: (id) => api.accepts(id), selector: undefined, api };
  };
  function join(name: string): void {
    const { id, privateNets } = fake.addServer(name, { network: network.id });
    world.cluster.register(name, {
      tainted: false,
      providerID: `hcloud://${id}`,
      addresses: [{ type: 'InternalIP', address: privateNets[0]!.ip }],
      annotations: { 'mooring.dev/instance': `${scope} ${id}` },
    });
  }
  for (const name of ['a', 'b']) join(name);
  return { world, fake, join };
}
