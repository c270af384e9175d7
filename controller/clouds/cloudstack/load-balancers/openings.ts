import type { Comparison, Found, Kind } from '../../../engine/resource.ts';
import type { Owner } from '../../load-balancers.ts';
import { kindNames, type Opening } from './found.ts';
import { printReason } from './marks.ts';
import type { Project } from './project.ts';
import { everywhere } from './settings.ts';

export interface AclSpec extends Opening {
  readonly acl: string;
  readonly owner: Owner;
}

function paramsOf({ protocol, port, cidrs }: Opening) {
  return { protocol, startport: port, endport: port, cidrlist: cidrs.length > 0 ? cidrs : [everywhere] };
}

/** What lets traffic through to one port of an address. It cannot be changed. */
export function firewallKind({ change }: Project): Kind<Opening, Opening> {
  return {
    kind: kindNames.firewall,
    within: kindNames.address,
    retryCreate: 'atOnce',
    compare({ body }: Found<Opening>, { cidrs }): Comparison {
      if (body.cidrs.join() === cidrs.join()) return { same: true };
      // Two for the same port may not have a range in common.
      return { replace: `sources ${printCidrs(body)} to ${printCidrs({ cidrs })}`, order: 'deleteFirst' };
    },
    create: ({ spec }, _inside, io) => change('createFirewallRule', { ipaddressid: io.within, ...paramsOf(spec) }, io),
    remove: ({ id }, io) => change('deleteFirewallRule', { id }, io),
  };
}

/** The same in a VPC, where it is a rule of the network's ACL. */
export function aclKind({ change }: Project): Kind<AclSpec, Opening & { readonly acl: string }> {
  return {
    kind: kindNames.acl,
    retryCreate: 'afterSearch',
    settleMs: 5000,
    compare({ body }, { cidrs, acl }) {
      if (body.acl !== acl) return { replace: `ACL ${body.acl} to ${acl}`, order: 'createFirst' };
      if (body.cidrs.join() === cidrs.join()) return { same: true };
      const cidrlist = cidrs.length > 0 ? cidrs : [everywhere];
      const summary = `sources ${printCidrs(body)} to ${printCidrs({ cidrs })}`;
      return { changes: [{ what: 'sources', summary, phase: 'set', body: { cidrlist } }] };
    },
    create: ({ spec }, _inside, io) =>
      change(
        'createNetworkACL',
        {
          aclid: spec.acl,
          ...paramsOf(spec),
          traffictype: 'ingress',
          action: 'allow',
          reason: printReason(spec.owner),
        },
        io,
      ),
    update: ({ id }, { body }, io) =>
      change('updateNetworkACLItem', { id, partialupgrade: true, ...(body as object) }, io),
    remove: ({ id }, io) => change('deleteNetworkACL', { id }, io),
  };
}

function printCidrs({ cidrs }: Pick<Opening, 'cidrs'>): string {
  return cidrs.length > 0 ? cidrs.join(', ') : everywhere;
}
