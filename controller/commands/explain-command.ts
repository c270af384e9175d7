import { defineFlags } from '../../common/process/flags.ts';
import { type CommandDefinition, defineCommand } from '../../common/process/program.ts';
import { names } from '../../common/well-known.ts';
import { installedIn } from '../app/connect.ts';
import { clusterFlags } from '../app/options/network-flags.ts';
import { modulePaths } from '../app/options/options.ts';
import { readingFlags } from '../app/options/own-flags.ts';
import { isNotFound } from '../kube/api.ts';
import {
  type CommandEnvironment,
  contextFlags,
  exitCode,
  leaseFlags,
  openLog,
  orInterrupted,
  outputFlags,
  printJson,
  withApi,
} from './command.ts';
import { explainSubject } from './explain/explain-subject.ts';
import { explanationJson, printExplanation } from './explain/print-explanation.ts';
import { membersReader } from './explain/read-members.ts';
import { readSubjects, type Subject } from './explain/subjects.ts';

const explainFlags = defineFlags({
  'load-balancer-class': clusterFlags['load-balancer-class'],
  namespace: {
    kind: 'string',
    short: 'n',
    default: '',
    help: "Namespace of the Services. Empty: that of the kubeconfig's context or of the pod, else default.",
  },
});

export function explainCommand({ clock, signal }: CommandEnvironment): CommandDefinition {
  return defineCommand({
    summary: 'Shows the state of nodes or services and the reason, from the API server alone.',
    operands: ['node|service[/name]...'],
    flags: { ...contextFlags, ...readingFlags, ...explainFlags, ...outputFlags, ...leaseFlags },
    examples: [
      'mooring-controller explain node worker-1 worker-2',
      'mooring-controller explain service web -n shop',
      'mooring-controller explain node/worker-1 svc/web',
      'mooring-controller explain node worker-1 -o json',
    ],
    run: ({ values, operands, io }) =>
      exitCode(io, 'explain', async () => {
        const subjects = readSubjects(operands, values.namespace || undefined);
        const moduleNames = [...modulePaths(values.cloudModule).keys()];
        const log = openLog(clock, values, io.stderr);
        const explaining = withApi(values, { clock, log, env: io.env }, (api, connection) => {
          const where = {
            nowMs: clock.now(),
            namespace: installedIn(values.mooringNamespace, connection),
            leaseNamespace: values.leaderElectResourceNamespace,
            leaseName: values.leaderElectResourceName,
          };
          const readMembers = membersReader(api, moduleNames, signal);
          const options = { ...where, loadBalancerClasses: values.loadBalancerClass, moduleNames, readMembers };
          const explain = async (subject: Subject) => {
            if (subject.kind === 'node')
              return explainSubject(api, subject, options).catch(absent(`Node ${subject.name}`));
            const { name, namespace = connection.namespace ?? 'default' } = subject;
            const service = { kind: 'service', namespace, name } as const;
            return explainSubject(api, service, options).catch(absent(`Service ${namespace}/${name}`));
          };
          return Promise.all(subjects.map(explain));
        });
        const found = await orInterrupted(signal, explaining);
        const explanations = found.filter((one) => typeof one !== 'string');
        const notThere = found.filter((one) => typeof one === 'string');
        if (values.output === 'table') io.stdout(explanations.map(printExplanation).join('\n'));
        // A list was asked for by several names, however many of them there are.
        else if (subjects.length > 1) printJson(io, explanations.map(explanationJson));
        else for (const explanation of explanations) printJson(io, explanationJson(explanation));
        for (const what of notThere) io.stderr(`${io.program ?? names.controller} explain: there is no ${what}\n`);
        return notThere.length === 0 ? 0 : 1;
      }),
  });
}

/** Answers with the name where the API server has no such object, so that the others are still explained. */
function absent(what: string): (error: unknown) => string {
  return (error) => {
    if (!isNotFound(error)) throw error;
    return what;
  };
}
