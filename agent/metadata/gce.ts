import { evidenceAudience, evidenceKinds } from '../../common/attestation.ts';
import type { Instance, Notice } from '../../common/instance.ts';
import type { Clock } from '../../common/process/clock.ts';
import { gceRegion, gce as providerId } from '../../common/provider-id/gce.ts';
import { createAddressList } from './address-list.ts';
import { createMetadataClient, createMetadataHttp } from './client.ts';
import { addressOf, type Fields, fieldsOf, invalid } from './fields.ts';
import { createLongPoll, longPollSeconds, longPollTimeoutMs } from './long-poll.ts';
import { parseLosslessJson } from './lossless-json.ts';
import type { Dmi, MetadataSource, SourceKind } from './source.ts';

const cloud = 'gce';
const tree = '/computeMetadata/v1/';
const everything = `${tree}?recursive=true&alt=json`;
const context = { cloud, operation: `GET ${tree}` };
const identityPath = 'instance/service-accounts/default/identity';
const identityContext = { cloud, operation: `GET ${tree}${identityPath}` };
const readTimeoutMs = 2000;

/**
 * Compute Engine (cloud.google.com/compute/docs/metadata). One request reads everything; the same request can wait for
 * the next change.
 */
export const gce: SourceKind = {
  cloud,
  detect: isGce,
  open: ({ clock, metadataUrl = 'http://169.254.169.254' }) => openGce(clock, metadataUrl),
};

/** The product name is not always set, and the serial needs root. */
function isGce(dmi: Dmi): boolean {
  return dmi.productName === 'Google Compute Engine' || dmi.productSerial?.startsWith('GoogleCloud-') === true;
}

function openGce(clock: Clock, baseUrl: string): MetadataSource {
  // The instance's own attributes, including scripts, may have 512 KiB.
  const client = createMetadataClient({
    cloud,
    baseUrl,
    http: createMetadataHttp(clock),
    clock,
    maxBytes: 1024 * 1024,
  });

  /**
   * Reads an attribute; undefined when it does not exist. The header proves that Google's service answers, because
   * others share its address.
   */
  async function ask(path: string, timeoutMs: number, signal: AbortSignal) {
    const headers = { 'metadata-flavor': 'Google' };
    const answer = await client.answer({ path, headers, timeoutMs, signal, also: [404] });
    if (answer.status === 404) return undefined;
    const flavor = answer.header('metadata-flavor');
    if (flavor !== 'Google') {
      throw invalid(context, 'header Metadata-Flavor', flavor ?? undefined, 'Google: something else answers here');
    }
    return answer;
  }

  async function askEverything(query: string, timeoutMs: number, signal: AbortSignal) {
    const answer = await ask(everything + query, timeoutMs, signal);
    if (answer === undefined) throw invalid(context, 'document', undefined, 'the metadata of a VM');
    const etag = answer.header('etag');
    if (etag === null || etag === '') throw invalid(context, 'header ETag', undefined, 'a text');
    return { etag, text: answer.text };
  }

  const changes = createLongPoll({
    clock,
    context,
    async ask(lastEtag, signal) {
      const query = `&wait_for_change=true&last_etag=${encodeURIComponent(lastEtag)}&timeout_sec=${longPollSeconds}`;
      return (await askEverything(query, longPollTimeoutMs, signal)).etag;
    },
  });

  return {
    cloud,
    async read(signal) {
      const { etag, text } = await askEverything('', readTimeoutMs, signal);
      const instance = instanceOf(parseLosslessJson(cloud, context.operation, text));
      changes.seen(etag);
      return instance;
    },
    waitForChange: changes.wait,
    async evidence(challenge, signal) {
      const audience = encodeURIComponent(evidenceAudience(challenge));
      const answer = await ask(`${tree}${identityPath}?audience=${audience}&format=full`, readTimeoutMs, signal);
      // A VM without a service account has no token (Google Cloud, "Verify the identity of VMs").
      if (answer === undefined) throw invalid(identityContext, 'token', undefined, 'a VM with a service account');
      const document = answer.text.trim();
      if (!/^[\w-]+\.[\w-]+\.[\w-]+$/.test(document)) {
        throw invalid(identityContext, 'token', undefined, 'a signed token');
      }
      return { cloud, kind: evidenceKinds.gce, document };
    },
    async notices(signal) {
      const get = async (key: string) =>
        (await ask(`${tree}instance/${key}`, readTimeoutMs, signal))?.text.trim().toUpperCase();
      return noticesOf(await get('preempted'), await get('maintenance-event'));
    },
  };
}

/** Pure. Throws a CloudError that names a missing or malformed field. */
function instanceOf(document: unknown): Instance {
  const fields = fieldsOf(context, document);
  const instance = part(fields, 'instance');
  const project = part(fields, 'project').text('projectId');
  const name = instance.text('name');
  const number = instance.text('id');
  if (!/^\d+$/.test(number)) throw invalid(context, 'instance.id', number, 'a number');
  const zone = lastSegment(instance.text('zone'));
  const type = instance.optionalText('machineType');
  for (const [field, value] of [
    ['project.projectId', project],
    ['instance.name', name],
    ['instance.zone', zone],
  ] as const) {
    if (!/^[^/\s]+$/.test(value)) throw invalid(context, field, value, 'a name without slashes and blanks');
  }
  const id = `${project}/${zone}/${name}`;
  return {
    cloud,
    id,
    providerID: providerId.print({ instanceId: id }),
    // A VM that is re-created under the same name has another number.
    incarnation: number,
    name,
    zone,
    region: gceRegion(zone),
    ...(type === undefined ? {} : { type: lastSegment(type) }),
    addresses: addressesOf(instance),
  };
}

function part(fields: Fields, name: string): Fields {
  const found = fields.optionalObject(name);
  if (found === undefined) throw invalid(context, name, undefined, 'an object');
  return found;
}

/**
 * In upstream's order: per interface, IPv4 before IPv6. `forwardedIps` belong to load balancers, `ipAliases` to pods.
 */
function addressesOf(instance: Fields) {
  const addresses = createAddressList();
  const nics = instance.objects('networkInterfaces');
  // If a missing list counted as empty, an incomplete document would remove all addresses.
  if (nics.length === 0) throw invalid(context, 'instance.networkInterfaces', undefined, 'a list of interfaces');
  const at = (index: number, field: string) => `instance.networkInterfaces[${index}].${field}`;
  for (const [index, nic] of nics.entries()) {
    const internal = nic.optionalText('ip');
    if (internal !== undefined) addresses.add('InternalIP', addressOf(context, at(index, 'ip'), internal));
    for (const access of nic.objects('accessConfigs')) {
      const external = access.optionalText('externalIp');
      if (external !== undefined)
        addresses.add('ExternalIP', addressOf(context, at(index, 'accessConfigs.externalIp'), external));
    }
  }
  const hostname = instance.optionalText('hostname');
  addresses.add('InternalDNS', hostname);
  addresses.add('Hostname', hostname);
  for (const [index, nic] of nics.entries()) {
    const [first] = [...nic.texts('ipv6'), ...nic.texts('ipv6s')];
    if (first !== undefined) addresses.add('InternalIP', addressOf(context, at(index, 'ipv6'), first));
  }
  return addresses.all;
}

/**
 * `preempted` becomes TRUE 30 seconds before a spot VM ends, `maintenance-event` is set a minute before the event;
 * neither contains a deadline.
 */
function noticesOf(preempted: string | undefined, maintenance: string | undefined): Notice[] {
  const notices: Notice[] = [];
  if (preempted === 'TRUE') notices.push({ kind: 'preemption', message: 'Compute Engine preempts this VM' });
  if (maintenance === undefined || maintenance === '' || maintenance === 'NONE') return notices;
  const ends = maintenance.startsWith('TERMINATE');
  notices.push({ kind: ends ? 'termination' : 'maintenance', message: `maintenance-event ${maintenance}` });
  return notices;
}

function lastSegment(path: string): string {
  return path.slice(path.lastIndexOf('/') + 1);
}
