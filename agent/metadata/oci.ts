import type { Instance } from '../../common/instance.ts';
import { oci as providerId } from '../../common/provider-id/oci.ts';
import { createAddressList } from './address-list.ts';
import { createMetadataClient, createMetadataHttp, type MetadataClient } from './client.ts';
import { askInTurn, preferring } from './endpoints.ts';
import { addressOf, fieldsOf, invalid } from './fields.ts';
import { labelValue } from './openstack-instance.ts';
import type { SourceKind } from './source.ts';

const cloud = 'oci';
const instancePath = '/opc/v2/instance/';
const vnicsPath = '/opc/v2/vnics/';
const context = { cloud, operation: `GET ${instancePath}` };
const vnicsContext = { cloud, operation: `GET ${vnicsPath}` };
/** A constant, not a secret: it protects against forged requests. */
const headers = { authorization: 'Bearer Oracle' };
const endpoints = ['http://169.254.169.254', 'http://[fd00:c1::a9fe:a9fe]'];

/** Oracle Cloud Infrastructure (docs.oracle.com, "Instance Metadata Service v2"). Version 1 is never used. */
export const oci: SourceKind = {
  cloud,
  detect: (dmi) => dmi.chassisAssetTag === 'OracleCloud.com',
  open({ clock, metadataUrl }) {
    const http = createMetadataHttp(clock);
    const clients = (metadataUrl === undefined ? endpoints : [metadataUrl]).map((baseUrl) =>
      createMetadataClient({ cloud, baseUrl, http, clock }),
    );
    let answered: MetadataClient | undefined;
    return {
      cloud,
      async read(signal) {
        const candidates = preferring(clients, answered);
        answered = undefined;
        const ask = (path: string) => (client: MetadataClient) => client.json({ path, headers, signal });
        const { client, answer } = await askInTurn(candidates, ask(instancePath), signal);
        if (answer === undefined) throw invalid(context, 'document', undefined, 'the metadata of an instance');
        const vnics = await ask(vnicsPath)(client);
        answered = client;
        return instanceOf(answer, vnics);
      },
    };
  },
};

function instanceOf(document: unknown, vnics: unknown): Instance {
  const fields = fieldsOf(context, document);
  const id = fields.text('id');
  if (providerId.parse(id)?.instanceId !== id) throw invalid(context, 'id', id, "an instance's OCID");
  const name = fields.optionalText('displayName');
  const type = fields.optionalText('shape');
  // `AbCd:PHX-AD-1`: the tenancy's prefix is not part of the label.
  const domain = fields.text('availabilityDomain');
  const addresses = createAddressList();
  // The first VNIC is the primary one; others belong to pods. The metadata does not contain public addresses.
  const [primary] = fieldsOf(vnicsContext, { vnics }).objects('vnics');
  const internal = primary?.optionalText('privateIp');
  if (internal !== undefined) addresses.add('InternalIP', addressOf(vnicsContext, 'vnics[0].privateIp', internal));
  const [ipv6] = primary?.texts('ipv6Addresses') ?? [];
  if (ipv6 !== undefined) addresses.add('InternalIP', addressOf(vnicsContext, 'vnics[0].ipv6Addresses[0]', ipv6));
  // If a missing list counted as empty, an incomplete document would remove all addresses.
  if (addresses.all.length === 0) throw invalid(vnicsContext, 'vnics[0]', undefined, 'a VNIC with an address');
  addresses.add('Hostname', fields.optionalText('hostname'));
  return {
    cloud,
    id,
    providerID: providerId.print({ instanceId: id }),
    incarnation: id,
    ...(name === undefined ? {} : { name }),
    zone: labelValue(domain.slice(domain.indexOf(':') + 1)),
    // Upstream's label is this field, which is short (`phx`) in the oldest regions, and not `canonicalRegionName`.
    region: fields.text('region'),
    ...(type === undefined ? {} : { type }),
    addresses: addresses.all,
  };
}
