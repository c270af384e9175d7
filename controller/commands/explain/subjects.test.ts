import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { readSubjects, type Subject } from './subjects.ts';

const node = (name: string): Subject => ({ kind: 'node', name });
const service = (name: string, namespace?: string): Subject => ({ kind: 'service', namespace, name });

describe('operands of explain', () => {
  for (const [operands, namespace, expected] of [
    ['node a', undefined, [node('a')]],
    ['nodes a b', 'shop', [node('a'), node('b')]],
    ['Node/a no/b', undefined, [node('a'), node('b')]],
    ['svc web', undefined, [service('web')]],
    ['services web api', 'shop', [service('web', 'shop'), service('api', 'shop')]],
    ['service shop/web', undefined, [service('web', 'shop')]],
    ['service shop/web', 'shop', [service('web', 'shop')]],
    ['svc/web node/a', 'shop', [service('web', 'shop'), node('a')]],
    ['svc/shop/web', undefined, [service('web', 'shop')]],
  ] as const) {
    it(`reads the operands ${operands}${namespace === undefined ? '' : ` -n ${namespace}`}`, () => {
      assert.deepEqual(readSubjects(operands.split(' '), namespace), expected);
    });
  }
});
