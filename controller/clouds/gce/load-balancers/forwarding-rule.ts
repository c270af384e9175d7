import type { Kind } from '../../../engine/resource.ts';
import type { IpFamily } from '../../load-balancers.ts';
import type { Sent } from '../../sent.ts';
import { lastSegment } from '../client.ts';
import type { Actions } from './actions.ts';
import { answerOf, isSameSet, usual } from './answer.ts';
import { type FoundParts, ipOf, kindNames, rulePath } from './found.ts';
import { labels } from './names.ts';
import { type ForwardingRule, pathOf, type Shown } from './project.ts';

export type Scheme = 'INTERNAL' | 'EXTERNAL';
export type Tier = 'PREMIUM' | 'STANDARD';

/** A forwarding rule of IPv6 has a whole range. */
export const rangeBits = 96;

/** All of them, up to five, or a range. */
export type Ports = 'all' | readonly string[] | { readonly range: string };

/** What a Service asks of its forwarding rule. Nothing of it but `globalAccess` can be changed later. */
export interface RuleSpec {
  readonly family: IpFamily;
  readonly name: string;
  readonly description: string;
  readonly scheme: Scheme;
  readonly protocol: 'TCP' | 'UDP' | 'L3_DEFAULT';
  readonly ports: Ports;
  /** Other forms of these that a standing rule may have: the classic controller's depends on its version and flags. */
  readonly alsoGood: readonly Ports[];
  /** Undefined: any. */
  readonly ip: string | undefined;
  /** Of an external one. Undefined: the one that stands, or the project's default. */
  readonly tier: Tier | undefined;
  /** Name, of an internal one and of IPv6. Undefined: the one that stands, or the network's. */
  readonly subnet: string | undefined;
  readonly globalAccess: boolean;
  /** Path of the backend service or the target pool. */
  readonly target: string;
}

export function ruleKind(parts: FoundParts): Kind<RuleSpec, Shown<ForwardingRule>> {
  const { project } = parts;
  return {
    ...usual(parts),
    kind: kindNames.rule,
    compare({ body }, spec) {
      const other = ruleDifference(body, spec);
      if (other !== undefined) return { replace: other, order: 'deleteFirst' };
      if ((body.wire.allowGlobalAccess ?? false) === spec.globalAccess) return { same: true };
      const summary = `global access of ${spec.name}: ${spec.globalAccess}`;
      return { changes: [{ what: 'global access', summary, phase: 'set', body: spec.globalAccess }] };
    },
    async create({ spec }, _inside, io) {
      const { family, name, description, scheme, protocol, ports, ip, tier, subnet, globalAccess, target } = spec;
      const isInternal = scheme === 'INTERNAL';
      const isPool = target.includes('/targetPools/');
      const wire = {
        description,
        loadBalancingScheme: scheme,
        IPProtocol: protocol,
        ipVersion: family === 'IPv6' ? 'IPV6' : undefined,
        IPAddress: ip !== undefined && family === 'IPv6' && !isInternal ? `${ip}/${rangeBits}` : ip,
        ...portFields(ports),
        target: isPool ? project.url(target) : undefined,
        backendService: isPool ? undefined : project.url(target),
        network: isInternal ? await project.networkUrl() : undefined,
        subnetwork: subnet && (await project.subnetUrl(subnet)),
        allowGlobalAccess: globalAccess || undefined,
        networkTier: tier,
      } satisfies Sent<ForwardingRule>;
      return answerOf(await project.insert<ForwardingRule>(rulePath(project, name), wire, io), io, parts);
    },
    async update({ body }, change, io) {
      const wire = { allowGlobalAccess: change.body as boolean };
      return answerOf(await project.patch<ForwardingRule>(body.path, wire, io), io, parts);
    },
    async mark({ body }, as, _want, io) {
      const { cluster, service } = io.owner;
      const { [labels.cluster]: _cluster, [labels.service]: _service, ...others } = body.wire.labels ?? {};
      const ours =
        as === 'ours' ? { [labels.cluster]: cluster, [labels.service]: service } : { [labels.retained]: cluster };
      const { labelFingerprint } = body.wire;
      const wire = { labels: { ...others, ...ours }, labelFingerprint } satisfies Sent<Actions['setLabels']>;
      return answerOf(await project.act(body.path, 'setLabels', wire, io), io, parts);
    },
  };
}

/** Why another one has to be made; undefined: it is as it should be, or can be changed. */
export function ruleDifference(shown: Shown<ForwardingRule>, spec: RuleSpec): string | undefined {
  const { wire } = shown;
  const differences: (readonly [string, unknown, unknown])[] = [
    ['scheme', wire.loadBalancingScheme, spec.scheme],
    ['protocol', wire.IPProtocol, spec.protocol],
    ['address', ipOf(shown), spec.ip ?? ipOf(shown)],
    ['network tier', wire.networkTier, spec.tier ?? wire.networkTier],
    ['subnet', subnetOf(wire), spec.subnet ?? subnetOf(wire)],
    ['backend', pathOf(wire.backendService ?? wire.target ?? ''), spec.target],
  ];
  const other = differences.find(([, found, desired]) => found !== desired);
  if (other !== undefined) return `${other[0]} ${String(other[1] ?? 'none')} to ${String(other[2])}`;
  const isGood = [spec.ports, ...spec.alsoGood].some((ports) => hasPorts(wire, ports));
  return isGood ? undefined : `ports to ${portsText(spec.ports)}`;
}

function hasPorts({ allPorts, ports, portRange }: ForwardingRule, desired: Ports): boolean {
  if (desired === 'all') return allPorts === true;
  if ('range' in desired) return portRange === desired.range;
  return !allPorts && isSameSet(ports ?? [], desired);
}

const portFields = (ports: Ports): ForwardingRule =>
  ports === 'all' ? { allPorts: true } : 'range' in ports ? { portRange: ports.range } : { ports: [...ports] };
const portsText = (ports: Ports) => (typeof ports === 'string' ? ports : 'range' in ports ? ports.range : ports.join());

/** Whether both rules, of one address, would get some packets alike. */
export function portsOverlap({ IPProtocol, allPorts, ports, portRange }: ForwardingRule, spec: RuleSpec): boolean {
  if (![IPProtocol, spec.protocol].includes('L3_DEFAULT') && IPProtocol !== spec.protocol) return false;
  const found = allPorts ? 'all' : portRange ? { range: portRange } : (ports ?? []);
  return rangesOf(found).some(([a, b]) => rangesOf(spec.ports).some(([c, d]) => a <= d && c <= b));
}

function rangesOf(ports: Ports): (readonly [first: number, last: number])[] {
  const texts = ports === 'all' ? ['0-65535'] : 'range' in ports ? [ports.range] : ports;
  return texts.map((text) => {
    const [first = 0, last = first] = text.split('-').map(Number);
    return [first, last];
  });
}

/** Name of its subnet. */
export function subnetOf({ subnetwork }: Pick<ForwardingRule, 'subnetwork'>): string | undefined {
  return subnetwork ? lastSegment(subnetwork) : undefined;
}
