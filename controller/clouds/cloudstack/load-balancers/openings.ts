import { type Comparison, type Found, type Kind, nameOf } from '../../../engine/resource.ts';
import type { Owner } from '../../load-balancers.ts';
import { kindNames, type Opening, ruleRef } from './found.ts';
import { made } from './made.ts';
import { printReason } from './marks.ts';
import type { Project } from './project.ts';
import { everywhere, narrowed } from './settings.ts';

export interface AclSpec extends Opening {
  readonly acl: string;
  readonly owner: Owner;
}

interface Sources {
  readonly cidrlist: readonly string[];
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
    async create(want, _inside, io) {
      const { key, spec } = want;
      const begun = await change('createFirewallRule', { ipaddressid: io.within, ...paramsOf(spec) }, io);
      const rule = io.idOf(nameOf({ kind: kindNames.rule, key }));
      return made(want, io, begun, { refs: [ruleRef(rule)], body: spec });
    },
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
      return { changes: [{ what: 'sources', summary, phase: 'set', body: { cidrlist } satisfies Sources }] };
    },
    async create(want, _inside, io) {
      const { owner, ...body } = want.spec;
      const params = { aclid: body.acl, ...paramsOf(body), traffictype: 'ingress', action: 'allow' };
      const begun = await change('createNetworkACL', { ...params, reason: printReason(owner) }, io);
      return made(want, io, begun, { body });
    },
    async update(found, { body: news }, io) {
      const { cidrlist } = news as Sources;
      const answer = await change('updateNetworkACLItem', { id: found.id, partialupgrade: true, cidrlist }, io);
      return { ...answer, found: [{ ...found, body: { ...found.body, cidrs: narrowed(cidrlist) } }] };
    },
    remove: ({ id }, io) => change('deleteNetworkACL', { id }, io),
  };
}

function printCidrs({ cidrs }: Pick<Opening, 'cidrs'>): string {
  return cidrs.length > 0 ? cidrs.join(', ') : everywhere;
}
