import { cloudstack } from '../../../../common/provider-id/cloudstack.ts';
import { type Desire, type Found, nameOf, type Refusal, type Want } from '../../../engine/resource.ts';
import { accessTo, isKeptFor, nameHolder } from '../../access.ts';
import { sameAddress } from '../../ip-address.ts';
import type { DesireInput } from '../../load-balancer-driver.ts';
import type { DesiredLoadBalancer, DesiredPort } from '../../load-balancers.ts';
import { servedPorts, unsupported } from '../../served-ports.ts';
import { allAsItStands } from '../../standing.ts';
import { prefix } from '../annotations.ts';
import { acquisitionName } from './acquisition-kind.ts';
import type { AddressSpec } from './addresses.ts';
import { type Address, kindNames, type Members, type Network, type Opening, portKey, ruleSlot } from './found.ts';
import { printReason, ruleName, tagKeys } from './marks.ts';
import { noBalancing } from './project.ts';
import { fixedAcls } from './reader.ts';
import type { RuleSpec } from './rules.ts';
import { narrowed, type Settings, settingsOf } from './settings.ts';

const main = `${kindNames.address}/main`;

/** What serves a Service. Pure but for the networks, which the reader has read. */
export function desireOf(input: DesireInput, networkBy: (id: string | undefined) => Network | undefined): Desire {
  const { desired } = input;
  const settings = settingsOf(desired);
  const addresses = input.own().filter(({ kind }) => kind === kindNames.address) as readonly Found<Address>[];
  const isNamed = ({ body }: Found<Address>) => desired.address !== undefined && sameAddress(body.ip, desired.address);
  const standing = addresses.find(isNamed) ?? addresses[0];
  const network = networkBy(standing?.body.network);
  const { served, refusals } = servedPorts(desired);
  const ports = served.filter((one) => one.protocol === 'TCP' || !hasTcp(served, one));
  refusals.push(...served.filter((one) => !ports.includes(one)).map(sharedPort));
  const unread = [
    ...settings.problems,
    ...attachProblem(desired),
    ...(network && !network.services.includes('Lb') ? [noBalancing(network)] : []),
    ...(network ? rangesProblem(desired, settings, network) : []),
  ];
  refusals.push(...unread.map(unsupported));
  const address = addressOf(input, settings, standing);
  if ('reason' in address) refusals.push(address);
  const want: Want = {
    kind: kindNames.address,
    key: 'main',
    carriesAddress: true,
    summary: 'the public address',
    ...('reason' in address ? { spec: undefined } : address),
  };
  // What cannot be read changes nothing, and nothing goes.
  if (unread.length > 0 || ports.length === 0 || 'reason' in address)
    return { wants: allAsItStands(want, input.own()), refusals };
  const acquisition = acquisitionOf(input, addresses, address.spec as AddressSpec);
  const needs = acquisition === undefined || acquisition.leaveUnchanged ? [] : [acquisitionName];
  const first = [{ ...want, needs }, ...(acquisition === undefined ? [] : [acquisition])];
  if (network === undefined) return { wants: first, refusals };
  const denied = `the ACL of network ${network.name} (${network.id}) is default_deny, which cannot be changed`;
  const remarks = isDenied(network) ? [`${denied}: nothing gets through`] : [];
  const parts = ports.flatMap((port) => wantsOf(port, input, settings, network));
  return { wants: [...first, ...parts], refusals, remarks };
}

/** What shows that an address is ours comes before it, and stays until it has tags. */
function acquisitionOf(
  { own, desired }: DesireInput,
  addresses: readonly Found<Address>[],
  { ip, claim, vms }: AddressSpec,
): Want | undefined {
  const place = { kind: kindNames.acquisition, key: 'main', summary: 'the tag of an address to come' };
  const mayCome = addresses.length === 0 || desired.mayChangeAddress;
  const isThere = addresses.some(({ body }) => ip === undefined || sameAddress(body.ip, ip));
  if (mayCome && !isThere && claim === undefined) return { ...place, spec: { vms } };
  const stays = addresses.some(({ body }) => body.isNew) && own().some(({ kind }) => kind === kindNames.acquisition);
  return stays ? { ...place, leaveUnchanged: true, spec: undefined } : undefined;
}

function hasTcp(ports: readonly DesiredPort[], { port }: DesiredPort): boolean {
  return ports.some((one) => one.protocol === 'TCP' && one.port === port);
}

function sharedPort({ protocol, port }: DesiredPort): Refusal {
  const message = `spec.ports: ${protocol} ${port}, expected a port without TCP: a port of an address has one rule`;
  return { ...unsupported(message), ports: [{ port, protocol }] };
}

function attachProblem({ attach }: DesiredLoadBalancer): string[] {
  if (attach === undefined) return [];
  return [`mooring.dev/load-balancer-id: ${JSON.stringify(attach.id)}, expected none: see spec.loadBalancerIP`];
}

/** An ACL that denies everything lets no ranges in either. */
function rangesProblem({ sourceRanges }: DesiredLoadBalancer, { sourceCidrs }: Settings, network: Network): string[] {
  const ranges = narrowed(sourceRanges);
  const isKept = network.services.includes('Firewall') || hasAcl(network) || isDenied(network);
  if (ranges.length === 0 || isKept || ranges.join() === sourceCidrs.join()) return [];
  const { name, id } = network;
  const why = `network ${name} (${id}) has neither a firewall nor an ACL that can be changed`;
  return [`spec.loadBalancerSourceRanges: ${ranges.join()}, expected them in ${prefix}source-cidrs, too: ${why}`];
}

function hasAcl({ services, acl, aclName }: Network): boolean {
  return services.includes('NetworkACL') && acl !== undefined && !fixedAcls.has(aclName);
}

function isDenied({ vpc, aclName }: Network): boolean {
  return vpc !== undefined && aclName === 'default_deny';
}

/** The address that the Service has or gets, or why it cannot have the one that it names. */
function addressOf(
  input: DesireInput,
  { hostname }: Settings,
  standing: Found<Address> | undefined,
): Pick<Want, 'spec' | 'slot'> | Refusal {
  const { desired, found } = input;
  const { owner, service, address: ip, annotations } = desired;
  const vms = vmsOf(desired, []);
  const marks = { owner, service, hostname };
  // As the classic controller does it: what it associated itself goes with the Service.
  const isLent = ip !== undefined && annotations[`${prefix}ip-associated-by-controller`] !== 'true';
  const spec: AddressSpec = {
    marks,
    ip,
    vms,
    isLent,
    ...(standing?.body.tags[tagKeys.lent] && { isLent: true }),
  };
  if (ip === undefined || (standing !== undefined && sameAddress(standing.body.ip, ip))) return { spec };
  const named = [...found(kindNames.address), ...found(kindNames.idle)].find((one) =>
    sameAddress((one.body as Address).ip, ip),
  );
  if (named === undefined) return { spec };
  const kept = named.body as Address;
  const { tags } = kept;
  if (named.owner !== undefined)
    return {
      reason: 'ForeignLoadBalancer',
      message: `address ${ip} (${named.id}) belongs to ${nameHolder(tags[tagKeys.serviceName], desired)}`,
    };
  if (isKeptFor(tags[tagKeys.retained], service))
    return { spec: { ...spec, claim: { id: named.id, isLent: tags[tagKeys.lent] !== undefined, kept } } };
  const access = accessTo({ what: `address ${ip} (${named.id})`, consent: tags[tagKeys.consent] }, desired);
  return access.may === 'use' ? { spec: { ...spec, claim: { id: named.id, isLent: true } } } : access.refusal;
}

/** The rule of a port, its VMs, and what lets traffic through to it. */
function wantsOf(
  { protocol: kind, port, nodePort }: DesiredPort,
  input: DesireInput,
  settings: Settings,
  network: Network,
): Want[] {
  const { desired, own } = input;
  const base = kind === 'UDP' ? 'udp' : 'tcp';
  const protocol = kind === 'TCP' && settings.usesProxyProtocol ? 'tcp-proxy' : base;
  const key = portKey(protocol, port);
  const summaryOf = (what: string) => `${what} of ${base} ${port}`;
  const served = { ports: [{ port, protocol: kind }] };
  const ruleSpec: RuleSpec = {
    name: ruleName(desired.owner.service, protocol, port),
    protocol,
    publicPort: port,
    privatePort: nodePort,
    algorithm: desired.sessionAffinity === undefined ? 'roundrobin' : 'source',
    cidrs: settings.sourceCidrs,
    network: network.id,
  };
  const rule: Want = {
    kind: kindNames.rule,
    key,
    within: main,
    slot: ruleSlot('{within}', port),
    ...served,
    spec: ruleSpec,
    summary: summaryOf('rule'),
  };
  const current = own().find((one) => one.kind === kindNames.members && one.key === key) as Found<Members> | undefined;
  const ids = vmsOf(desired, current?.body.ids ?? []);
  const members: Want = {
    kind: kindNames.members,
    key,
    within: nameOf(rule),
    summary: summaryOf('VMs'),
    spec: { ids, network: network.id },
  };
  const sticky = base === 'udp' ? undefined : stickinessFor(settings, desired);
  const cidrs = narrowed(desired.sourceRanges);
  const opening = openingOf({ protocol: base, port, cidrs }, input, network);
  return [
    rule,
    ...(ids.length > 0 || current !== undefined ? [members] : []),
    ...(sticky === undefined ? [] : [{ ...sticky, key, within: nameOf(rule), summary: summaryOf('stickiness') }]),
    ...(opening === undefined
      ? []
      : [
          {
            ...opening,
            ...served,
            key,
            needs: [...(opening.needs ?? []), nameOf(rule)],
            summary: summaryOf(opening.kind),
          },
        ]),
  ];
}

/** Without a time of its own it ends as the affinity of the Service does. */
function stickinessFor(
  { stickiness }: Settings,
  { sessionAffinity }: DesiredLoadBalancer,
): Pick<Want, 'kind' | 'spec'> | undefined {
  if (stickiness === undefined) return undefined;
  const { method, params } = stickiness;
  const isTimed = method === 'SourceBased' && sessionAffinity !== undefined;
  const spec = { method, params: { ...(isTimed && { expire: `${sessionAffinity.timeoutSeconds}s` }), ...params } };
  return { kind: kindNames.stickiness, spec };
}

function openingOf(
  opening: Opening,
  { desired, found }: DesireInput,
  network: Network,
): Pick<Want, 'kind' | 'within' | 'needs' | 'spec'> | undefined {
  if (network.services.includes('Firewall')) return { kind: kindNames.firewall, within: main, spec: opening };
  if (!hasAcl(network)) return undefined;
  const { owner } = desired;
  const acl = network.acl!;
  // What others let through needs no rule of ours.
  const isThere = (found(kindNames.acl) as readonly Found<Opening & { readonly acl: string }>[]).some(
    ({ owner: by, body }) => {
      const isOurs = by !== undefined && printReason(by) === printReason(owner);
      const isSame = body.protocol === opening.protocol && body.port === opening.port && body.acl === acl;
      return !isOurs && isSame && body.cidrs.join() === opening.cidrs.join();
    },
  );
  return isThere ? undefined : { kind: kindNames.acl, spec: { ...opening, acl, owner } };
}

/** Those that are known by their providerID alone stay, and are not added. */
function vmsOf({ members }: DesiredLoadBalancer, standing: readonly string[]): string[] {
  const ids = members.flatMap(({ providerID, addresses }) => {
    const id = cloudstack.parse(providerID)?.instanceId;
    return id !== undefined && (addresses.length > 0 || standing.includes(id)) ? [id] : [];
  });
  return [...new Set(ids)];
}
