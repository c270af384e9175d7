import { defineFlags } from '../../common/process/flags.ts';
import { defineCommand, runProgram } from '../../common/process/program.ts';
import { version } from '../../common/version.ts';
import { openSandboxUi } from './sandbox-ui.ts';
import { apiKinds, startApi } from './start-api.ts';
import { runTour } from './tour/run-tour.ts';
import { scenarios } from './tour/scenarios.ts';

const flags = defineFlags({
  nodes: {
    kind: 'int',
    default: 5,
    min: 5,
    max: 20_000,
    help: 'VMs that boot; five at least, since the tour stops and ends some.',
  },
  'agent-processes': {
    kind: 'int',
    default: 5,
    min: 0,
    max: 50,
    help: 'Agents that are processes of their own; the others run inside this one.',
  },
  'cloud-latency': {
    kind: 'int',
    default: 0,
    min: 0,
    max: 60_000,
    help: "Milliseconds that every call to the cloud's API takes.",
  },
  scenario: { kind: 'list', choices: [...scenarios.keys()], help: 'Only these scenarios (join always comes first).' },
  keep: {
    kind: 'bool',
    default: false,
    help: 'Stay up afterwards, until interrupted; print KUBECONFIG and the address of the page at once.',
  },
  ui: {
    kind: 'bool',
    default: false,
    help: 'As --keep: the page shows the tour, and can break things once it is over.',
  },
  kubernetes: {
    kind: 'string',
    default: 'embedded',
    choices: apiKinds,
    env: 'SANDBOX_KUBERNETES',
    help: 'The API server: the one of this repository, or kube-apiserver with etcd of KUBEBUILDER_ASSETS.',
  },
  output: {
    kind: 'string',
    short: 'o',
    default: 'text',
    choices: ['text', 'json'],
    help: 'Form of the summary; with json nothing else is on stdout.',
  },
});

const stop = new AbortController();
for (const name of ['SIGTERM', 'SIGINT'] as const) {
  process.on(name, () => {
    if (stop.signal.aborted) process.exit(130);
    stop.abort();
  });
}

const tourCommand = defineCommand({
  summary: 'Runs a cluster, a cloud and Mooring on this machine and shows what happens to the nodes.',
  flags,
  examples: [
    'npm run -s sandbox',
    'npm run -s sandbox -- --nodes 50 --cloud-latency 200',
    'npm run -s sandbox -- --scenario terminate,credentials',
    'npm run -s sandbox -- --keep',
    'npm run -s sandbox -- --ui --scenario join',
    'npm run -s sandbox -- --kubernetes real',
  ],
  async run({ values, io }) {
    const keep = values.keep || values.ui;
    const print = values.output === 'json' ? io.stderr : io.stdout;
    const api = await startApi(values.kubernetes, { nodes: values.nodes, env: process.env, say: io.stderr });
    const ui = keep ? await openSandboxUi(api) : undefined;
    if (ui !== undefined) print(`${ui.url}\n`);
    try {
      return await runTour({
        api,
        ui,
        nodes: values.nodes,
        agentProcesses: values.agentProcesses,
        cloudLatencyMs: values.cloudLatency,
        only: values.scenario,
        keep,
        json: values.output === 'json',
        out: values.output === 'json' ? process.stderr : process.stdout,
        printSummary: (text) => io.stdout(text),
        printKubeconfig: print,
        stop: stop.signal,
      });
    } finally {
      await ui?.close();
      await api.stop();
    }
  },
});

// The tour is the only command, so its name need not be said.
runProgram(
  { name: 'sandbox', version, summary: 'The sandbox of Mooring.', commands: { tour: tourCommand } },
  {
    argv: ['tour', ...process.argv.slice(2)],
    env: process.env,
    stdout: (text) => process.stdout.write(text),
    stderr: (text) => process.stderr.write(text),
  },
).then(
  (code) => process.exit(code),
  (error) => {
    process.stderr.write(`sandbox: ${error instanceof Error ? error.stack : String(error)}\n`);
    process.exit(1);
  },
);
