import assert from 'node:assert/strict';
import { it } from 'node:test';
import { describeFlags, helpText } from '../../../common/process/flags.ts';
import { runCommandFlags } from '../../commands/run-command.ts';
import { groupOf } from './flag-groups.ts';

it('every flag of run stands in a group of the help', () => {
  const active = describeFlags(runCommandFlags).filter(({ status }) => status === 'active');
  assert.deepEqual(
    active.filter(({ name }) => groupOf(name) === undefined).map(({ name }) => name),
    [],
  );
  const text = helpText(runCommandFlags, 'x', { summary: '', examples: [], groupOf });
  assert.match(text, /^Nodes:\n( {2,}.*\n)+\n/m);
  assert.match(text, /^Options:\n +-h, --help .*\n/m);
});
