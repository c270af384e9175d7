import type { SecurityRulePropertiesFormat as RuleProperties } from '@azure/arm-network';
import { CloudError } from '../../../../common/cloud-error.ts';
import type { DocumentType, Edit } from '../../../engine/driver.ts';
import type { Found, Kind } from '../../../engine/resource.ts';
import { canonical } from '../../ip-address.ts';
import type { IpFamily } from '../../load-balancers.ts';
import type { Sent } from '../../sent.ts';
import type { ArmClient } from '../client.ts';
import type { BalancerPlace } from '../config.ts';
import { cloud } from '../fault.ts';
import type { AddressBook } from './address-book.ts';
import { createArmDocuments } from './arm-documents.ts';
import { kindNames } from './balancer.ts';
import { covers, isFailed, type Json, objectIn, type Part, partsIn, textIn } from './json.ts';
import { allowRuleName, denyRuleName, isRuleName } from './names.ts';

/** A rule for all Services with the same ports and sources; each of them has its address among the destinations. */
export interface RuleSpec {
  readonly family: IpFamily;
  /** The load balancer whose frontend is the destination. */
  readonly document: string;
  readonly name: string;
  readonly properties: Sent<Omit<RuleProperties, 'priority'>>;
}

/** The place of one address in a rule. */
export interface RuleShare {
  readonly rule: Part;
  readonly ip: string;
  /** The last write to the security group has failed: its rules may not be in force. */
  readonly isFailed: boolean;
}

const [leastPriority, mostPriority] = [500, 4096];
const group = 'security group';

/** Traffic from these sources. @param ports of the frontend */
export function allowRule(
  { document, family }: Pick<RuleSpec, 'document' | 'family'>,
  protocol: 'Tcp' | 'Udp',
  sources: readonly string[],
  ports: number[],
): RuleSpec {
  const [given, numbers] = [[...sources].sort(), ports.map(String).sort()];
  return {
    document,
    family,
    name: allowRuleName(family, protocol, given, numbers),
    properties: {
      protocol,
      access: 'Allow',
      direction: 'Inbound',
      sourcePortRange: '*',
      destinationPortRanges: numbers,
      sourceAddressPrefix: given.length === 1 ? given[0] : undefined,
      sourceAddressPrefixes: given.length === 1 ? undefined : given,
    },
  };
}

/** Everything else, from inside of the virtual network, too. */
export function denyRule({ document, family }: Pick<RuleSpec, 'document' | 'family'>): RuleSpec {
  const any: Partial<RuleProperties> = { sourceAddressPrefix: '*', sourcePortRange: '*', destinationPortRange: '*' };
  const name = denyRuleName(family);
  return { document, family, name, properties: { protocol: '*', access: 'Deny', direction: 'Inbound', ...any } };
}

export const shareKey = (document: string, rule: string) => `${document} ${rule}`.toLowerCase();

/** The place of a Service's address in a rule of the security group. */
export const shareKind: Kind<RuleSpec, RuleShare> = {
  kind: kindNames.rule,
  document: group,
  retryCreate: 'atOnce',
  compare({ body: { rule, isFailed } }, { properties }) {
    if (!isFailed && covers(sorted(rule.properties), properties)) return { same: true };
    return { changes: [{ what: 'rule', summary: `rule ${rule.name}`, phase: 'set' }] };
  },
};

/** Resource Manager may answer in another order. */
function sorted(properties: Json): Json {
  return Object.fromEntries(
    Object.entries(properties).map(([name, value]) => [name, Array.isArray(value) ? value.toSorted() : value]),
  );
}

function destinationsIn({ properties }: Part): readonly string[] {
  const several = properties['destinationAddressPrefixes'];
  const one = textIn(properties, 'destinationAddressPrefix');
  return [...(one === undefined ? [] : [one]), ...(Array.isArray(several) ? several.map(String) : [])];
}

function withDestinations({ properties, ...rest }: Part, ips: readonly string[]): Part {
  const { destinationAddressPrefix: _, destinationAddressPrefixes: __, ...others } = properties;
  const all = [...new Set(ips)].sort();
  const next: Sent<Partial<RuleProperties>> =
    all.length === 1 ? { destinationAddressPrefix: all[0] } : { destinationAddressPrefixes: all };
  return { ...rest, properties: { ...others, ...next } };
}

/** The network security group of the nodes: rules of everyone, one document with an etag. */
export function securityGroupDocument(
  client: ArmClient,
  { subscription }: BalancerPlace,
  { resourceGroup, name: own }: NonNullable<BalancerPlace['securityGroup']>,
  book: AddressBook,
): DocumentType<Json> {
  const documents = createArmDocuments(client, { subscription, resourceGroup, type: 'networkSecurityGroups' });

  return {
    document: group,
    name: () => own,
    async all(_, io) {
      const read = await documents.read(own, io);
      return read === undefined ? [] : [{ ...read, name: own }];
    },
    read: (name, io) => documents.read(name, io),
    parse: (_, json) =>
      partsIn(json, 'securityRules')
        .filter(({ name }) => isRuleName(name))
        .flatMap((rule) =>
          destinationsIn(rule).map((ip) => foundShare({ rule, ip: canonical(ip), isFailed: isFailed(json) }, book)),
        ),
    basis: () => book.version('any'),
    fold(json, edits) {
      if (json !== undefined) return foldRules(json, edits, book);
      throw failure('Invalid', `securityGroupName: ${JSON.stringify(own)} is not in ${resourceGroup}`);
    },
    write: (name, json, version, permit) => documents.write(name, json, version, permit),
    // It is another's: `fold` never leaves nothing.
    remove: async () => ({}),
  };
}

/** Its owner is that of the frontend that has this address, or had it a moment ago. */
function foundShare(body: RuleShare, book: AddressBook): Found<RuleShare> {
  const { rule, ip } = body;
  const holder = book.holderOf(ip);
  const { owner, document, id } = holder ?? {};
  return {
    kind: kindNames.rule,
    id: `${rule.name}/${ip}`.toLowerCase(),
    status: 'ready',
    body,
    ...(owner === undefined ? {} : { owner }),
    key: shareKey(document ?? `former address ${ip}`, rule.name),
    // It goes before the frontend: afterwards nothing tells whose it is.
    refs: id === undefined ? [] : [{ role: 'destination', kind: kindNames.balancer, id }],
  };
}

function foldRules(json: Json, edits: readonly Edit[], book: AddressBook): Json {
  let rules = partsIn(json, 'securityRules');
  const change = (name: string, next: (rule: Part | undefined) => Part | undefined): void => {
    const there = rules.find((rule) => rule.name.toLowerCase() === name.toLowerCase());
    const made = next(there);
    if (there === undefined) rules = made === undefined ? rules : [...rules, made];
    else rules = rules.flatMap((rule) => (rule !== there ? [rule] : made === undefined ? [] : [made]));
  };
  for (const edit of edits) {
    if ('drop' in edit) {
      const { rule, ip } = edit.drop.body as RuleShare;
      change(rule.name, (there) => {
        const left = there && destinationsIn(there).filter((one) => canonical(one) !== ip);
        return there === undefined || left?.length === 0 ? undefined : withDestinations(there, left ?? []);
      });
      continue;
    }
    const spec = edit.put.spec as RuleSpec;
    const ip = book.ipOf(edit.owner.service, spec);
    if (ip === undefined) throw failure('Busy', 'the frontend has no address yet');
    change(spec.name, (there) => {
      const ips = there === undefined ? [] : destinationsIn(there);
      const isGood = there !== undefined && covers(sorted(there.properties), spec.properties);
      if (isGood && ips.some((one) => canonical(one) === ip)) return there;
      const own = there !== undefined && isInbound(there) ? (there.properties as Partial<RuleProperties>) : {};
      const { priority = freePriority(rules, spec.properties.access === 'Allow') } = own;
      const next: Sent<RuleProperties> = { ...spec.properties, priority };
      const properties = isGood ? there.properties : next;
      return withDestinations({ ...there, name: there?.name ?? spec.name, properties }, [...ips, ip]);
    });
  }
  const properties = objectIn(json, 'properties');
  const { provisioningState, ...rest } = properties;
  return { ...json, properties: { ...(isFailed(json) ? rest : properties), securityRules: rules } };
}

/** What is allowed comes before what is denied. */
function freePriority(rules: readonly Part[], isFirst: boolean): number {
  const taken = new Set(rules.filter(isInbound).map(({ properties }) => properties['priority']));
  const all = Array.from({ length: mostPriority - leastPriority }, (_, at) => leastPriority + at);
  const free = (isFirst ? all : all.reverse()).find((one) => !taken.has(one));
  if (free !== undefined) return free;
  throw failure('QuotaExceeded', `every priority from ${leastPriority} to ${mostPriority - 1} is taken`);
}

const isInbound = ({ properties }: Part) => properties['direction'] !== 'Outbound';

function failure(kind: CloudError['kind'], message: string): CloudError {
  return new CloudError({ kind, cloud, operation: 'PUT networkSecurityGroups/{name}', message });
}
