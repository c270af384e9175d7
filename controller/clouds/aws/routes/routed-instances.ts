import type { Instance as Ec2Instance } from '@aws-sdk/client-ec2';
import { LRUCache } from 'lru-cache';
import { chunks } from '../../parallel.ts';
import { type Ec2, listInstances } from '../ec2.ts';
import { inDeviceOrder } from '../instance.ts';
import type { ReadOptions } from '../service-calls.ts';

/** What routing has to know of an instance. */
export interface RoutedInstance {
  readonly zone: string | undefined;
  /** EC2 drops packets that are not for the instance itself. */
  readonly checksDestination: boolean;
  /** Set where it has several interfaces: then EC2 wants to be told which one is meant. The primary one. */
  readonly interfaceId: string | undefined;
}

/** EC2 takes up to 200 values a filter. */
const idsPerFilter = 200;
/** More than a route table takes. */
const remembered = 5000;

/** Instances that routes lead to, read in few calls and remembered. */
export function createRoutedInstances(ec2: Ec2) {
  const known = new LRUCache<string, RoutedInstance>({ max: remembered });
  let asked = new Set<string>();
  let next: Promise<void> | undefined;

  async function read(ids: readonly string[], options: ReadOptions): Promise<void> {
    await Promise.all(
      chunks(ids, idsPerFilter).map(async (some) => {
        const found = await listInstances(ec2, [{ Name: 'instance-id', Values: some }], options);
        for (const instance of found) known.set(instance.InstanceId ?? '', viewOf(instance));
      }),
    );
  }

  return {
    zoneOf: (id: string) => known.get(id)?.zone,
    /** Reads those that were never seen. Throws a CloudError. */
    async learn(ids: Iterable<string>, options: ReadOptions): Promise<void> {
      const missing = [...new Set(ids)].filter((id) => !known.has(id));
      if (missing.length > 0) await read(missing, options);
    },
    /** The instance now; undefined where EC2 does not return it. Calls of one moment share one read. */
    async get(id: string, options: ReadOptions): Promise<RoutedInstance | undefined> {
      known.delete(id);
      asked.add(id);
      next ??= Promise.resolve().then(() => {
        const ids = [...asked];
        asked = new Set();
        next = undefined;
        return read(ids, options);
      });
      await next;
      return known.get(id);
    },
  };
}

function viewOf({ Placement, SourceDestCheck, NetworkInterfaces = [] }: Ec2Instance): RoutedInstance {
  const [first] = inDeviceOrder(NetworkInterfaces);
  const several = NetworkInterfaces.length > 1;
  return {
    zone: Placement?.AvailabilityZone || undefined,
    checksDestination: (several ? first?.SourceDestCheck : SourceDestCheck) !== false,
    interfaceId: several ? first?.NetworkInterfaceId : undefined,
  };
}
