import { type CommandDefinition, defineCommand } from '../../common/process/program.ts';
import { names } from '../../common/well-known.ts';
import { explainNode } from '../explain/explain-node.ts';
import { printExplanation } from '../explain/print-explanation.ts';
import { readNodeFacts } from '../explain/read-facts.ts';
import { isNotFound } from '../kube/api.ts';
import { OptionError } from '../options/options.ts';
import { commonFlags } from '../options/own-flags.ts';
import { type ControllerWorld, exitCode, leaseFlags, openLog, outputFlags, printJson, withApi } from './command.ts';

export function explainCommand({ clock }: ControllerWorld): CommandDefinition {
  return defineCommand({
    summary: 'Says where a node stands and why, from the API server alone.',
    operands: ['node', 'name'],
    flags: { ...commonFlags, ...outputFlags, ...leaseFlags },
    examples: ['mooring-controller explain node worker-1', 'mooring-controller explain node worker-1 -o json'],
    run: ({ values, operands, io }) =>
      exitCode(io, 'explain', async () => {
        const [kind, name = ''] = operands;
        if (kind !== 'node') throw new OptionError(`${JSON.stringify(kind)}, expected node`);
        const log = openLog(clock, values, io.stderr);
        try {
          const explanation = await withApi(values.kubeconfig, { clock, log, env: io.env }, async (api) =>
            explainNode(
              await readNodeFacts(api, name, {
                nowMs: clock.now(),
                namespace: names.namespace,
                leaseNamespace: values.leaderElectResourceNamespace,
                leaseName: values.leaderElectResourceName,
              }),
            ),
          );
          if (values.output === 'json') printJson(io, explanation);
          else io.stdout(printExplanation(explanation));
          return 0;
        } catch (error) {
          if (!isNotFound(error)) throw error;
          io.stderr(`mooring-controller explain: there is no Node ${JSON.stringify(name)}\n`);
          return 1;
        }
      }),
  });
}
