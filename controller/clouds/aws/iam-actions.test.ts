import assert from 'node:assert/strict';
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import type { Capability } from '../cloud.ts';
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

/** The statements of the policy that is shipped. */
async function statements(): Promise<readonly { readonly Sid: string; readonly Action: readonly string[] }[]> {
  const path = join(import.meta.dirname, '../../../deploy/examples/aws/iam-policy.json');
  const { Statement } = JSON.parse(await readFile(path, 'utf8'));
  return Statement;
}

describe('the permissions of the controller on AWS', () => {
  it('lists the actions of the operations that the code sends, no more and no fewer', async () => {
    const sent = [...(await importedActions())].filter((action) => !action.startsWith('sts:'));
    assert.ok(sent.length > 40, `${sent.length} operations`);
    const listed = iamActions.filter(({ isForAws }) => !isForAws).map(({ action }) => action);
    assert.deepEqual(sent.sort(), [...new Set(listed)].sort());
  });

  const sids: readonly [string, Capability][] = [
    ['MooringNodes', 'nodes'],
    ['MooringRoutes', 'routes'],
    ['MooringVolumes', 'volumes'],
    ['MooringLoadBalancers', 'load balancers'],
    ['MooringTags', 'node tags'],
  ];
  for (const [prefix, capability] of sids) {
    it(`grants the actions for ${capability} by statements of the shipped policy with Sid ${prefix}`, async () => {
      const granted = (await statements()).flatMap(({ Sid, Action }) => (Sid.startsWith(prefix) ? Action : []));
      const wanted = iamActions
        .filter(({ capabilities }) => capabilities.includes(capability))
        .map(({ action }) => action);
      assert.deepEqual([...new Set(granted)].sort(), wanted.sort());
    });
  }

  it('grants nothing by other statements', async () => {
    const others = (await statements()).filter(({ Sid }) => !sids.some(([prefix]) => Sid.startsWith(prefix)));
    assert.deepEqual(others, []);
  });
});
