import { defineFlags, pickFlags } from '../../common/process/flags.ts';
import type { Log } from '../../common/process/log.ts';
import { type CommandDefinition, defineCommand, type ProgramIo } from '../../common/process/program.ts';
import { visibleText } from '../../common/visible-text.ts';
import { accountProblems } from '../app/open-clouds.ts';
import { clusterFlags } from '../app/options/network-flags.ts';
import { desirePolicyOf } from '../app/options/network-options.ts';
import { OptionError } from '../app/options/options.ts';
import { cloudFlags, commonFlags } from '../app/options/own-flags.ts';
import type { KubeApi } from '../kube/api.ts';
import { assertListable } from '../kube/assert-listable.ts';
import { readClusterUid } from '../kube/cluster-identity.ts';
import { createListWatch } from '../kube/list-watch.ts';
import { createShippedObjects } from '../kube/shipped-objects.ts';
import type { ConfiguredCloud } from '../model/configured-cloud.ts';
import { instanceOf } from '../model/instance-claims.ts';
import { unreadOfNode, viewNode } from '../model/node-view.ts';
import { createLookupBatcher, type LookupBatcher } from '../nodes/lookup-batcher.ts';
import { createRouteRecords } from '../routes/route-records.ts';
import { createPermit } from '../runtime/leader-permit.ts';
import { type CheckVisibility, createVisibilityCheck } from '../services/credential-visibility.ts';
import { parseRetainGrant, strictPolicy } from '../services/operator-policy.ts';
import {
  type CommandEnvironment,
  contextFlags,
  exitCode,
  leaseFlags,
  outputFlags,
  printJson,
  readReportOnly,
  reportOnlyFlags,
  sayingMeanwhile,
  withClouds,
} from './command.ts';
import { table } from './explain/table.ts';
import { isGivenUp, planTeardown, type TeardownContext, type TeardownPlan } from './teardown/plan-teardown.ts';
import { ServicesRemainError, teardown } from './teardown/teardown.ts';
import { whileLeading } from './teardown/while-leading.ts';

const teardownFlags = defineFlags({
  ...cloudFlags,
  'allowed-security-groups': commonFlags['allowed-security-groups'],
  ...pickFlags(
    clusterFlags,
    ...(['cluster-name', 'load-balancer-class', 'attachable-load-balancers'] as const),
    ...(['allow-cluster-wide-attach', 'allow-retain', 'allow-keep-address'] as const),
  ),
  'configure-cloud-routes': {
    kind: 'bool',
    default: true,
    help: 'Also delete the routes that are ours. =false: routes are neither read nor deleted.',
  },
  ...reportOnlyFlags,
  yes: { kind: 'bool', default: false, help: 'Delete without confirmation.' },
  force: {
    kind: 'bool',
    default: false,
    help:
      'Continue although Services of type LoadBalancer exist; those that ask for retention and may have it ' +
      '(--allow-retain) keep their load balancers.',
  },
});

export function teardownCommand(environment: CommandEnvironment): CommandDefinition {
  const { clock } = environment;
  return defineCommand({
    summary: 'Deletes all cloud resources that this cluster owns by its tags, when the cluster itself is deleted.',
    flags: { ...contextFlags, ...teardownFlags, ...outputFlags, ...leaseFlags },
    examples: [
      'mooring-controller teardown --cloud-provider aws',
      'mooring-controller teardown --cloud-provider openstack --cloud-config cloud.conf --yes -o json',
    ],
    run: ({ values, io }) =>
      exitCode(io, 'teardown', async () => {
        let reading: string | undefined = 'the cluster and the clouds';
        const say = (elapsed: string) => {
          if (reading !== undefined) io.stderr(`${elapsed}: reading ${reading}\n`);
        };
        const work = withClouds(values, environment, io, async (api, clouds, log, namespace) => {
          const shipped = createShippedObjects(namespace);
          const records = createRouteRecords(api, shipped);
          const unknown = accountProblems(clouds, readReportOnly(values, clouds));
          if (unknown.length > 0) throw new Error(unknown.join('; '));
          for (const { scope, formerScopes, api: cloud } of clouds)
            if (cloud?.routes && values.configureCloudRoutes) await records.load(scope, formerScopes);
          const context: TeardownContext = {
            api,
            clock,
            log,
            clouds,
            cluster: { uid: await readClusterUid(api), name: values.clusterName },
            loadBalancerClasses: values.loadBalancerClass,
            policy: { ...strictPolicy, ...desirePolicyOf(values), retain: values.allowRetain.flatMap(grantsOf) },
            routes: values.configureCloudRoutes,
            onRead: (what) => {
              reading = what;
            },
            checkVisibility: await visibilityCheckOf(environment, api, clouds, log),
            recordedRoute: (scope, { destination, providerID, via }) => {
              const cloud = clouds.find((each) => each.scope === scope)?.name ?? '';
              return records.has(scope, destination, providerID && instanceOf(cloud, providerID), via);
            },
          };
          const plan = await planTeardown(context, environment.signal);
          showPlan(io, plan);
          const refuse = () => {
            const { services } = plan;
            const told = { toRemove: toRemove(plan).map(only), kept: shown(staying(plan)), services };
            if (values.output === 'json') printJson(io, told);
          };
          if (plan.services.length > 0 && !values.force) {
            refuse();
            throw new ServicesRemainError(plan.services);
          }
          if (plan.items.length === 0) {
            if (values.output === 'json') printJson(io, { removed: 0, failed: [], left: 0, kept: shown(plan.kept) });
            return 0;
          }
          if (!values.yes) {
            const question = `Type the name of the cluster (${values.clusterName}) to remove them: `;
            const answer = await environment.ask(question);
            if (answer?.trim() !== values.clusterName) {
              refuse();
              if (answer === undefined) throw new OptionError('--yes: missing, expected where stdin is no terminal');
              io.stderr('nothing was removed\n');
              return 1;
            }
          }
          const lease = { namespace: values.leaderElectResourceNamespace, name: values.leaderElectResourceName };
          const sayLine = (line: string) => io.stderr(`${visibleText(line)}\n`);
          return whileLeading(environment, { api, log, shipped, say: sayLine }, lease, async (elector, paused) => {
            const result = await teardown(context, {
              permit: createPermit({ fence: elector, paused }),
              signal: environment.signal,
              force: values.force,
              onProgress: ({ item, state, message, finished, total }) =>
                sayLine(`${finished}/${total} ${state === 'failed' ? 'FAILED ' : ''}${item.scope}: ${message}`),
            });
            const failed = result.failed.map(({ item, message }) => ({ ...only(item), message }));
            if (values.output === 'json') printJson(io, { ...result, failed, kept: shown(result.kept) });
            else io.stdout(`${result.removed} removed, ${failed.length} failed, ${result.left} left\n`);
            return result.left === 0 && failed.length === 0 ? 0 : 1;
          });
        });
        return sayingMeanwhile(clock, say, work);
      }),
  });
}

const only = ({ scope, what }: { readonly scope: string; readonly what: string }) => ({ scope, what });
const shown = (kept: TeardownPlan['kept']) => kept.map(({ scope, what, why }) => ({ scope, what, why }));

const grantsOf = (text: string) => parseRetainGrant(text) ?? [];

const toRemove = ({ items }: TeardownPlan) => items.filter((item) => !isGivenUp(item));

/** What stays, with what is given up. */
function staying({ items, kept }: TeardownPlan): TeardownPlan['kept'] {
  const why = 'it is given up: its Service asks for retention, which --allow-retain allows';
  return [...items.filter(isGivenUp).map(({ scope, what }) => ({ scope, what, why })), ...kept];
}

function showPlan(io: ProgramIo, plan: TeardownPlan): void {
  const { services } = plan;
  const rows = toRemove(plan).map(({ scope, what }) => ['-', what, scope]);
  const stays = staying(plan).map(({ scope, what, why }) => ['stays', `${what}: ${why}`, scope]);
  if (rows.length + stays.length > 0) io.stderr(table([['', 'WHAT', 'IN'], ...rows, ...stays]));
  if (services.length > 0) io.stderr(`Services that have or want load balancers: ${services.join(', ')}\n`);
  io.stderr(`${rows.length} to remove, ${stays.length} stay\n`);
}

/** The check of the credential's visibility, from one read of the Nodes. */
async function visibilityCheckOf(
  { clock, random }: CommandEnvironment,
  api: KubeApi,
  clouds: readonly ConfiguredCloud[],
  log: Log,
): Promise<CheckVisibility> {
  const nodes = createListWatch({
    api,
    clock,
    random,
    log,
    path: '/api/v1/nodes',
    trim: viewNode,
    unread: unreadOfNode,
  });
  await assertListable(api, ['/api/v1/nodes']);
  nodes.start();
  await nodes.whenSynced();
  await nodes.stop();
  const lookups = new Map<string, LookupBatcher>();
  for (const { scope, api: cloud } of clouds) if (cloud) lookups.set(scope, createLookupBatcher({ cloud, clock }));
  return createVisibilityCheck({
    nodes,
    clock,
    resolver: { configured: clouds, lookupsOf: (scope) => lookups.get(scope) },
  });
}
