import { createChecks, createNothing } from '../checks.ts';
import type { CheckResult } from '../cloud.ts';
import type { Machines } from '../machines.ts';
import type { HetznerClient } from './client.ts';
import type { HetznerConfig } from './config.ts';
import type { Network } from './network.ts';

export interface CheckParts {
  readonly config: HetznerConfig;
  readonly client: HetznerClient;
  readonly robot: Machines | undefined;
  readonly network: Network | undefined;
}

/** Each read that is needed, and that the token may write. */
export async function checkHetzner(
  { config, client, robot, network }: CheckParts,
  signal: AbortSignal | undefined,
): Promise<readonly CheckResult[]> {
  const { results, prove } = createChecks();
  await prove({ name: 'servers' }, 'see HCLOUD_TOKEN', async () => {
    await client.call({ path: '/servers', query: [['per_page', '1']], signal });
    return `read at ${config.endpoint}`;
  });
  if (network !== undefined)
    await prove({ name: 'network' }, 'see HCLOUD_NETWORK', async () => (await network.read(signal)).text('name'));
  if (robot !== undefined)
    await prove({ name: 'dedicated servers' }, 'see ROBOT_USER and ROBOT_PASSWORD', async () => {
      await robot.all([], signal);
      return `read at ${config.robot!.endpoint}`;
    });
  if (!config.routes && !config.loadBalancers.enabled) return results;
  const neededFor = ['routes', 'load balancers'] as const;
  await prove({ name: 'writing', neededFor }, 'expected a token that writes', () =>
    createNothing(client, '/load_balancers', signal),
  );
  return results;
}
