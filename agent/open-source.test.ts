import assert from 'node:assert/strict';
import { test } from 'node:test';
import { parseFlags } from '../common/process/flags.ts';
import { createLog } from '../common/process/log.ts';
import { fakeClock } from '../common/testing/fake-clock.ts';
import { linuxMachine } from './dmi.ts';
import { openSource } from './open-source.ts';
import { sourceFlags } from './options.ts';

for (const [args, told] of [
  [
    ['--cloud=aws', '--config-drive=/nope', '--regional-provider-id'],
    ['--config-drive', '--regional-provider-id'],
  ],
  [['--cloud=openstack', '--config-drive=/nope', '--scheduled-events'], ['--scheduled-events']],
  [['--cloud=azure', '--scheduled-events'], []],
] as const)
  test(`warns of each flag that has no effect: ${args.join(' ')}`, async () => {
    const parsed = parseFlags(sourceFlags, [...args]);
    assert.ok(parsed.ok);
    const clock = fakeClock();
    const lines: string[] = [];
    const log = createLog({ clock, level: 'warn', format: 'json', write: (line) => lines.push(line) });
    await openSource(parsed.values, { clock, random: () => 0.5, log, machine: linuxMachine('/nonexistent') });
    const said = lines.map((line) => JSON.parse(line).msg);
    assert.deepEqual(
      said,
      told.map((flag) => `${flag} has no effect`),
    );
  });
