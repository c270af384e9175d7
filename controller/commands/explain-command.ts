import { defineFlags } from '../../common/process/flags.ts';
import { type CommandDefinition, defineCommand } from '../../common/process/program.ts';
import { names } from '../../common/well-known.ts';
import { clusterFlags } from '../app/options/network-flags.ts';
import { OptionError } from '../app/options/options.ts';
import { commonFlags } from '../app/options/own-flags.ts';
import { isNotFound } from '../kube/api.ts';
import {
  type CommandEnvironment,
  exitCode,
  leaseFlags,
  openLog,
  orInterrupted,
  outputFlags,
  printJson,
  withApi,
} from './command.ts';
import { explainNode } from './explain/explain-node.ts';
import { explainService } from './explain/explain-service.ts';
import { printExplanation } from './explain/print-explanation.ts';
import { readNodeFacts } from './explain/read-node-facts.ts';
import { readServiceFacts } from './explain/read-service-facts.ts';

const explainFlags = defineFlags({ 'load-balancer-class': clusterFlags['load-balancer-class'] });

export function explainCommand({ clock, signal }: CommandEnvironment): CommandDefinition {
  return defineCommand({
    summary: 'Shows the state of a node or a service and the reason, from the API server alone.',
    operands: ['node|service', 'name'],
    flags: { ...commonFlags, ...explainFlags, ...outputFlags, ...leaseFlags },
    examples: [
      'mooring-controller explain node worker-1',
      'mooring-controller explain service default/web',
      'mooring-controller explain node worker-1 -o json',
    ],
    run: ({ values, operands, io }) =>
      exitCode(io, 'explain', async () => {
        const [kind = '', name = ''] = operands;
        const subject = subjectOf(kind, name);
        const log = openLog(clock, values, io.stderr);
        const where = {
          nowMs: clock.now(),
          namespace: names.namespace,
          leaseNamespace: values.leaderElectResourceNamespace,
          leaseName: values.leaderElectResourceName,
        };
        try {
          const explained = withApi(values.kubeconfig, { clock, log, env: io.env }, async (api) =>
            'node' in subject
              ? explainNode(await readNodeFacts(api, subject.node, where))
              : explainService(
                  await readServiceFacts(api, subject, { ...where, loadBalancerClasses: values.loadBalancerClass }),
                ),
          );
          const explanation = await orInterrupted(signal, explained);
          if (values.output === 'json') printJson(io, explanation);
          else io.stdout(printExplanation(explanation));
          return 0;
        } catch (error) {
          if (!isNotFound(error)) throw error;
          const what = 'node' in subject ? 'Node' : 'Service';
          io.stderr(`mooring-controller explain: there is no ${what} ${JSON.stringify(name)}\n`);
          return 1;
        }
      }),
  });
}

type Subject = { readonly node: string } | { readonly namespace: string; readonly name: string };

function subjectOf(kind: string, name: string): Subject {
  const wrong = (operand: string, text: string, expected: string) =>
    new OptionError(`${operand}: ${JSON.stringify(text)}, expected ${expected}`);
  if (kind !== 'node' && kind !== 'service') throw wrong('KIND', kind, 'node or service');
  const parts = name.split('/');
  if (parts.length !== (kind === 'node' ? 1 : 2) || parts.includes(''))
    throw wrong('NAME', name, kind === 'node' ? 'the name of a Node' : 'NAMESPACE/NAME of a Service');
  const [first = '', second = ''] = parts;
  return kind === 'node' ? { node: first } : { namespace: first, name: second };
}
