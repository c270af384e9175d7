import type { Clock } from '../common/process/clock.ts';
import type { Log } from '../common/process/log.ts';
import type { Random } from '../common/process/random.ts';
import { detectCloud } from './detect.ts';
import { readLocalInterfaces } from './local-interfaces.ts';
import type { Machine } from './machine.ts';
import { maxMetadataBytes } from './metadata/client.ts';
import { sourceKinds } from './metadata/registry.ts';
import type { Dmi, MetadataSource } from './metadata/source.ts';
import type { SourceValues } from './options.ts';
import { findSeedVolume } from './seed/seed-volume.ts';

/** The clouds that flags are for: elsewhere they have no effect. */
const flagsOfClouds = [
  ['configDrive', '--config-drive', ['cloudstack', 'huaweicloud', 'nocloud', 'openstack', 'ovirt']],
  ['regionalProviderId', '--regional-provider-id', ['openstack']],
  ['scheduledEvents', '--scheduled-events', ['azure']],
] as const;

export interface OpenedSource {
  readonly source: MetadataSource;
  readonly dmi: Dmi;
  /** How the cloud was determined. */
  readonly by: 'flag' | 'firmware';
}

export interface OpenSourceDependencies {
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  readonly machine: Machine;
}

/**
 * Opens the metadata source named by the flags, or detected from the firmware. Throws an Error with a message for
 * people when the detection is ambiguous.
 */
export async function openSource(
  values: SourceValues,
  { clock, random, log, machine }: OpenSourceDependencies,
): Promise<OpenedSource> {
  const dmi = await machine.dmi();
  const named = sourceKinds.get(values.cloud);
  const seedVolume = (cloud: string) => findSeedVolume(values.systemRoot, { cloud, maxBytes: maxMetadataBytes });
  const hasSeed = async () => (await seedVolume('nocloud'))?.label === 'cidata';
  const detection =
    named === undefined
      ? detectCloud(sourceKinds.values(), dmi, { place: machine.place, hasSeed: await hasSeed() })
      : { ok: true as const, kind: named };
  if (!detection.ok) throw new Error(detection.message);
  const { cloud } = detection.kind;
  for (const [value, flag, clouds] of flagsOfClouds)
    if (values[value] && !clouds.some((one) => one === cloud)) log.warn(`${flag} has no effect`, { cloud });
  const source = detection.kind.open({
    clock,
    random,
    log,
    dmi,
    interfaces: readLocalInterfaces,
    guestinfo: machine.guestinfo,
    seedVolume,
    regionalProviderId: values.regionalProviderId,
    scheduledEvents: values.scheduledEvents,
    ...(values.metadataUrl === undefined ? {} : { metadataUrl: values.metadataUrl }),
    ...(values.configDrive === undefined ? {} : { configDrive: values.configDrive }),
    ...(values.region === undefined ? {} : { region: values.region }),
  });
  return { source, dmi, by: named === undefined ? 'firmware' : 'flag' };
}
