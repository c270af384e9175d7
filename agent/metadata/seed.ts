import { join } from 'node:path';
import type { SeedVolume } from '../seed/seed-volume.ts';
import { maxMetadataBytes } from './client.ts';
import { fieldsOf, invalid } from './fields.ts';
import { readTopLevel } from './plain-yaml.ts';
import { readSeedFile } from './seed-file.ts';

/** What a cloud-init seed says of its machine, with the keys of NoCloud's `meta-data`. */
export interface Seed {
  /** The location of the seed, as text for people. */
  readonly operation: string;
  readonly document: unknown;
}

/** The text of a file of the seed; undefined where there is none. */
type TextOf = (path: string) => Promise<string | undefined>;

/** Of a folder. Throws a CloudError where it has none. */
export function readSeedFolder(cloud: string, folder: string): Promise<Seed> {
  const textOf: TextOf = (path) => {
    const file = join(folder, path);
    return readSeedFile(file, { cloud, operation: `read ${file}` }, maxMetadataBytes);
  };
  return readSeed(cloud, folder, textOf);
}

/** Of the machine's cloud-init volume. Throws a CloudError where it has none. */
export function readVolume(cloud: string, { device, text }: SeedVolume): Promise<Seed> {
  return readSeed(cloud, device, text);
}

async function readSeed(cloud: string, place: string, textOf: TextOf): Promise<Seed> {
  const seed = await readYaml('meta-data');
  if (seed !== undefined) return seed;
  const drive = await readYaml('openstack/latest/meta_data.json');
  if (drive !== undefined) return { ...drive, document: fromConfigDrive(cloud, drive) };
  const context = { cloud, operation: `read ${place}` };
  throw invalid(context, 'meta-data', undefined, 'a file of that name, or openstack/latest/meta_data.json');

  /** Parses JSON if the text is an object, else YAML. Undefined when there is no such file. */
  async function readYaml(path: string): Promise<Seed | undefined> {
    const operation = `read ${join(place, path)}`;
    const text = await textOf(path);
    return text === undefined ? undefined : { operation, document: readTopLevel({ cloud, operation }, text) };
  }
}

/** The keys of the seed in the form of a config drive: common keys at the top level, the others in `meta`. */
function fromConfigDrive(cloud: string, { operation, document }: Seed): unknown {
  const fields = fieldsOf({ cloud, operation }, document);
  const meta = fields.optionalObject('meta');
  return {
    'instance-id': fields.text('uuid'),
    hostname: fields.optionalText('hostname') ?? fields.optionalText('name'),
    zone: meta?.optionalText('zone') ?? fields.optionalText('availability_zone'),
    region: meta?.optionalText('region'),
    'instance-type': meta?.optionalText('instance-type'),
    'provider-id': meta?.optionalText('provider-id'),
    'public-hostname': meta?.optionalText('public-hostname'),
  };
}
