import { annotations } from '../../../common/well-known.ts';
import type { MemberChoice } from '../../clouds/load-balancers.ts';
import { cloudModules } from '../../clouds/registry.ts';
import type { NodeView } from '../../model/node-view.ts';
import type { Claimant } from '../../model/ownership.ts';
import type { ServiceView } from '../../model/service-view.ts';
import { type Eligibility, eligibilityOf, sameEligibility } from '../../services/members/facts.ts';
import { type Membership, nextMemberships } from '../../services/members/membership.ts';
import { type NodeStates, nodeStates } from '../../services/members/node-states.ts';
import { createSelections } from '../../services/members/selection.ts';
import { parseRecord } from '../../services/record.ts';
import { type Place, placeOf, recordedClouds } from './recorded-clouds.ts';

/** The members that a Service should have, by the controller's rules; `unknown`: why that cannot be told. */
export type DesiredMembers =
  | { readonly unknown: string }
  | (NodeStates & {
      /** How many more would serve, were it not for the cloud's cap. */
      readonly omitted: number;
      /** What decides besides, and is not in the objects of the API server: for people. */
      readonly notKnown: readonly string[];
    });

/** The desired members of Services, computed once for Services of equal rules. */
export interface MembersView {
  put(node: NodeView): void;
  remove(name: string): void;
  /** Loads what the clouds of the Nodes read in annotations; to be awaited before `of`. */
  prepare(): Promise<void>;
  /** Whether any answer may be another one since this was last asked. */
  takeChange(): boolean;
  of(service: ServiceView): DesiredMembers;
}

const neverKnown = [
  'health, and what the cloud refuses (see the reason)',
  'whether one that drains has left',
  'members whose Nodes vanished',
  'whether --require-attestation applies',
];
const ofLocal = 'which Nodes have a ready pod: the others fail the health check';

interface Held {
  readonly node: NodeView;
  readonly place: Place | undefined;
  readonly eligibility: Eligibility;
}

/** @param moduleNames clouds of `--cloud-module`, which are not loaded */
export function createMembersView(moduleNames: readonly string[]): MembersView {
  const held = new Map<string, Held>();
  const choices = new Map<string, MemberChoice>();
  const chosenBy = new Set<string>();
  const selections = createSelections();
  const states = new WeakMap<Membership, NodeStates>();
  let clouds: readonly Claimant[] = [];
  let sets: ReadonlyMap<string, Membership> | undefined;
  let isChanged = false;

  function change(): void {
    sets = undefined;
    isChanged = true;
  }

  function readAll(): void {
    for (const [name, one] of held) held.set(name, { ...one, eligibility: eligibilityOf(one.node, clouds, chosenBy) });
    sets = undefined;
  }

  function memberships(): ReadonlyMap<string, Membership> {
    if (sets !== undefined) return sets;
    const now = recordedClouds([...held.values()].map(({ place }) => place));
    if (scopesIn(now) !== scopesIn(clouds)) {
      clouds = now;
      readAll();
    }
    const eligibilities = [...held.values()].map(({ eligibility }) => eligibility);
    const called = clouds.filter(({ api }) => api !== undefined);
    sets = nextMemberships(called, new Map(), { eligibilities, last: new Map(), deletedByUs: () => false }, 0);
    return sets;
  }

  function statesOf(set: Membership): NodeStates {
    const named = () => Array.from(held, ([name, { eligibility }]) => [name, eligibility] as const);
    const known = states.get(set) ?? nodeStates(named(), set);
    states.set(set, known);
    return known;
  }

  return {
    put(node) {
      const before = held.get(node.name);
      const place = placeOf(node, moduleNames);
      const eligibility = eligibilityOf(node, clouds, chosenBy);
      held.set(node.name, { node, place, eligibility });
      const isSamePlace = before?.place?.scope === place?.scope && before?.place?.name === place?.name;
      if (!isSamePlace || !sameEligibility(before?.eligibility, eligibility)) change();
    },
    remove(name) {
      if (held.delete(name)) change();
    },
    async prepare() {
      for (const { cloud } of memberships().values()) {
        if (choices.has(cloud)) continue;
        choices.set(cloud, await choiceOf(cloud));
        isChanged = true;
      }
    },
    takeChange() {
      const was = isChanged;
      isChanged = false;
      return was;
    },
    of(service) {
      const scope = parseRecord(service.annotations[annotations.loadBalancer])?.scope;
      if (scope === undefined) return { unknown: 'not recorded yet in which cloud' };
      const cloud = memberships().get(scope)?.cloud;
      if (cloud === undefined) return { unknown: `no Node of a known cloud is recorded in ${scope}` };
      const choice = choices.get(cloud);
      if (choice === undefined) return { unknown: 'not read yet' };
      const { nodeLabels, takesPods, maxMembers = Number.POSITIVE_INFINITY, configured } = choice;
      if (takesPods?.(service.annotations)) return { unknown: 'its ready pods, not Nodes' };
      const chosen = nodeLabels?.(service.annotations) ?? [];
      const unread = chosen.map(({ key }) => key).filter((key) => !chosenBy.has(key));
      for (const key of unread) chosenBy.add(key);
      if (unread.length > 0) readAll();
      const found = statesOf(selections.of(memberships().get(scope)!, chosen));
      const serving = Math.min(found.serving, maxMembers);
      return {
        ...found,
        serving,
        omitted: found.serving - serving,
        notKnown: [
          ...neverKnown,
          ...(service.externalTrafficPolicy === 'Local' ? [ofLocal] : []),
          ...(configured === undefined ? [] : [configured]),
        ],
      };
    },
  };
}

async function choiceOf(cloud: string): Promise<MemberChoice> {
  const load = cloudModules.get(cloud);
  if (load === undefined) return { configured: `what --cloud-module ${cloud} reads in annotations` };
  try {
    return (await load()).memberChoice ?? {};
  } catch {
    return { configured: `what ${cloud} reads in annotations, since its code is not beside this program` };
  }
}

function scopesIn(clouds: readonly Claimant[]): string {
  return JSON.stringify(clouds.map(({ name, scope }) => [name, scope]).sort());
}
