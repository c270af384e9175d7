import type { AlibabaClient } from './client.ts';
import type { AlibabaConfig } from './config.ts';
import { invalid } from './fault.ts';
import type { Metadata } from './metadata.ts';

export type Place = ReturnType<typeof createPlace>;

/** Where the cluster stands: what is not configured is that of the instance that the controller runs on. */
export function createPlace(
  client: Pick<AlibabaClient, 'list'>,
  metadata: Metadata,
  config: Pick<AlibabaConfig, 'vpc' | 'vswitch' | 'routeTables'>,
) {
  let { vpc, vswitch } = config;
  let tables: readonly string[] | undefined = config.routeTables.length > 0 ? config.routeTables : undefined;
  const vpcOf = async (signal?: AbortSignal) => {
    vpc ??= await metadata.read('vpc-id', signal);
    return vpc;
  };

  async function findTables(signal: AbortSignal | undefined): Promise<readonly string[]> {
    const action = 'DescribeRouteTableList';
    const VpcId = await vpcOf(signal);
    const found = await client.list({
      product: 'vpc',
      action,
      params: { VpcId },
      signal,
      perPage: 50,
      paging: 'numbers',
      items: ['RouterTableList', 'RouterTableListType'],
    });
    const ids = found.map((one) => one.text('RouteTableId'));
    if (ids.length === 1) return ids;
    const shown = ids.join(', ') || 'none';
    const message = `routeTableIDs: missing, expected some of the route tables of ${VpcId}: ${shown}`;
    throw invalid(action, message);
  }

  return {
    vpc: vpcOf,
    async vswitch(signal?: AbortSignal): Promise<string> {
      vswitch ??= await metadata.read('vswitch-id', signal);
      return vswitch;
    },
    /** Those that get every pod route. Asked once. Throws `Invalid` where it is not clear which. */
    async routeTables(signal?: AbortSignal): Promise<readonly string[]> {
      tables ??= await findTables(signal);
      return tables;
    },
  };
}
