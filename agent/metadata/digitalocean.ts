import type { Instance } from '../../common/instance.ts';
import { digitalocean as providerId } from '../../common/provider-id/digitalocean.ts';
import { createAddressList } from './address-list.ts';
import { createMetadataClient, createMetadataHttp } from './client.ts';
import { addressOf, type Fields, fieldsOf, invalid } from './fields.ts';
import type { SourceKind } from './source.ts';

const cloud = 'digitalocean';
const path = '/metadata/v1.json';
const context = { cloud, operation: `GET ${path}` };

/**
 * DigitalOcean (docs.digitalocean.com, "Droplet metadata"). The document contains a credential, `auth_key`, so it is
 * never logged.
 */
export const digitalocean: SourceKind = {
  cloud,
  detect: (dmi) => dmi.sysVendor === 'DigitalOcean',
  open({ clock, dmi, metadataUrl = 'http://169.254.169.254' }) {
    const client = createMetadataClient({ cloud, baseUrl: metadataUrl, http: createMetadataHttp(clock), clock });
    return {
      cloud,
      async read(signal) {
        const document = await client.json({ path, signal });
        if (document === undefined) throw invalid(context, 'document', undefined, 'the metadata of a droplet');
        return instanceOf(fieldsOf(context, document), dmi.productSerial);
      },
    };
  },
};

function instanceOf(document: Fields, serial: string | undefined): Instance {
  const id = document.text('droplet_id');
  if (!/^[1-9]\d*$/.test(id)) throw invalid(context, 'droplet_id', id, "a droplet's number");
  if (serial !== undefined && serial !== id) {
    throw invalid(context, 'droplet_id', id, `${serial} as in the firmware: the answer is about another droplet`);
  }
  const hostname = document.text('hostname');
  return {
    cloud,
    id,
    providerID: providerId.print({ instanceId: id }),
    incarnation: id,
    name: hostname,
    // DigitalOcean has no zones, and the metadata does not contain the size.
    region: document.text('region'),
    addresses: addressesOf(document, hostname),
  };
}

/**
 * In upstream's order, without anchor addresses, which are the platform's, and reserved ones, which are not the
 * droplet's.
 */
function addressesOf(document: Fields, hostname: string) {
  const nics = document.optionalObject('interfaces');
  // If a missing list counted as empty, an incomplete document would remove all addresses.
  if (nics === undefined) throw invalid(context, 'interfaces', undefined, 'an object');
  const addresses = createAddressList();
  addresses.add('Hostname', hostname);
  const collect = (kind: 'private' | 'public', family: 'ipv4' | 'ipv6') => {
    for (const [index, nic] of nics.objects(kind).entries()) {
      const text = nic.optionalObject(family)?.optionalText('ip_address');
      if (text === undefined) continue;
      const address = addressOf(context, `interfaces.${kind}[${index}].${family}.ip_address`, text);
      addresses.add(kind === 'private' ? 'InternalIP' : 'ExternalIP', address);
    }
  };
  collect('private', 'ipv4');
  collect('public', 'ipv4');
  collect('public', 'ipv6');
  return addresses.all;
}
