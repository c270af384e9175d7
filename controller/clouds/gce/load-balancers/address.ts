import type { Kind } from '../../../engine/resource.ts';
import type { Sent } from '../../sent.ts';
import { answerOf, usual } from './answer.ts';
import { rangeBits, type Scheme } from './forwarding-rule.ts';
import { type FoundParts, kindNames } from './found.ts';
import type { Address, Shown } from './project.ts';

/** Holds the address of a forwarding rule while another rule takes its place. */
export interface AddressSpec {
  readonly name: string;
  readonly description: string;
  readonly ip: string;
  readonly scheme: Scheme;
  readonly tier: string | null;
  /** Link, of an internal one. */
  readonly subnet: string | null;
}

export function addressKind(parts: FoundParts): Kind<AddressSpec, Shown<Address>> {
  const { project } = parts;
  return {
    ...usual(parts),
    kind: kindNames.address,
    compare: () => ({ same: true }),
    async create({ spec }, _inside, io) {
      const { name, description, ip: address, scheme, tier, subnet } = spec;
      const isInternal = scheme === 'INTERNAL';
      const wire = {
        description,
        address,
        addressType: scheme,
        // Of an external IPv6 range that is in use the API takes no subnet.
        subnetwork: isInternal ? subnet : undefined,
        networkTier: isInternal ? undefined : tier,
        prefixLength: address.includes(':') ? rangeBits : undefined,
      } satisfies Sent<Address>;
      const path = `regions/${project.region}/addresses/${name}`;
      return answerOf(await project.insert<Address>(path, wire, io), io, parts);
    },
  };
}
