import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { annotations, conditions, taints as taintKeys } from '../../common/well-known.ts';
import type { AddressView, NodeView, Taint } from '../model/node-view.ts';
import { exampleInstance } from '../model/testing/example-instance.ts';
import { exampleNode, uninitializedTaint } from '../model/testing/example-node.ts';
import { dedupe } from './addresses.ts';
import { desiredNode } from './desired-node.ts';
import { conditionChange, planMain, planStatus, statusPatch } from './patches.ts';
import { outOfServiceValue, planPowerTaints, powerTaintsOf } from './power-taints.ts';

const now = Date.parse('2026-01-02T03:04:05.678Z');

interface StatusPatch {
  readonly metadata: { readonly resourceVersion: string };
  readonly status: {
    readonly addresses?: readonly ({ readonly $patch: string } | AddressView)[];
    readonly conditions?: readonly {
      readonly type: string;
      readonly lastTransitionTime?: string;
      readonly message: string;
    }[];
  };
}
interface MainPatch {
  readonly metadata: { readonly resourceVersion: string; readonly labels?: object; readonly annotations?: object };
  readonly spec?: { readonly providerID?: string; readonly taints?: readonly Taint[] };
}

function plan(node: NodeView, changes: Parameters<typeof exampleInstance>[0] = {}) {
  const desired = desiredNode(node, exampleInstance(changes), 'scope');
  assert.ok(desired.ok);
  return {
    status: planStatus(node, desired.node, now) as StatusPatch | undefined,
    main: planMain(node, desired.node, '11') as MainPatch | undefined,
  };
}

const someTaint: fc.Arbitrary<Taint> = fc.record({
  key: fc.constantFrom(
    'example.com/a',
    'example.com/b',
    taintKeys.uninitialized,
    taintKeys.shutdown,
    taintKeys.outOfService,
  ),
  value: fc.constantFrom('', 'x', 'mooring', 'nodeshutdown'),
  effect: fc.constantFrom('NoSchedule', 'NoExecute', 'PreferNoSchedule'),
});
/** As the API server keeps them: unique by key and effect. */
const someTaints = fc
  .array(someTaint, { maxLength: 8 })
  .map((all) =>
    all.filter((one, at) => all.findIndex((other) => other.key === one.key && other.effect === one.effect) === at),
  );
const someAddresses = fc.array(
  fc.record({
    type: fc.constantFrom('InternalIP' as const, 'ExternalIP' as const, 'Hostname' as const),
    address: fc.constantFrom('10.0.0.1', '10.0.0.2', 'fd00::1', 'FD00::1', 'a', 'b'),
  }),
  { maxLength: 8 },
);

describe('the patches of a Node', () => {
  it('sends the status with addresses and condition first, then the taint removal, each guarded by the version', () => {
    const { status, main } = plan(exampleNode({ taints: [uninitializedTaint] }));
    assert.equal(status?.metadata.resourceVersion, '10');
    assert.deepEqual(status?.status.addresses, [{ $patch: 'replace' }, { type: 'InternalIP', address: '10.0.0.1' }]);
    assert.deepEqual(
      status?.status.conditions?.map(({ type }) => type),
      [conditions.cloudInitialized],
    );
    assert.equal(main?.metadata.resourceVersion, '11');
    assert.deepEqual(main?.spec, { providerID: 'simulated://sim-1/i-1', taints: [] });
    assert.deepEqual(main?.metadata.annotations, { [annotations.instance]: 'scope inc-1' });
  });

  it('sends no patch for a Node that is up to date', () => {
    const first = exampleNode({ taints: [uninitializedTaint] });
    const desired = desiredNode(first, exampleInstance(), 'scope');
    assert.ok(desired.ok);
    const done = exampleNode({
      providerID: 'simulated://sim-1/i-1',
      labels: desired.node.labels as Record<string, string>,
      annotations: { [annotations.instance]: desired.node.record },
      addresses: [{ type: 'InternalIP', address: '10.0.0.1' }],
      conditions: [
        {
          type: conditions.cloudInitialized,
          status: 'True',
          reason: desired.node.reason,
          message: desired.node.message,
        },
      ],
    });
    assert.deepEqual(plan(done), { status: undefined, main: undefined });
  });

  it('lists each address and the replace directive once in the status patch, for any input', () => {
    fc.assert(
      fc.property(someAddresses, someAddresses, fc.boolean(), (cloud, current, joining) => {
        const node = exampleNode({
          addresses: dedupe(current),
          taints: joining ? [uninitializedTaint] : [],
          providerID: joining ? '' : 'simulated://sim-1/i-1',
        });
        const [directive, ...listed] = plan(node, { addresses: cloud }).status?.status.addresses ?? [
          { $patch: 'replace' },
        ];
        assert.deepEqual(directive, { $patch: 'replace' });
        const addresses = listed as readonly AddressView[];
        assert.deepEqual(addresses, dedupe(addresses));
      }),
      { numRuns: 1000, seed: 11 },
    );
  });

  it('removes the uninitialized taint with any effect, and no other taint', () => {
    fc.assert(
      fc.property(someTaints, (held) => {
        const { main } = plan(exampleNode({ taints: held, providerID: 'simulated://sim-1/i-1' }));
        const tainted = held.some(({ key }) => key === taintKeys.uninitialized);
        if (tainted)
          assert.deepEqual(
            main?.spec?.taints,
            held.filter(({ key }) => key !== taintKeys.uninitialized),
          );
        else assert.equal(main?.spec?.taints, undefined, 'an initialised Node’s taints are not changed here');
      }),
      { numRuns: 1000, seed: 12 },
    );
  });

  it('never changes a providerID that is set', () => {
    assert.equal(
      plan(exampleNode({ taints: [uninitializedTaint], providerID: 'simulated://sim-1/i-1' })).main?.spec?.providerID,
      undefined,
    );
  });

  it('keeps the addresses when the cloud lists none', () => {
    const { status } = plan(
      exampleNode({ taints: [uninitializedTaint], addresses: [{ type: 'InternalIP', address: '10.9.9.9' }] }),
      { addresses: [] },
    );
    assert.equal(status?.status.addresses, undefined);
  });
});

describe('a condition', () => {
  const wanted = { type: 'X', status: 'False' as const, reason: 'Why', message: 'm' };
  const held = (changes: object) => exampleNode({ conditions: [{ ...wanted, ...changes }] });

  it('leaves a condition that is up to date', () => assert.equal(conditionChange(held({}), wanted), undefined));
  it('changes the transition time of a condition only with its status', () => {
    assert.equal(conditionChange(exampleNode(), wanted)?.changed, true);
    assert.equal(conditionChange(held({ status: 'True' }), wanted)?.changed, true);
    assert.equal(conditionChange(held({ reason: 'Other' }), wanted)?.changed, false);
    const [kept] =
      (statusPatch('1', now, { conditions: [{ ...wanted, changed: false }] }) as StatusPatch).status.conditions ?? [];
    assert.equal(kept?.lastTransitionTime, undefined);
    const [flipped] =
      (statusPatch('1', now, { conditions: [{ ...wanted, changed: true }] }) as StatusPatch).status.conditions ?? [];
    assert.equal(flipped?.lastTransitionTime, '2026-01-02T03:04:05Z');
  });
  it('shows invisible characters of a message by their code points, once', () => {
    const odd = { ...wanted, message: 'a\nb\u202e' };
    const [kept] =
      (statusPatch('1', now, { conditions: [{ ...odd, changed: true }] }) as StatusPatch).status.conditions ?? [];
    assert.equal(kept?.message, 'a\\u{a}b\\u{202e}');
    assert.equal(conditionChange(held({ message: kept?.message }), odd), undefined);
  });
  it('cuts a long message of a condition, once', () => {
    const long = { ...wanted, message: 'x'.repeat(2000) };
    const [cut] =
      (statusPatch('1', now, { conditions: [{ ...long, changed: true }] }) as StatusPatch).status.conditions ?? [];
    assert.equal(cut?.message.length, 512);
    assert.equal(conditionChange(held({ message: cut?.message }), long), undefined);
  });
});

describe('power taints', () => {
  it('adds and removes power taints without a duplicate and without losing a foreign taint', () => {
    fc.assert(
      fc.property(someTaints, fc.boolean(), fc.boolean(), (held, shutdown, outOfService) => {
        const node = exampleNode({ taints: held });
        const planned = planPowerTaints(node, { shutdown, outOfService });
        const after = planned ?? held;
        const foreign = (taints: readonly Taint[]) =>
          taints.filter(
            ({ key, effect, value }) =>
              !(key === taintKeys.shutdown && effect === 'NoSchedule') &&
              !(key === taintKeys.outOfService && value === outOfServiceValue && effect === 'NoExecute'),
          );
        assert.deepEqual(foreign(after), foreign(held));
        assert.equal(new Set(after.map(({ key, effect }) => `${key} ${effect}`)).size, after.length);
        assert.equal(powerTaintsOf(exampleNode({ taints: after })).shutdown, shutdown);
        const fenced = after.some(({ key, effect }) => key === taintKeys.outOfService && effect === 'NoExecute');
        if (outOfService) assert.ok(fenced);
        assert.equal(
          planPowerTaints(exampleNode({ taints: after }), { shutdown, outOfService }),
          undefined,
          'once is enough',
        );
      }),
      { numRuns: 2000, seed: 13 },
    );
  });
});
