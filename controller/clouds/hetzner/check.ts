import type { CheckResult, Capability } from '../cloud.ts';
import type { HetznerClient } from './client.ts';
import type { HetznerConfig } from './config.ts';
import type { Network } from './network.ts';

export interface CheckParts {
  readonly config: HetznerConfig;
  readonly client: HetznerClient;
  readonly robot: HetznerClient | undefined;
  readonly network: Network | undefined;
}

/**
 * Each read that is needed. That the token may write is proved by a call that cannot change anything: without the fields it needs, a route is refused as
 * invalid, and a token that only reads is refused before that.
 */
export async function checkHetzner(
  { config, client, robot, network }: CheckParts,
  signal: AbortSignal | undefined,
): Promise<readonly CheckResult[]> {
  const results: CheckResult[] = [];
  const prove = async (name: string, half: Capability | undefined, advice: string, proof: () => Promise<string>) => {
    const about = half === undefined ? { name } : { name, neededFor: [half] };
    try {
      results.push({ ...about, ok: true, message: await proof() });
    } catch (error) {
      const reason = error instanceof Error ? error.message : String(error);
      results.push({ ...about, ok: false, message: `${reason}; ${advice}` });
    }
  };
  const page = [['per_page', '1']] as const;
  await prove('servers', undefined, 'see HCLOUD_TOKEN', async () => {
    await client.call({ path: '/servers', query: page, signal });
    return `read at ${config.endpoint}`;
  });
  if (network !== undefined)
    await prove('network', undefined, 'see HCLOUD_NETWORK', async () => `network ${await network.id(signal)}`);
  if (robot !== undefined)
    await prove('dedicated servers', undefined, 'see ROBOT_USER and ROBOT_PASSWORD', async () => {
      await robot.send({ path: '/server', signal });
      return `read at ${config.robot!.endpoint}`;
    });
  return results;
}
