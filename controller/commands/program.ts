import type { ProgramDefinition } from '../../common/process/program.ts';
import { version } from '../../common/version.ts';
import { names } from '../../common/well-known.ts';
import { checkCommand } from './check-command.ts';
import type { CommandEnvironment } from './command.ts';
import { explainCommand } from './explain-command.ts';
import { planCommand } from './plan-command.ts';
import { runCommand } from './run-command.ts';
import { statusCommand } from './status-command.ts';
import { teardownCommand } from './teardown-command.ts';
import { uiCommand } from './ui-command.ts';

/**
 * Upstream's controllers have no commands, so arguments that begin with a flag mean `run`. Manifests of upstream then
 * work.
 */
export function withCommand(argv: readonly string[]): readonly string[] {
  const [first = ''] = argv;
  const isOther = ['--help', '-h', '--version'].includes(first);
  return first.startsWith('-') && !isOther ? ['run', ...argv] : argv;
}

export function controllerProgram(environment: CommandEnvironment): ProgramDefinition {
  return {
    name: names.controller,
    version,
    summary: 'Ties Kubernetes nodes to the cloud VMs they run on.',
    commands: { run: runCommand(environment), ...questions(environment) },
  };
}

/** The commands that people give from their own machine, as a plugin of kubectl. */
export function kubectlPlugin(environment: CommandEnvironment): ProgramDefinition {
  return {
    name: 'kubectl mooring',
    version,
    summary: 'Asks and explains what the Mooring controller does in a cluster.',
    commands: questions(environment),
  };
}

function questions(environment: CommandEnvironment): ProgramDefinition['commands'] {
  return {
    plan: planCommand(environment),
    explain: explainCommand(environment),
    status: statusCommand(environment),
    ui: uiCommand(environment),
    check: checkCommand(environment),
    teardown: teardownCommand(environment),
  };
}
