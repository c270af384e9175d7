import { isCloudError } from '../../../common/cloud-error.ts';
import { createChecks } from '../checks.ts';
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

/**
 * Each read that is needed. That the token may write is proved by a create that lacks everything: a token that only
 * reads is refused before the API looks at what is sent.
 */
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
  await prove({ name: 'writing', neededFor }, 'expected a token that writes', async () => {
    const nothing = { method: 'POST', path: '/load_balancers', body: {}, permit: () => {}, signal } as const;
    await client.call(nothing).catch((error: unknown) => {
      if (!isCloudError(error) || !['Invalid', 'QuotaExceeded'].includes(error.kind)) throw error;
    });
    return 'the token may write';
  });
  return results;
}
