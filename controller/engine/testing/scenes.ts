import assert from 'node:assert/strict';
import type { Driver } from '../driver.ts';
import type { Request } from '../request.ts';
import { everyService, nameOf } from '../resource.ts';
import { createDocumentCloud, type DocumentCloud, documentDriver, type Part } from './document-driver.ts';
import { cluster, compositeDriver, type Desired, plainDriver } from './drivers.ts';
import { createEnvironment, type Environment, ownerOf } from './environment.ts';
import { createFakeCloud, type FakeCloud, type Thing } from './fake-cloud.ts';
import { rulesDriver, ruleThing } from './rules-driver.ts';
import type { Spec } from './table.ts';

export const clouds = ['plain', 'silent', 'composite', 'document', 'rules'] as const;
export type WrapDriver = (driver: Driver<Desired>) => Driver<Desired>;
export type CloudName = (typeof clouds)[number];

/** An environment with one of the small clouds, and a check that its Services are served. */
export interface Scene extends Environment {
  readonly documents: DocumentCloud | undefined;
  /** Throws unless the cloud holds exactly what these requests ask for, and all foreign things as they were. */
  expect(requests: readonly Request<Desired>[], what: string): void;
}

/** @param wrap changes what the driver of that cloud does */
export function createScene(name: CloudName, lagMs = 0, wrap: WrapDriver = (driver) => driver): Scene {
  const settleMs = lagMs === 0 ? 0 : lagMs + 1000;
  let documents: DocumentCloud | undefined;
  function driverOf(cloud: FakeCloud, answers: boolean): Driver<Desired> {
    if (name === 'composite') return compositeDriver(cloud, { settleMs });
    if (name === 'rules') return rulesDriver(cloud, settleMs);
    if (name === 'document') return documentDriver(cloud, documents!, settleMs);
    return plainDriver(cloud, { answers, settleMs });
  }
  const environment = createEnvironment(
    (clock) =>
      createFakeCloud({
        clock,
        lagMs,
        ...(name === 'composite' && { operationMs: 2000, locking: new Set(['balancer']) }),
      }),
    (cloud, clock) => {
      if (name === 'document') documents = createDocumentCloud(cloud, clock, 3000);
      return () => wrap(driverOf(cloud, name === 'plain'));
    },
  );
  const { cloud } = environment;
  const foreign: (Thing | Part)[] = [
    cloud.add({
      kind: 'balancer',
      key: 'main',
      owner: { cluster: 'c2', service: 'u1' },
      slots: ['name z'],
      refs: [],
      body: { algorithm: 'other' },
    }),
    cloud.add({ kind: 'address', key: 'main', owner: undefined, slots: [], refs: [], body: {} }),
    cloud.add({ kind: 'group', key: '80', owner: ownerOf('u9'), slots: [], refs: [], body: { members: [] } }),
    ...(name === 'rules'
      ? [cloud.add(ruleThing('22 from all', undefined)), cloud.add(ruleThing('30001 from n1', undefined))]
      : []),
  ];
  if (name === 'document') {
    const part: Part = { kind: 'rule', owner: undefined, key: '80', body: { port: '1' } };
    documents!.doc = [part];
    foreign.push(part);
  }

  function expectThings(request: Request<Desired>, what: string): void {
    const { owner, desired } = request;
    const roots = [...cloud.things.values()].filter(
      (one) => one.owner?.cluster === cluster && one.owner.service === owner.service,
    );
    const parts = [...cloud.things.values()].filter((one) => roots.some(({ id }) => id === one.within));
    const own = new Map([...roots, ...parts].map((one) => [one.id, one]));
    const wants = desired === undefined ? [] : driverOf(cloud, true).desire(desired).wants;
    const kept = wants.filter(({ kind }) => !['rule', 'pool', 'frontend'].includes(kind) || name === 'composite');
    assert.deepEqual(
      [...own.values()].map(nameOf).sort(),
      kept.map(nameOf).sort(),
      `${what}: things of ${owner.service}`,
    );
    for (const want of kept) {
      const thing = [...own.values()].find((one) => nameOf(one) === nameOf(want))!;
      const { body, refs = {}, fixed } = want.spec as Spec;
      const sorted = (all: object) =>
        JSON.stringify(all, (_, value) => (Array.isArray(value) ? [...value].sort() : value));
      const pick = Object.fromEntries(Object.keys(body).map((key) => [key, thing.body[key]]));
      assert.equal(sorted(pick), sorted(body), `${what}: ${nameOf(want)}`);
      if (fixed !== undefined) assert.equal(thing.body['fixed'], fixed, `${what}: ${nameOf(want)}`);
      const pointsAt = Object.fromEntries(
        thing.refs.map(({ role, id }) => [role, nameOf(own.get(id) ?? { kind: id })]),
      );
      assert.deepEqual(pointsAt, refs, `${what}: references of ${nameOf(want)}`);
    }
  }
  function expectRules(live: readonly Desired[], what: string): void {
    const expected = live.flatMap(({ ports, members }) =>
      ports.flatMap(({ nodePort }) => members.map((one) => `${nodePort} from ${one}`)),
    );
    const actual = [...cloud.things.values()].filter(({ kind }) => kind === 'rule').map(({ key }) => key);
    assert.deepEqual(
      actual.sort(),
      [...new Set([...expected, '22 from all', '30001 from n1'])].sort(),
      `${what}: rules`,
    );
  }
  function expectDocument(requests: readonly Request<Desired>[], what: string): void {
    const live = requests.flatMap(({ owner, desired }) => (desired === undefined ? [] : [{ owner, desired }]));
    const text = ({ kind, key, owner, body }: Part) => `${kind} ${owner?.service} ${key} ${JSON.stringify(body)}`;
    const addressOf = (service: string) =>
      [...cloud.things.values()].find((one) => one.kind === 'address' && one.owner?.service === service)?.id;
    const members = [...new Set(live.flatMap(({ desired }) => desired.members))].sort().join(',');
    const expected: Part[] = [
      { kind: 'rule', owner: undefined, key: '80', body: { port: '1' } },
      ...(live.length === 0 ? [] : [{ kind: 'pool', owner: ownerOf(everyService), key: 'nodes', body: { members } }]),
      ...live.flatMap(({ owner, desired }): Part[] => [
        { kind: 'frontend', owner, key: 'main', body: { address: addressOf(owner.service)! } },
        ...desired.ports.map(({ port, nodePort }) => ({
          kind: 'rule',
          owner,
          key: `${port}`,
          body: { port: `${port}`, nodePort: `${nodePort}` },
        })),
      ]),
    ];
    assert.deepEqual((documents!.doc ?? []).map(text).sort(), expected.map(text).sort(), `${what}: document`);
  }

  return {
    ...environment,
    documents,
    expect(requests, what) {
      for (const request of requests) expectThings(request, what);
      for (const one of foreign)
        if ('id' in one) assert.deepEqual(cloud.things.get(one.id), one, `${what}: foreign ${one.id}`);
      if (name === 'rules')
        expectRules(
          requests.flatMap(({ desired }) => desired ?? []),
          what,
        );
      if (name === 'document') expectDocument(requests, what);
    },
  };
}
