import { hetzner } from '../../../common/provider-id/hetzner.ts';
import { CloudConfigError, type CloudContext, type InstanceRef, type OpenedCloud } from '../cloud.ts';
import { type CloudParts, configuredModule } from '../configured-module.ts';
import type { WrapHttp } from '../connections.ts';
import { openJsonApi } from '../json-api.ts';
import type { Target } from '../lookup-pass.ts';
import { createMachineLookups } from '../lookups.ts';
import type { CallLimits } from '../token-bucket.ts';
import { checkHetzner } from './check.ts';
import { openClient } from './client.ts';
import { type HetznerConfig, readConfig } from './config.ts';
import { cloud, errorOf } from './fault.ts';
import { checkDefaults, createLoadBalancerDriver } from './load-balancers/driver.ts';
import { settingsOf } from './load-balancers/settings.ts';
import { createNetwork } from './network.ts';
import { createRobot } from './robot.ts';
import { createRoutes } from './routes.ts';
import { createServers, isDedicated } from './servers.ts';

/** Hetzner: one project of Hetzner Cloud and, beside it, dedicated servers. Opening makes no call. */
export const cloudModule = configuredModule(cloud, readWithDefaults, openHetzner, {
  nodeLabels: (annotations) => settingsOf(annotations, new Map()).nodeLabels,
});

/** A project has 3,600 calls an hour, which others use, too; the robot has 200 lists an hour. */
const cloudLimits: CallLimits = { perSecond: 1, burst: 1800 };
const robotLimits: CallLimits = { perSecond: 0.1, burst: 100 };

async function readWithDefaults(...input: Parameters<typeof readConfig>): ReturnType<typeof readConfig> {
  const config = await readConfig(...input);
  const problems = 'reportOnly' in config ? [] : checkDefaults(config.loadBalancers.defaults);
  if (problems.length > 0) throw new CloudConfigError(`hetzner: ${problems.join('; ')}`);
  return config;
}

/** One project. Makes no call. */
export function openHetzner({ config, context, wrapHttp }: CloudParts<HetznerConfig>): OpenedCloud {
  const { clock } = context;
  const { endpoint, token } = config;
  const client = openClient(context, { endpoint, authorization: `Bearer ${token}`, limits: cloudLimits, wrapHttp });
  const network = config.network === undefined ? undefined : createNetwork(client, config.network);
  const robotApi = config.robot && openRobotApi(context, config.robot, wrapHttp);
  const robot = robotApi && createRobot(robotApi, clock, config);
  const targetOf = (ref: InstanceRef) => targetIn(robot !== undefined, ref);
  const serverIdOf = (providerID: string) => {
    const target = targetOf({ by: 'providerID', providerID });
    return target.ask === 'id' && !isDedicated(target.id) ? target.id : undefined;
  };
  const visibility = { shown: false };
  const oneServer = { path: '/servers', query: [['per_page', '1']] } as const;
  return {
    name: cloud,
    async identify(signal) {
      // The API names no project. A network belongs to one, and only its tokens see it.
      const scopeOf = (account: string) => ({ scope: `${new URL(config.endpoint).host}/${account}`, account });
      const unnamed = scopeOf(config.project ?? 'project');
      if (network !== undefined) {
        return { ...scopeOf(`network-${await network.id(signal)}`), formerScopes: [unnamed.scope] };
      }
      await client.call({ ...oneServer, signal });
      return unnamed;
    },
    ...createMachineLookups({
      cloud,
      targetOf,
      machines() {
        const servers = createServers({ client, config, network, visibility });
        return robot === undefined ? [servers] : [servers, robot];
      },
    }),
    loadBalancerDriver: config.loadBalancers.enabled
      ? createLoadBalancerDriver({
          client,
          network,
          defaults: config.loadBalancers.defaults,
          dedicatedServers: robot && ((signal) => robot.addresses(signal)),
        })
      : undefined,
    ...(network !== undefined && config.routes ? { routes: createRoutes({ client, clock, network, serverIdOf }) } : {}),
    files: config.files,
    async ping(signal) {
      await client.call({ ...oneServer, signal });
      await robot?.all([], signal);
    },
    check: (signal) => checkHetzner({ config, client, robot, network }, signal),
    close() {
      client.close();
      robotApi?.close();
    },
  };
}

function targetIn(withRobot: boolean, ref: InstanceRef): Target {
  if (ref.by === 'name') return { ask: 'name', name: ref.name };
  const id = hetzner.parse(ref.providerID)?.instanceId;
  if (id === undefined) return { ask: 'nothing', problem: `${JSON.stringify(ref.providerID)} is no server of Hetzner` };
  if (!isDedicated(id) || withRobot) return { ask: 'id', id, by: 'providerID' };
  return { ask: 'nothing', problem: `${ref.providerID} is a dedicated server, and ROBOT_ENABLED is not true` };
}

function openRobotApi(
  context: CloudContext,
  { endpoint, user, password }: NonNullable<HetznerConfig['robot']>,
  wrapHttp: WrapHttp | undefined,
) {
  const authorization = `Basic ${Buffer.from(`${user}:${password}`).toString('base64')}`;
  return openJsonApi(context, { cloud, endpoint, authorization, limits: robotLimits, wrapHttp, errorOf });
}
