import assert from 'node:assert/strict';
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import type { CloudHalf } from '../cloud.ts';
import { iamActions } from './iam-actions.ts';

const services: Readonly<Record<string, string>> = {
  'client-ec2': 'ec2',
  'client-elastic-load-balancing': 'elasticloadbalancing',
  'client-elastic-load-balancing-v2': 'elasticloadbalancing',
  'client-sts': 'sts',
};

/** Every operation whose command is imported anywhere in this cloud's code, as IAM calls it. */
async function importedActions(): Promise<Set<string>> {
  const actions = new Set<string>();
  for (const entry of await readdir(import.meta.dirname, { recursive: true, withFileTypes: true })) {
    const path = join(entry.parentPath, entry.name);
    if (!path.endsWith('.ts') || path.endsWith('.test.ts') || path.includes('/testing/')) continue;
    const text = await readFile(path, 'utf8');
    for (const [, names = '', client = ''] of text.matchAll(/import\s*\{([^}]*)\}\s*from '@aws-sdk\/([\w-]+)'/g)) {
      for (const name of names.split(',')) {
        const operation = /^(\w+)Command\b/.exec(name.trim())?.[1];
        if (operation !== undefined) actions.add(`${services[client]}:${operation}`);
      }
    }
  }
  return actions;
}

/** The statements of a policy document, by their Sid. */
async function policyOf(path: string): Promise<Map<string, readonly string[]>> {
  const text = await readFile(join(import.meta.dirname, '../../..', path), 'utf8');
  const json = /```json\n([\s\S]*?)```/.exec(text)?.[1] ?? text;
  const { Statement } = JSON.parse(json) as { Statement: { Sid: string; Action: string[]; Effect: string }[] };
  assert.ok(Statement.every(({ Effect }) => Effect === 'Allow'));
  return new Map(Statement.map(({ Sid, Action }) => [Sid, Action]));
}

describe('the permissions of the controller on AWS', () => {
  it('are those of the operations that the code sends, no more and no fewer', async () => {
    const sent = [...(await importedActions())].filter((action) => !action.startsWith('sts:'));
    assert.ok(sent.length > 40, `${sent.length} operations`);
    assert.deepEqual(sent.sort(), iamActions.map(({ action }) => action).sort());
  });

  const sids: readonly [string, CloudHalf][] = [
    ['MooringNodes', 'nodes'],
    ['MooringRoutes', 'routes'],
    ['MooringLoadBalancers', 'load balancers'],
  ];
  for (const path of ['docs/clouds/aws.md', 'deploy/examples/aws/iam-policy.json']) {
    it(`are granted by the policy of ${path}, each half by a statement of its own`, async () => {
      const policy = await policyOf(path);
      assert.deepEqual([...policy.keys()], [...sids.map(([sid]) => sid), 'FirstLoadBalancerOfTheAccount']);
      for (const [sid, half] of sids) {
        const wanted = iamActions.filter(({ halves }) => halves.includes(half)).map(({ action }) => action);
        assert.deepEqual([...policy.get(sid)!].sort(), wanted.sort(), sid);
      }
      assert.deepEqual(policy.get('FirstLoadBalancerOfTheAccount'), ['iam:CreateServiceLinkedRole']);
    });
  }
});
