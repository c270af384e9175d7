import {
  CreateRouteCommand,
  DeleteRouteCommand,
  ModifyInstanceAttributeCommand,
  ModifyNetworkInterfaceAttributeCommand,
} from '@aws-sdk/client-ec2';
import { isCloudError } from '../../../../common/cloud-error.ts';
import { aws } from '../../../../common/provider-id/aws.ts';
import { normalCidr } from '../../ip-address.ts';
import type { ApplyOptions } from '../../permit.ts';
import type { DesiredRoute, Routes } from '../../routes.ts';
import { awsError, codeOf } from '../errors.ts';
import type { AwsParts } from '../parts.ts';
import { createTogether } from '../security-groups/together.ts';
import type { ReadOptions } from '../service-calls.ts';
import { readRouteTable } from './route-table.ts';
import { type AwsRoute, destinationFields, viewOf } from './route-view.ts';
import { createRoutedInstances, type RoutedInstance } from './routed-instances.ts';

/**
 * Pod routes in one route table. EC2 has no tags on routes and tells no quota. It forwards packets to an instance only
 * once the instance's source/destination check is off; this is switched off before the route is created, so an existing
 * route needs nothing more.
 */
export function createRoutes(parts: AwsParts): Routes<AwsRoute> {
  const { ec2 } = parts;
  const instances = createRoutedInstances(ec2);
  let tableId: string | undefined;

  async function read(options: ReadOptions) {
    const { RouteTableId: id, Routes: routes = [] } = await readRouteTable(parts, options);
    tableId = id;
    await instances.learn(
      routes.flatMap(({ InstanceId }) => InstanceId ?? []),
      options,
    );
    return { table: id, routes: routes.flatMap((route) => viewOf(id, route, instances.zoneOf) ?? []) };
  }

  const readTogether = createTogether(read);

  /** What stands in the table now. */
  async function standing(destination: string, signal: AbortSignal | undefined): Promise<AwsRoute | undefined> {
    const { routes } = await readTogether({ urgency: 'change', signal });
    return routes.find((route) => route.destination === destination);
  }

  async function create(route: DesiredRoute, options: ApplyOptions): Promise<AwsRoute> {
    const operation = 'CreateRoute';
    const id = aws.parse(route.providerID)?.instanceId;
    const destination = normalCidr(route.destination);
    if (id === undefined || destination === undefined) {
      const [field, value] = id === undefined ? ['providerID', route.providerID] : ['destination', route.destination];
      throw awsError('Invalid', operation, `${field}: ${JSON.stringify(value)}, expected an instance and a CIDR`);
    }
    const before: ReadOptions = { urgency: 'change', signal: options.signal };
    const table = tableId ?? (await readTogether(before)).table;
    const instance = await instances.get(id, before);
    if (instance === undefined) throw awsError('NotFound', operation, `EC2 does not show instance ${id} yet`);
    if (instance.checksDestination) await stopChecking(id, instance, options);
    const targets = instance.interfaceId === undefined ? [id] : [id, instance.interfaceId];
    try {
      const command = new CreateRouteCommand({
        RouteTableId: table,
        ...destinationFields(destination),
        ...(instance.interfaceId ? { NetworkInterfaceId: instance.interfaceId } : { InstanceId: id }),
      });
      await ec2.change(command, options);
    } catch (error) {
      if (codeOf(error) === 'InvalidRouteTableID.NotFound') tableId = undefined;
      if (codeOf(error) !== 'RouteAlreadyExists') throw error;
      const there = await standing(destination, options.signal);
      if (there === undefined || !meet(there.targets, targets) || there.blackhole) throw error;
      return there;
    }
    const made = { destination, providerID: route.providerID, blackhole: false, ours: undefined };
    return { ...made, id: `${table}/${destination}`, table, targets };
  }

  async function stopChecking(id: string, { interfaceId }: RoutedInstance, options: ApplyOptions): Promise<void> {
    const SourceDestCheck = { Value: false };
    if (interfaceId === undefined) {
      await ec2.change(new ModifyInstanceAttributeCommand({ InstanceId: id, SourceDestCheck }), options);
    } else {
      const command = new ModifyNetworkInterfaceAttributeCommand({ NetworkInterfaceId: interfaceId, SourceDestCheck });
      await ec2.change(command, options);
    }
  }

  /** EC2 deletes whatever has the destination, so it is looked at once more. */
  async function remove(route: AwsRoute, options: ApplyOptions): Promise<void> {
    const operation = 'DeleteRoute';
    const { destination, table, targets } = route;
    const there = await standing(destination, options.signal);
    if (there === undefined || there.table !== table) return;
    if (!meet(there.targets, targets)) {
      const [now, then] = [there.targets, targets].map((ids) => ids.join(', '));
      throw awsError('Conflict', operation, `${destination} leads to ${now} now, not to ${then}`);
    }
    const command = new DeleteRouteCommand({ RouteTableId: table, ...destinationFields(destination) });
    try {
      await ec2.change(command, options);
    } catch (error) {
      if (!isCloudError(error) || codeOf(error) !== 'InvalidRoute.NotFound') throw error;
    }
  }

  return {
    tagged: false,
    async observe(_cluster, signal) {
      const { routes } = await read({ urgency: 'refresh', signal });
      return { routes, quota: undefined };
    },
    create,
    remove,
  };
}

/** Whether both lead to one thing. Of an instance that has ended, EC2 shows the interface alone. */
function meet(some: readonly string[], others: readonly string[]): boolean {
  return some.some((target) => others.includes(target)) || (some.length === 0 && others.length === 0);
}
