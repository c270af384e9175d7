import type { Answer, Change, Comparison, Found, Kind, WriteIo } from '../../../engine/resource.ts';
import { ownerTags } from '../../load-balancers.ts';
import { ownedBy, ownerTagsOf, type Tags } from '../load-balancer-tags.ts';
import { givenUp } from '../load-balancer-view.ts';
import { type FrontBody, type GroupView, groupKinds, showGroups } from './group-resources.ts';
import { describeRule, type IngressRule, missingRules } from './ingress-rule.ts';
import type { ObservedSecurityGroup } from './network-facts.ts';
import type { NetworkReads } from './network-reads.ts';
import type { SecurityGroupCalls } from './security-group-calls.ts';
import { isTrafficGroup } from './traffic-group.ts';

/** A security group that one Service has, or all have. Undefined: as it stands. */
export interface GroupSpec {
  readonly name: string;
  readonly description: string;
  readonly tags: Tags;
  /** Exactly these. Undefined: those that stand. */
  readonly rules?: readonly IngressRule[];
}

export interface GroupKindsParts {
  readonly reads: Pick<NetworkReads, 'lastGroups'>;
  readonly calls: SecurityGroupCalls;
  readonly view: GroupView & { nameOf(service: string): string };
  /** Names of the load balancers that carry a group; undefined = not known yet. */
  carriersOf(group: string): readonly string[] | undefined;
}

/** For how long a list may not show a change of security groups. */
export const groupsSettleMs = 10_000;

/** What a group shows, rules in it included, after a call has changed it. */
export function showGroup({ reads, view }: GroupKindsParts, id: string): Found[] {
  const shown = showGroups(reads.lastGroups()?.values() ?? [], view);
  return shown.filter((one) => one.id === id || one.id.startsWith(`${id} `));
}

/** UID of the Service of a load balancer; its name, where that is not known. */
export function userOf({ view }: GroupKindsParts, loadBalancer: string): string {
  return view.ownerOf(loadBalancer)?.service ?? loadBalancer;
}

export function createGroupKinds(parts: GroupKindsParts): readonly Kind[] {
  const { calls } = parts;
  const changed = async (call: Promise<ObservedSecurityGroup | undefined>, id: string): Promise<Answer> => {
    await call;
    return { found: showGroup(parts, id) };
  };

  async function create(spec: GroupSpec, io: WriteIo): Promise<Answer> {
    const { id } = await calls.create(spec, io);
    return { id, found: showGroup(parts, id) };
  }
  async function remove({ id }: Found, io: WriteIo): Promise<Answer> {
    await calls.remove(id, io);
    return {};
  }

  const front: Kind<GroupSpec | undefined, FrontBody> = {
    kind: groupKinds.front,
    retryCreate: 'atOnce',
    settleMs: groupsSettleMs,
    compare: ({ body, owner }, spec) => compareFront(body, spec, owner !== undefined),
    fresh: (want) => ({ body: { id: '', name: '', tags: want.spec?.tags ?? {}, ingress: [], carrier: undefined } }),
    create: (want, _, io) => create(want.spec!, io),
    update({ id }, { what, body }, io) {
      if (what === 'tags') return changed(calls.tag(id, body as Tags, io), id);
      const rules = body as readonly IngressRule[];
      return changed(what === 'close' ? calls.revoke(id, rules, undefined, io) : calls.authorize(id, rules, io), id);
    },
    remove,
    async mark({ id, body }, as, want, io) {
      const spec = want?.spec as GroupSpec | undefined;
      // One that stays as it stands has no spec.
      const tags = spec?.tags ?? ownerTagsOf(io.owner, { owned: {} }, body.tags);
      if (as === 'ours') return changed(calls.tag(id, tags, io), id);
      // Its owner's tags go when it says that it was kept: until then it is found by them.
      if (body.tags[ownerTags.retained] !== undefined) {
        const keys = [ownerTags.service, ownerTags.serviceName];
        if (keys.some((key) => body.tags[key] !== undefined)) await calls.untag(id, keys, io);
        return { found: showGroup(parts, id).map(givenUp) };
      }
      const service = body.tags[ownerTags.serviceName] ?? body.name;
      return changed(calls.tag(id, { [ownerTags.retained]: service }, io), id);
    },
  };

  const traffic: Kind<GroupSpec | undefined, ObservedSecurityGroup> = {
    kind: groupKinds.traffic,
    retryCreate: 'atOnce',
    settleMs: groupsSettleMs,
    merge: ([spec]) => spec,
    usedBy: ({ id }) => parts.carriersOf(id)?.map((name) => userOf(parts, name)),
    compare({ body }, spec) {
      if (spec === undefined || isTrafficGroup(body.tags, parts.view.cluster)) return { same: true };
      return { changes: [{ what: 'tags', phase: 'set', summary: `tag security group ${body.name}`, body: spec.tags }] };
    },
    create: (want, _, io) => create(want.spec!, io),
    update: ({ id }, { body }, io) => changed(calls.tag(id, body as Tags, io), id),
    remove,
  };

  const others: Kind = { kind: groupKinds.others, retryCreate: 'atOnce', compare: () => ({ same: true }) };
  return [front, traffic, others] as readonly Kind[];
}

function compareFront(body: FrontBody, spec: GroupSpec | undefined, isOurs: boolean): Comparison {
  if (spec === undefined) return { same: true };
  const changes: Change[] = [];
  const name = `security group ${body.name || spec.name}`;
  // Stripped by hand: the load balancer that carries it tells whose it is.
  const owner = { cluster: spec.tags[ownerTags.cluster] ?? '', service: spec.tags[ownerTags.service] ?? '' };
  if (isOurs && !ownedBy(body.tags, owner))
    changes.push({ what: 'tags', phase: 'set', summary: `tag ${name}`, body: spec.tags });
  const { rules } = spec;
  const missing = rules === undefined ? [] : missingRules(rules, body.ingress);
  const extra = rules === undefined ? [] : missingRules(body.ingress, rules);
  if (missing.length > 0)
    changes.push({ what: 'open', phase: 'grow', summary: `${name}: let in ${listed(missing)}`, body: missing });
  // Only where this makes the room for certain: otherwise it would cut off clients for nothing.
  const makesRoom = rules !== undefined && rules.length <= body.ingress.length && { makesRoom: true as const };
  const summary = `${name}: stop letting in ${listed(extra)}`;
  if (extra.length > 0) changes.push({ what: 'close', phase: 'shrink', summary, body: extra, ...makesRoom });
  return changes.length > 0 ? { changes } : { same: true };
}

function listed(rules: readonly IngressRule[]): string {
  const shown = rules.slice(0, 6).map(describeRule).join(', ');
  return rules.length > 6 ? `${shown} and ${rules.length - 6} more` : shown;
}
