import { isIP } from 'node:net';
import { evidenceKinds } from '../../common/attestation.ts';
import type { Instance } from '../../common/instance.ts';
import { azureResourceId, azure as providerId } from '../../common/provider-id/azure.ts';
import { createAddressList } from './address-list.ts';
import { azureNotices } from './azure-notices.ts';
import { createAzureSession } from './azure-session.ts';
import { createMetadataHttp } from './client.ts';
import { addressOf, type Fields, fieldsOf, invalid } from './fields.ts';
import { labelValue } from './openstack-instance.ts';
import type { SourceKind } from './source.ts';

const cloud = 'azure';
const context = { cloud, operation: 'GET /metadata/instance' };
const attestedContext = { cloud, operation: 'GET /metadata/attested/document' };
const loadBalancerContext = { cloud, operation: 'GET /metadata/loadbalancer' };

/** Azure (learn.microsoft.com, "Azure Instance Metadata Service"). */
export const azure: SourceKind = {
  cloud,
  detect: (dmi) => dmi.chassisAssetTag === '7783-7084-3265-9085-8269-3286-77',
  open({ clock, metadataUrl = 'http://169.254.169.254', scheduledEvents = false }) {
    const session = createAzureSession({ http: createMetadataHttp(clock), clock, baseUrl: metadataUrl });
    const readDocument = async (signal: AbortSignal) => fieldsOf(context, await session.instance(signal));
    let vmName: string | undefined;
    return {
      cloud,
      async read(signal) {
        const document = await readDocument(signal);
        const compute = part(document, 'compute');
        const own = ownAddresses(document);
        const missing = own.some((address) => address.external === undefined);
        const balanced = missing ? await session.loadBalancer(signal) : undefined;
        const instance = instanceOf(compute, withBalanced(own, balanced));
        vmName = compute.text('name');
        return instance;
      },
      async evidence(challenge, signal) {
        const attested = fieldsOf(attestedContext, await session.attestedDocument(challenge, signal));
        const encoding = attested.text('encoding');
        if (encoding !== 'pkcs7') throw invalid(attestedContext, 'encoding', encoding, 'pkcs7');
        return { cloud, kind: evidenceKinds.azure, document: attested.text('signature') };
      },
      ...(scheduledEvents && {
        async notices(signal) {
          vmName ??= part(await readDocument(signal), 'compute').text('name');
          return azureNotices(await session.scheduledEvents(signal), vmName);
        },
      }),
    };
  },
};

interface OwnAddress {
  readonly internal: string;
  readonly external?: string;
}

function instanceOf(compute: Fields, own: readonly OwnAddress[]): Instance {
  const written = compute.text('resourceId');
  const id = azureResourceId(written);
  if (id === undefined) throw invalid(context, 'compute.resourceId', written, "a VM's resource id");
  const region = compute.text('location').toLowerCase();
  const zone = zoneOf(compute, region);
  const type = compute.optionalText('vmSize');
  const labels = labelsOf(compute);
  const addresses = createAddressList();
  addresses.add('Hostname', compute.optionalObject('osProfile')?.optionalText('computerName')?.toLowerCase());
  for (const { internal, external } of own) {
    addresses.add('InternalIP', internal);
    addresses.add('ExternalIP', external);
  }
  return {
    cloud,
    id,
    providerID: providerId.print({ instanceId: id }),
    // A VM that is re-created under the same name has the same resource id.
    incarnation: compute.text('vmId').toLowerCase(),
    name: nodeNameOf(compute),
    ...(zone === undefined ? {} : { zone }),
    region,
    ...(type === undefined ? {} : { type }),
    addresses: addresses.all,
    ...(Object.keys(labels).length === 0 ? {} : { labels }),
  };
}

function part(document: Fields, name: string): Fields {
  const found = document.optionalObject(name);
  if (found === undefined) throw invalid(context, name, undefined, 'an object');
  return found;
}

/** The name by which upstream's controller finds the VM: its name, but in a scale set its host name. */
function nodeNameOf(compute: Fields): string {
  const host = compute.optionalObject('osProfile')?.optionalText('computerName');
  const inSet = compute.optionalText('vmScaleSetName') !== undefined;
  return (inSet ? host : undefined) ?? compute.text('name');
}

/** Upstream's rule: the zone where there are zones, the number of the fault domain elsewhere. */
function zoneOf(compute: Fields, region: string): string | undefined {
  const zone = compute.optionalText('zone');
  return zone === undefined ? compute.optionalText('platformFaultDomain') : `${region}-${zone}`.toLowerCase();
}

/** The labels that upstream's agent writes. */
function labelsOf(compute: Fields): Record<string, string> {
  const labels: Record<string, string> = {};
  const subDomain = compute.optionalText('platformSubFaultDomain');
  if (subDomain !== undefined) labels['topology.kubernetes.azure.com/sub-fault-domain'] = subDomain;
  const group = compute.objects('tagsList').find((tag) => tag.optionalText('name') === 'Platform_Interconnect_Group');
  // The value of a tag may be invalid as a label.
  const value = labelValue(group?.optionalText('value') ?? '');
  if (value !== '') labels['topology.kubernetes.azure.com/interconnect-group'] = value;
  return labels;
}

/** The first address of each family of the first interface, as upstream has it: the others belong to pods. */
function ownAddresses(document: Fields): OwnAddress[] {
  const [nic] = part(document, 'network').objects('interface');
  const own = (['ipv4', 'ipv6'] as const).flatMap((family) => {
    const [first] = nic?.optionalObject(family)?.objects('ipAddress') ?? [];
    const read = (field: string) => {
      const text = first?.optionalText(field);
      const at = `network.interface[0].${family}.ipAddress[0].${field}`;
      return text === undefined ? undefined : addressOf(context, at, text);
    };
    const internal = read('privateIpAddress');
    const external = read('publicIpAddress');
    return internal === undefined ? [] : [{ internal, ...(external === undefined ? {} : { external }) }];
  });
  // If a missing list counted as empty, an incomplete document would remove all addresses.
  if (own.length === 0) throw invalid(context, 'network.interface[0]', undefined, 'an interface with an address');
  return own;
}

/** Adds public addresses of standard SKUs, which only the load balancer's document contains, with IPv6 in brackets. */
function withBalanced(own: readonly OwnAddress[], document: unknown): readonly OwnAddress[] {
  if (document === undefined) return own;
  const balancer = fieldsOf(loadBalancerContext, document).optionalObject('loadbalancer');
  const frontends = new Map<string, string>();
  for (const [index, entry] of (balancer?.objects('publicIpAddresses') ?? []).entries()) {
    const read = (field: string) => {
      const text = entry.optionalText(field);
      const at = `loadbalancer.publicIpAddresses[${index}].${field}`;
      return text === undefined ? undefined : addressOf(loadBalancerContext, at, text);
    };
    const [internal, external] = [read('privateIpAddress'), read('frontendIpAddress')];
    if (internal !== undefined && external !== undefined && isIP(internal) === isIP(external))
      frontends.set(internal, external);
  }
  return own.map(({ internal, external = frontends.get(internal) }) => ({
    internal,
    ...(external === undefined ? {} : { external }),
  }));
}
