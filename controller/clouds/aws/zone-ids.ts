import { DescribeAvailabilityZonesCommand } from '@aws-sdk/client-ec2';
import type { Clock } from '../../../common/process/clock.ts';
import { errorFields, type Log } from '../../../common/process/log.ts';
import type { Ec2 } from './ec2.ts';

export type ZoneIds = ReturnType<typeof createZoneIds>;

const retryMs = 5 * 60_000;

/** The ids of the region's zones, read once and again when a zone is new. Failing only leaves the label out. */
export function createZoneIds(ec2: Ec2, clock: Clock, log: Log) {
  const known = new Map<string, string>();
  let triedAt: number | undefined;
  let reading: Promise<void> | undefined;
  async function read(signal: AbortSignal | undefined): Promise<void> {
    triedAt = clock.monotonic();
    try {
      const { AvailabilityZones } = await ec2.read(new DescribeAvailabilityZonesCommand(), { signal });
      for (const { ZoneName, ZoneId } of AvailabilityZones ?? []) if (ZoneName && ZoneId) known.set(ZoneName, ZoneId);
    } catch (error) {
      log.warn('zone ids are unknown; nodes go without the zone-id label', errorFields(error));
    }
  }
  return {
    of: (zone: string) => known.get(zone),
    /** Reads the zones if one of these is unknown and the last try lies back far enough. Does not throw. */
    async learn(zones: Iterable<string>, signal?: AbortSignal): Promise<void> {
      if ([...zones].every((zone) => known.has(zone))) return;
      if (reading === undefined) {
        if (triedAt !== undefined && clock.monotonic() - triedAt < retryMs) return;
        reading = read(signal).finally(() => {
          reading = undefined;
        });
      }
      await reading;
    },
  };
}
