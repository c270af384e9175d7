import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { keys } from './load-balancer-annotations.ts';
import { readNodeLabels } from './node-labels.ts';

describe('labels that a Service chooses its members by', () => {
  const cases: readonly (readonly [
    string | undefined,
    readonly (readonly [string, string | undefined])[] | undefined,
  ])[] = [
    [undefined, []],
    ['', []],
    [
      'k1=v1,k2=v2',
      [
        ['k1', 'v1'],
        ['k2', 'v2'],
      ],
    ],
    [
      'k1,k2=',
      [
        ['k1', undefined],
        ['k2', undefined],
      ],
    ],
    [' node.kubernetes.io/instance-type = m5.large ', [['node.kubernetes.io/instance-type', 'm5.large']]],
    ['a=b=c', undefined],
    ['=v', undefined],
    ['key=not a value', undefined],
    ['Prefix/key=v', undefined],
  ];
  for (const [value, labels] of cases) {
    it(`reads ${JSON.stringify(value)} as ${JSON.stringify(labels)}`, () => {
      const read = readNodeLabels(value === undefined ? {} : { [keys.targetNodeLabels]: value });
      assert.deepEqual(
        read,
        labels?.map(([key, wanted]) => ({ key, value: wanted })),
      );
    });
  }
});
