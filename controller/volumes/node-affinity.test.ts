import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { addRequirements, type Requirement, requirementsOf, type SelectorTerm } from './node-affinity.ts';

const zone = 'topology.kubernetes.io/zone';
const region = 'topology.kubernetes.io/region';

/** Whether a Node with these labels satisfies the terms; the operators that the generator makes. */
function isSelected(terms: readonly SelectorTerm[], labels: Readonly<Record<string, string>>): boolean {
  const holds = ({ key, operator, values = [] }: Requirement) =>
    operator === 'In' ? values.includes(labels[key] ?? '') : !values.includes(labels[key] ?? '');
  return terms.some(({ matchExpressions = [] }) => matchExpressions.length > 0 && matchExpressions.every(holds));
}

const values = ['a', 'b', 'c'];
const someValues = fc.subarray(values, { minLength: 1 });
const requirement = fc.record({
  key: fc.constantFrom('disk', 'rack', zone, region),
  operator: fc.constantFrom('In', 'NotIn'),
  values: someValues,
});
const terms = fc.array(fc.record({ matchExpressions: fc.array(requirement, { minLength: 1, maxLength: 3 }) }), {
  maxLength: 4,
});
const place = fc.record({ zones: fc.subarray(values), region: fc.constantFrom('a', 'b', undefined) });
const node = fc.record({
  disk: fc.constantFrom(...values),
  rack: fc.constantFrom(...values),
  [zone]: fc.constantFrom(...values),
  [region]: fc.constantFrom(...values),
});

describe('the node affinity with the requirements of a place added', () => {
  it('selects exactly the Nodes of that place that were selected before, or stays where it names the place', () => {
    fc.assert(
      fc.property(terms, place, node, (before, at, labels) => {
        const added = requirementsOf(at);
        const after = addRequirements(before, added);
        const names = before.some(({ matchExpressions }) =>
          matchExpressions.some(({ key }) => added.some((one) => one.key === key)),
        );
        assert.equal(after === undefined, names || added.length === 0);
        if (after === undefined) return;
        const wasSelected = before.length === 0 || isSelected(before, labels);
        const isThere = isSelected([{ matchExpressions: added }], labels);
        assert.equal(isSelected(after, labels), wasSelected && isThere);
        assert.equal(addRequirements(after, added), undefined);
      }),
    );
  });

  it('keeps what else a term has', () => {
    const matchFields = [{ key: 'metadata.name', operator: 'In', values: ['n1'] }];
    const added = requirementsOf({ zones: ['b', 'a'], region: 'r' });
    assert.deepEqual(addRequirements([{ matchFields }], added), [{ matchFields, matchExpressions: added }]);
    assert.deepEqual(added, [
      { key: zone, operator: 'In', values: ['a', 'b'] },
      { key: region, operator: 'In', values: ['r'] },
    ]);
  });
});
