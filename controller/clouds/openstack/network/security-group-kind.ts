import type { Change, Comparison, Found, Kind, WriteIo } from '../../../engine/resource.ts';
import { markIn, retainedMark, withMark } from '../load-balancers/names.ts';
import { networkKinds } from './network-kinds.ts';
import type { Neutron } from './neutron.ts';
import {
  foundGroup,
  type GroupRule,
  type Ingress,
  readGroup,
  readRule,
  type SecurityGroup,
  textOfRule,
} from './security-group.ts';

export interface SecurityGroupSpec {
  readonly name: string;
  /** With the mark of its Service. */
  readonly description: string;
  /** Exactly these. Undefined: as they stand. */
  readonly rules: readonly Ingress[] | undefined;
  /** Rules that are not asked for go. */
  readonly mayClose: boolean;
}

/** For how long a request whose answer was lost may still be at work. */
const settleMs = 10_000;

/** The group of one Service, with its rules: Neutron's own rules for what goes out stay. */
export function securityGroupKind(neutron: Neutron): Kind<SecurityGroupSpec | undefined, SecurityGroup> {
  async function describe(id: string, description: string, io: WriteIo): Promise<{ readonly found: readonly Found[] }> {
    const request = { method: 'PUT', collection: 'security-groups', id, fields: { description } } as const;
    return { found: (await neutron.change(request, io)).map(readGroup).map(foundGroup) };
  }
  return {
    kind: networkKinds.group,
    retryCreate: 'afterSearch',
    settleMs,
    compare: ({ body, owner }, spec) =>
      spec === undefined ? { same: true } : compare(body, spec, owner !== undefined),
    fresh: ({ spec }) => ({ body: { id: '', name: spec!.name, description: spec!.description, rules: [] } }),
    async create({ spec }, _inside, io) {
      const fields = { name: spec!.name, description: spec!.description };
      const made = await neutron.change({ method: 'POST', collection: 'security-groups', fields }, io);
      const group = readGroup(made[0]!);
      return { id: group.id, found: [foundGroup(group)] };
    },
    async update({ id, body }, change, io) {
      const what = change.body as GroupChange;
      if ('describe' in what) return describe(id, what.describe, io);
      const rules = await ('open' in what
        ? open(neutron, id, body.rules, what.open, io)
        : close(neutron, body.rules, what.close, io));
      return { found: [foundGroup({ ...body, id, rules })] };
    },
    async remove({ id }, io) {
      await neutron.change({ method: 'DELETE', collection: 'security-groups', id }, io);
      return {};
    },
    mark({ id, body, owner }, as, want, io) {
      if (as === 'ours') return describe(id, want!.spec!.description, io);
      const text = body.description.replace(/ ?\[[^\]]*\]$/, '');
      return describe(id, withMark(text, retainedMark(owner ?? io.owner)), io);
    },
  };
}

type GroupChange = { readonly open: readonly Ingress[] } | { readonly close: string } | { readonly describe: string };

function compare({ name, rules, description }: SecurityGroup, spec: SecurityGroupSpec, isOwned: boolean): Comparison {
  if (isOwned && markIn(description) === undefined) {
    const summary = `mark security group ${name} again`;
    return { changes: [{ what: 'mark', phase: 'set', summary, body: { describe: spec.description } }] };
  }
  if (spec.rules === undefined) return { same: true };
  const ingress = rules.filter(({ direction }) => direction === 'ingress');
  const texts = new Set(ingress.filter(({ isOfGroup }) => !isOfGroup).map(textOfRule));
  const desired = new Set(spec.rules.map(textOfRule));
  const missing = spec.rules.filter((rule) => !texts.has(textOfRule(rule)));
  const extra = ingress.filter((rule) => rule.isOfGroup || !desired.has(textOfRule(rule)));
  const changes: Change[] = [];
  if (missing.length > 0) {
    const summary = `let ${missing.map(shown).join(', ')} in by ${name || spec.name}`;
    changes.push({ what: 'open', phase: 'grow', summary, body: { open: missing } satisfies GroupChange });
  }
  for (const rule of spec.mayClose ? extra : []) {
    const summary = `delete rule ${shown(rule)} of ${name}`;
    changes.push({
      what: `close ${rule.id}`,
      phase: 'shrink',
      summary,
      body: { close: rule.id } satisfies GroupChange,
    });
  }
  return changes.length === 0 ? { same: true } : { changes };
}

function shown({ protocol = 'any', from, prefix = 'anywhere' }: Ingress): string {
  return `${protocol} ${from ?? ''} from ${prefix}`;
}

/** All of them in one call. */
async function open(
  neutron: Neutron,
  group: string,
  standing: readonly GroupRule[],
  rules: readonly Ingress[],
  io: WriteIo,
): Promise<readonly GroupRule[]> {
  const fields = rules.map(({ ethertype, protocol, from, to, prefix }) => ({
    security_group_id: group,
    direction: 'ingress',
    ethertype,
    protocol,
    port_range_min: from,
    port_range_max: to,
    remote_ip_prefix: prefix,
  }));
  const made = await neutron.change({ method: 'POST', collection: 'security-group-rules', fields }, io);
  return [...standing, ...made.map(readRule)];
}

async function close(
  neutron: Neutron,
  standing: readonly GroupRule[],
  id: string,
  io: WriteIo,
): Promise<readonly GroupRule[]> {
  await neutron.change({ method: 'DELETE', collection: 'security-group-rules', id }, io);
  return standing.filter((rule) => rule.id !== id);
}
