import { type CommandDefinition, defineCommand } from '../../common/process/program.ts';
import { runChecks } from '../check/run-checks.ts';
import { table } from '../explain/table.ts';
import { commonFlags } from '../options/own-flags.ts';
import { type ControllerWorld, exitCode, outputFlags, printJson, withClouds } from './command.ts';

export function checkCommand(world: ControllerWorld): CommandDefinition {
  return defineCommand({
    summary: 'Proves credentials, region, permissions and reachability; changes nothing.',
    flags: { ...commonFlags, ...outputFlags },
    examples: [
      'mooring-controller check --cloud-provider aws',
      'mooring-controller check --cloud-provider openstack --cloud-config cloud.conf -o json',
    ],
    run: ({ values, io }) =>
      exitCode(io, 'check', async () => {
        const lines = await withClouds(values, world, io, (api, clouds) => runChecks(api, clouds, world.signal));
        const rows = lines.map(({ of, name, ok, message }) => [of, ok ? 'ok' : 'FAILED', name, message]);
        if (values.output === 'json') printJson(io, lines);
        else io.stdout(table([['OF', 'RESULT', 'CHECK', 'MESSAGE'], ...rows]));
        return lines.every(({ ok }) => ok) ? 0 : 1;
      }),
  });
}
