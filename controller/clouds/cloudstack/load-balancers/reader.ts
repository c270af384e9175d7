import { type Detail, type Found, isOwnedBy, type Reader, type ReadIo } from '../../../engine/resource.ts';
import type { AnswerFields } from '../../answer-fields.ts';
import type { CallOptions, Params } from '../client.ts';
import { uuid } from '../config.ts';
import { foundAcl, foundAddress, kindNames, type Network, type Rule, tagsIn } from './found.ts';
import { tagKeys, tagParams } from './marks.ts';
import { foundMembers } from './members.ts';
import type { Project } from './project.ts';
import { foundPolicies } from './stickiness-kind.ts';

/** VMs of a rule are read again after so long. */
const membersAgeMs = 600_000;
/** Their rules cannot be changed. */
export const fixedAcls: ReadonlySet<string | undefined> = new Set(['default_allow', 'default_deny']);

/** A search for what the classic controller made, for an address that a Service names, and whether it names one. */
export const searchSlots = { rules: 'rules ', ip: 'ip ', named: 'named', unnamed: 'unnamed' } as const;

/** Addresses with their rules in four lists; the VMs of each rule, which no list shows, in one call each. */
export function createReader(project: Project): Reader {
  const { list, acquisitions } = project;

  const addresses = (params: Params, options: CallOptions) =>
    list('listPublicIpAddresses', 'publicipaddress', params, options);
  const rules = (params: Params, options: CallOptions) =>
    list('listLoadBalancerRules', 'loadbalancerrule', params, options);
  const firewall = (params: Params, options: CallOptions) => list('listFirewallRules', 'firewallrule', params, options);

  function join(
    some: readonly AnswerFields[],
    onThem: readonly AnswerFields[],
    openings: readonly AnswerFields[],
  ): Found[] {
    const rulesBy = Map.groupBy(onThem, (one) => one.optionalText('publicipid'));
    const openingsBy = Map.groupBy(openings, (one) => one.optionalText('ipaddressid'));
    const acquired = acquisitions.match(some, (id) => rulesBy.has(id) || openingsBy.has(id));
    const found = some.flatMap((address) => {
      const id = address.text('id');
      const on = { rules: rulesBy.get(id) ?? [], firewall: openingsBy.get(id) ?? [] };
      return foundAddress(address, on, acquired.get(id));
    });
    return [...found, ...acquisitions.found()];
  }
  async function aclRules(params: Params, options: CallOptions): Promise<Found[]> {
    return (await list('listNetworkACLs', 'networkacl', params, options)).flatMap((one) => foundAcl(one) ?? []);
  }
  /** Rules of the ACLs that can have some of ours. */
  async function acls(networks: readonly (Network | undefined)[], options: CallOptions): Promise<Found[]> {
    const ids = networks.flatMap((one) => {
      const isOurs = one?.acl !== undefined && one.services.includes('NetworkACL') && !fixedAcls.has(one.aclName);
      return isOurs ? one.acl! : [];
    });
    return (await Promise.all([...new Set(ids)].map((aclid) => aclRules({ aclid }, options)))).flat();
  }

  /** Those that the record names, that have our tags, that the Service names, and that have rules named after it. */
  async function addressesOf(params: readonly Params[], named: readonly string[], options: CallOptions) {
    const byName = await Promise.all(named.map((keyword) => rules({ keyword }, options)));
    const ids = byName.flat().flatMap((rule) => rule.optionalText('publicipid') ?? []);
    const asked = [...params, ...[...new Set(ids)].map((id) => ({ id }))];
    const read = (await Promise.all(asked.map((one) => addresses(one, options)))).flat();
    return [...new Map(read.map((one) => [one.text('id'), one])).values()];
  }

  const detail: Detail = {
    kind: kindNames.rule,
    parts: [kindNames.members, kindNames.stickiness],
    maxAgeMs: membersAgeMs,
    async read(rule, { signal }: ReadIo) {
      const members = foundMembers(rule, await project.members(rule.id, signal));
      const policies = await project.policies(rule.id, signal);
      return [members, ...foundPolicies(policies, rule as Found<Rule>)];
    },
  };

  return {
    kinds: Object.values(kindNames),
    detail,
    async all(_cluster, { signal }) {
      const options = { urgency: 'refresh', signal } as const;
      const networks = await project.readNetworks(undefined, options);
      const found = [await addresses({}, options), await rules({}, options), await firewall({}, options)] as const;
      return [...join(...found), ...(await acls(networks, options))];
    },
    async of({ owner, ids, slots, search }, { signal }) {
      const options = { signal };
      if (slots.includes(searchSlots.named)) project.named.add(owner.service);
      if (slots.includes(searchSlots.unnamed)) project.named.delete(owner.service);
      if (search) await project.readNetworks(undefined, options);
      const known = ids.filter((one) => one.kind === kindNames.address && uuid.test(one.id));
      const slotted = (prefix: string) =>
        slots.filter((slot) => slot.startsWith(prefix)).map((slot) => slot.slice(prefix.length));
      const some = await addressesOf(
        [
          ...known.map(({ id }) => ({ id })),
          ...(search ? [tagParams({ [tagKeys.service]: owner.service })] : []),
          ...slotted(searchSlots.ip).map((ipaddress) => ({ ipaddress })),
        ],
        search ? slotted(searchSlots.rules) : [],
        options,
      );
      // An address that was acquired and lost has neither tags nor a known id.
      const isLost = search && acquisitions.found().some((one) => isOwnedBy(one, owner));
      const lost = isLost ? await addresses({}, options) : [];
      const all = [...new Map([...some, ...lost].map((one) => [one.text('id'), one])).values()];
      const onThem = (await Promise.all(all.map((one) => rules({ publicipid: one.text('id') }, options)))).flat();
      const isOpened = (one: AnswerFields) => {
        // Of one that is being acquired or released they are refused, and without a rule there are none of ours.
        if (one.text('state') !== 'Allocated') return false;
        return (
          Object.keys(tagsIn(one)).length === 0 ||
          onThem.some((rule) => rule.optionalText('publicipid') === one.text('id'))
        );
      };
      const opened = all.filter(isOpened).map((one) => firewall({ ipaddressid: one.text('id') }, options));
      const found = join(all, onThem, (await Promise.all(opened)).flat());
      const used = found.flatMap(({ kind, body }) => (kind === kindNames.address ? networkOf(body) : []));
      const missing = [...new Set(used)].filter((id) => project.network(id) === undefined);
      for (const id of missing) await project.readNetworks(id, options);
      const ofAcls = await acls(used.map(project.network), options);
      const isShown = new Set(ofAcls.map((one) => one.id));
      // The address may have gone before them.
      const rest = ids.filter((one) => one.kind === kindNames.acl && !isShown.has(one.id) && uuid.test(one.id));
      for (const { id } of rest) ofAcls.push(...(await aclRules({ id }, options)));
      // One database answers: what has been answered shows.
      return { found: [...found, ...ofAcls], isFresh: true };
    },
  };
}

function networkOf(body: unknown): string[] {
  const { network } = body as { readonly network: string | undefined };
  return network === undefined ? [] : [network];
}
