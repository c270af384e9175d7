import type { Driver } from '../driver.ts';
import { everyService, type Found, type Kind, type Reader, type Want } from '../resource.ts';
import { cluster, type Desired } from './drivers.ts';
import type { FakeCloud, NewThing, Thing } from './fake-cloud.ts';
import { foundOf, type Spec, tableKind, tableReader } from './table.ts';

export const nodesGroup = 'nodes-group';

interface RuleSpec {
  readonly rule: string;
}

/** One rule in the group of the nodes, as it stands in the fake cloud. */
export function ruleThing(rule: string, owner: Thing['owner'], more: Partial<NewThing> = {}): NewThing {
  const slots = [`rule ${rule}`];
  return { kind: 'rule', key: rule, owner, within: nodesGroup, slots, refs: [], body: {}, ...more };
}

/** A group for each Service, and rules in a group that all Services share with others: many in one call. */
export function rulesDriver(cloud: FakeCloud, settleMs: number): Driver<Desired> {
  const rules: Kind<RuleSpec, Thing> = {
    kind: 'rule',
    retryCreate: 'atOnce',
    settleMs,
    merge: ([spec]) => spec!,
    lane: () => nodesGroup,
    compare: () => ({ same: true }),
    async createMany(wants, io) {
      io.permit(1000);
      const list = wants.map(({ want }) => ruleThing(want.key, { cluster, service: everyService }));
      const made = await cloud.call(`authorize ${list.map(({ key }) => key)}`, true, () => {
        for (const { slots } of list)
          for (const one of cloud.things.values())
            if (one.slots.includes(slots[0]!)) throw cloud.error('Taken', one.id);
        if (list.some(({ key }) => key.includes('refused'))) throw cloud.error('Invalid', 'a rule is refused');
        return list.map((one) => cloud.add(one));
      });
      return { found: made.map((one) => foundRule(cloud, one)) };
    },
    async removeMany(found, io) {
      io.permit(1000);
      await cloud.call(`revoke ${found.map(({ key }) => key)}`, true, () => {
        for (const { id } of found) if (!cloud.things.has(id)) throw cloud.error('NotFound', id);
        for (const { id } of found) cloud.set(id, undefined);
      });
      return {};
    },
  };
  const reader: Reader = {
    kinds: ['rule'],
    async all() {
      return readRules();
    },
    async of() {
      return { found: await readRules(), complete: ['rule'] };
    },
  };
  async function readRules(): Promise<readonly Found[]> {
    await cloud.list();
    return cloud
      .listed()
      .filter(({ kind }) => kind === 'rule')
      .map((one) => foundRule(cloud, one));
  }
  return {
    kinds: [tableKind(cloud, { kind: 'group', settleMs }), rules] as unknown as readonly Kind[],
    readers: [tableReader(cloud, ['group'], cluster), reader],
    desire({ name, ports, members }) {
      const group: Want<Spec> = {
        kind: 'group',
        key: 'main',
        summary: 'group',
        slot: `group ${name}`,
        spec: { body: { ports: ports.map(({ port }) => `${port}`) } },
      };
      const list = ports.flatMap(({ nodePort }) => members.map((member) => `${nodePort} from ${member}`));
      const wants = [...new Set(list)].map((rule) => ({
        kind: 'rule',
        key: rule,
        needs: ['group/main'],
        slot: `rule ${rule}`,
        summary: `rule ${rule}`,
        spec: { rule },
      }));
      return { wants: [group, ...wants], refusals: [] };
    },
    poll: async () => new Map(),
  };
}

function foundRule(cloud: FakeCloud, thing: Thing): Found<Thing> {
  const { within: _, ...found } = foundOf(cloud, thing);
  return found;
}
