import { join } from 'node:path';
import { CloudError } from '../../common/cloud-error.ts';
import type { Clock } from '../../common/process/clock.ts';
import type { Http } from '../../common/process/http.ts';
import { createMetadataClient, type MetadataClient, parseJson } from './client.ts';
import { askInTurn, isEndpointFailure, linkLocalUrls, preferring } from './endpoints.ts';
import { fieldsOf } from './fields.ts';
import { readSeedFile } from './seed-file.ts';
import type { LocalInterface } from './source.ts';

/** The metadata documents of one OpenStack VM, unparsed. */
export interface OpenstackDocuments {
  readonly metaData: unknown;
  /** Missing before OpenStack Liberty. */
  readonly networkData: unknown | undefined;
  /** From the EC2-compatible tree: the only source of flavour name and floating address. */
  readonly ec2: { readonly type?: string; readonly publicIPv4?: string; readonly localIPv4?: string };
}

export type ReadOpenstackDocuments = (signal: AbortSignal) => Promise<OpenstackDocuments>;

const tree = '/openstack/latest';
const ec2Tree = '/latest/meta-data';
const maxFileBytes = 1024 * 1024;

export interface OpenstackServiceOptions {
  readonly cloud: string;
  readonly clock: Clock;
  readonly http: Http;
  readonly metadataUrl: string | undefined;
  readonly interfaces: (() => readonly LocalInterface[]) | undefined;
}

/**
 * Reads from the HTTP service, over IPv4 or, on IPv6-only networks, over its link-local address on each interface in
 * turn.
 */
export function openstackService({
  cloud,
  clock,
  http,
  metadataUrl,
  interfaces,
}: OpenstackServiceOptions): ReadOpenstackDocuments {
  const clients = new Map<string, MetadataClient>();
  let answered: MetadataClient | undefined;

  function clientOf(baseUrl: string): MetadataClient {
    const known = clients.get(baseUrl) ?? createMetadataClient({ cloud, baseUrl, http, clock });
    clients.set(baseUrl, known);
    return known;
  }

  return async (signal) => {
    const urls =
      metadataUrl === undefined ? ['http://169.254.169.254', ...linkLocalUrls(interfaces?.() ?? [])] : [metadataUrl];
    const path = `${tree}/meta_data.json`;
    const candidates = preferring(urls.map(clientOf), answered);
    answered = undefined;
    const { client, answer } = await askInTurn(candidates, (candidate) => candidate.json({ path, signal }), signal);
    answered = client;
    if (answer === undefined) throw missing(cloud, `GET ${path}`);
    const text = async (key: string) => (await client.text({ path: `${ec2Tree}/${key}`, signal }))?.trim() || undefined;
    try {
      const networkData = await client.json({ path: `${tree}/network_data.json`, signal });
      const ec2 = ec2Facts(await text('instance-type'), await text('public-ipv4'), await text('local-ipv4'));
      return { metaData: answer, networkData, ec2 };
    } catch (error) {
      if (error instanceof CloudError && isEndpointFailure(error)) answered = undefined;
      throw error;
    }
  };
}

/**
 * Reads from a mounted config drive, or a copy of one. It was written at boot, so it does not contain floating
 * addresses added later.
 */
export function openstackDrive(cloud: string, folder: string): ReadOpenstackDocuments {
  async function json(path: string): Promise<unknown | undefined> {
    const file = join(folder, path);
    const operation = `read ${file}`;
    const text = await readSeedFile(file, { cloud, operation }, maxFileBytes);
    if (text === undefined) return undefined;
    return parseJson(cloud, operation, text);
  }

  return async () => {
    const metaData = await json('openstack/latest/meta_data.json');
    if (metaData === undefined) throw missing(cloud, `read ${join(folder, 'openstack/latest/meta_data.json')}`);
    const ec2 = await json('ec2/latest/meta-data.json');
    const fields =
      ec2 === undefined ? undefined : fieldsOf({ cloud, operation: 'read ec2/latest/meta-data.json' }, ec2);
    return {
      metaData,
      networkData: await json('openstack/latest/network_data.json'),
      ec2: ec2Facts(
        fields?.optionalText('instance-type'),
        fields?.optionalText('public-ipv4'),
        fields?.optionalText('local-ipv4'),
      ),
    };
  };
}

function missing(cloud: string, operation: string): CloudError {
  return new CloudError({ cloud, operation, kind: 'Invalid', message: 'meta_data.json: missing, expected a document' });
}

function ec2Facts(type: string | undefined, publicIPv4: string | undefined, localIPv4: string | undefined) {
  return {
    ...(type === undefined ? {} : { type }),
    ...(publicIPv4 === undefined ? {} : { publicIPv4 }),
    ...(localIPv4 === undefined ? {} : { localIPv4 }),
  };
}
