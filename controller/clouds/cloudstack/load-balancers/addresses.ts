import type { Change, Kind, WriteIo } from '../../../engine/resource.ts';
import { sameAddress } from '../../ip-address.ts';
import type { Owner } from '../../load-balancers.ts';
import { acquisitionName, networkOfAcquisition } from './acquisition-kind.ts';
import { type Address, foundAddress, kindNames, partsOf } from './found.ts';
import { type Marks, type Tags, tagKeys, tagParams, tagsOf } from './marks.ts';
import type { Project } from './project.ts';

export interface Claim {
  readonly id: string;
  readonly isLent: boolean;
  /** It was kept when its Service went: what is left of that one goes first. */
  readonly kept?: Address;
}

/** What a Service asks of its address. */
export interface AddressSpec {
  readonly marks: Marks;
  /** Undefined: any. */
  readonly ip: string | undefined;
  /** Id of an address that the Service may use: it is tagged, and released as it is tagged. */
  readonly claim?: Claim;
  /** What is taken over stays when its Service goes: the Service names it, and a person acquired it. */
  readonly isLent?: boolean;
  /** VMs: the address is acquired for their network. */
  readonly vms: readonly string[];
}

/** Acquiring an address takes seconds; for so long a request whose answer was lost may have its effect. */
const settleMs = 10_000;
const resourcetype = 'PublicIpAddress';

type Io = Pick<WriteIo, 'permit' | 'signal'>;

const untagged: Address = {
  id: '',
  ip: '',
  network: undefined,
  tags: {},
  createdAtMs: undefined,
  balancers: [],
  isNew: true,
  isShared: false,
};

/** The public address of a Service, which stands for its load balancer. */
export function addressKind(project: Project): Kind<AddressSpec, Address> {
  const { change, changed, list, networkOf, acquisitions } = project;

  const tagging = (id: string, tags: Tags) => ({ resourcetype, resourceids: [id], ...tagParams(tags) });
  const tag = (id: string, tags: Tags, io: Io) => change('createTags', tagging(id, tags), io);

  async function acquire({ ip }: AddressSpec, { owner, permit, signal, idOf }: WriteIo) {
    const network = project.network(networkOfAcquisition(idOf(acquisitionName)))!;
    const place = network.vpc === undefined ? { networkid: network.id } : { vpcid: network.vpc };
    const params = { ...place, projectid: project.project, ...(ip !== undefined && { ipaddress: ip }) };
    const { id, operation } = await change('associateIpAddress', params, { permit, signal });
    const acquired = { owner, network: network.id };
    if (id === undefined) return {};
    acquisitions.made(id, acquired);
    // Its end alone shows the address. Where that is not read here, the id is on record, and the job is asked again.
    const ended = project.resultOf('associateIpAddress', operation, { permit, signal });
    const address = (await ended.catch(() => undefined))?.optionalObject('ipaddress');
    const [found] = address === undefined ? [] : foundAddress(address, { rules: [], firewall: [] }, acquired);
    if (found === undefined) return { id, operation };
    // The result may have the state from before its end.
    return { id, found: [{ ...found, status: 'ready' as const }] };
  }
  /** Those that are there now. @param owner undefined: of a Service that has gone */
  async function removeRules(id: string, owner: Owner | undefined, io: Io) {
    const options = { urgency: 'change', signal: io.signal } as const;
    const rules = await list('listLoadBalancerRules', 'loadbalancerrule', { publicipid: id }, options);
    const firewall = await list('listFirewallRules', 'firewallrule', { ipaddressid: id }, options);
    const parts = partsOf(id, owner, { rules, firewall });
    for (const one of parts.openings) await changed('deleteFirewallRule', { id: one.id }, io);
    for (const one of parts.ours) await changed('deleteLoadBalancerRule', { id: one.id }, io);
  }
  /** Rules of ours go, and the tags last: they show whose the rules are. */
  async function giveBack(address: Address, io: Io & Pick<WriteIo, 'owner'>) {
    await removeRules(address.id, io.owner, io);
    const ours = Object.keys(address.tags).filter((key) => key in ownTags);
    return ours.length === 0 ? {} : change('deleteTags', tagging(address.id, only(address.tags, ours)), io);
  }
  /** That it is kept is the last that goes, so that a crash in between changes no right. */
  async function claim(spec: AddressSpec, { id, isLent, kept }: Claim, io: Io) {
    const network = await networkOf(spec.vms, io.signal);
    const lent = { [tagKeys.lent]: 'true' };
    const tags = { ...tagsOf(spec.marks), [tagKeys.network]: network.id };
    if (kept === undefined) return tag(id, { ...tags, ...(isLent && lent) }, io);
    await removeRules(id, undefined, io);
    const former = Object.keys(kept.tags).filter((key) => key in tags);
    if (former.length > 0) await changed('deleteTags', tagging(id, only(kept.tags, former)), io);
    await changed('createTags', tagging(id, tags), io);
    return change('deleteTags', tagging(id, only(kept.tags, [tagKeys.retained])), io);
  }

  return {
    kind: kindNames.address,
    retryCreate: 'afterSearch',
    settleMs,
    compare({ body, owner }, { ip, marks }) {
      if (ip !== undefined && !sameAddress(ip, body.ip))
        return { replace: `from ${body.ip} to ${ip}`, order: 'createFirst' };
      // Tags of what is taken over come with the mark.
      return (owner === undefined && !body.isNew) || same(body.tags, tagsOf(marks))
        ? { same: true }
        : { changes: changesOf(body.tags, marks) };
    },
    // It cannot be acquired with tags.
    fresh: ({ spec: { claim, ip = '', marks } }) => ({
      body: { ...untagged, ip, tags: claim === undefined ? {} : tagsOf(marks) },
    }),
    create: async ({ spec }, _inside, io) => {
      if (spec.claim === undefined) return acquire(spec, io);
      return { ...(await claim(spec, spec.claim, io)), id: spec.claim.id };
    },
    async update({ refs: _, ...found }, { what, body: sent }, io) {
      const { id, body } = found;
      const tags = sent as Tags;
      const { network } = body;
      if (what === 'untag') {
        const answer = await change('deleteTags', tagging(id, tags), io);
        const left = Object.keys(body.tags).filter((key) => !(key in tags));
        return { ...answer, found: [{ ...found, body: { ...body, tags: only(body.tags, left) } }] };
      }
      const isKnown = body.tags[tagKeys.network] !== undefined || network === undefined;
      const added = isKnown ? tags : { ...tags, [tagKeys.network]: network };
      const answer = await tag(id, added, io);
      return { ...answer, found: [{ ...found, body: { ...body, tags: { ...body.tags, ...added }, isNew: false } }] };
    },
    async remove({ id, body }, io) {
      const { tags, isNew, isShared } = body;
      const isNamed = !isNew && tags[tagKeys.service] === undefined && project.named.has(io.owner.service);
      if (isNamed || isShared || tags[tagKeys.lent] !== undefined) return giveBack(body, io);
      return change('disassociateIpAddress', { id }, io);
    },
    mark({ id, body }, as, want, io) {
      if (as === 'retained') return tag(id, { [tagKeys.retained]: body.tags[tagKeys.serviceName] ?? 'unknown' }, io);
      const { marks, isLent } = want!.spec;
      const more = {
        ...(body.network && { [tagKeys.network]: body.network }),
        ...(isLent && { [tagKeys.lent]: 'true' }),
      };
      return tag(id, { ...tagsOf(marks), ...more }, io);
    },
  };
}

const { consent: _consent, ...own } = tagKeys;
const ownTags: Readonly<Record<string, true>> = Object.fromEntries(Object.values(own).map((key) => [key, true]));

function only(tags: Tags, keys: readonly string[]): Tags {
  return Object.fromEntries(Object.entries(tags).filter(([key]) => keys.includes(key)));
}

function same(tags: Tags, desired: Tags): boolean {
  const hostname = tags[tagKeys.hostname];
  return Object.entries(desired).every(([key, value]) => tags[key] === value) && hostname === desired[tagKeys.hostname];
}

/** A tag has to go before it can come with another value. */
function changesOf(tags: Tags, marks: Marks): readonly Change[] {
  const desired = tagsOf(marks);
  const wrong = Object.keys(tags).filter((key) => key in ownTags && isManaged(key) && tags[key] !== desired[key]);
  const missing = Object.keys(desired).filter((key) => tags[key] !== desired[key]);
  const names = (keys: readonly string[]) => keys.map((key) => key.replace('mooring.dev/', '')).join(', ');
  return [
    ...(wrong.length > 0
      ? [{ what: 'untag', summary: `remove tags ${names(wrong)}`, phase: 'grow', body: only(tags, wrong) } as const]
      : []),
    ...(missing.length > 0
      ? [
          {
            what: 'tag',
            summary: `tag ${names(missing)}`,
            phase: 'set',
            after: ['untag'],
            // They show whose the rules on it are.
            guards: missing.includes(tagKeys.service),
            body: only(desired, missing),
          } as const,
        ]
      : []),
  ];
}

function isManaged(key: string): boolean {
  return key === tagKeys.serviceName || key === tagKeys.hostname;
}
