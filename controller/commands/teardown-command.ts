import { randomUUID } from 'node:crypto';
import { hostname } from 'node:os';
import { defineFlags, pickFlags } from '../../common/process/flags.ts';
import { errorFields, type Log } from '../../common/process/log.ts';
import { type CommandDefinition, defineCommand, type ProgramIo } from '../../common/process/program.ts';
import { accountProblems } from '../app/open-clouds.ts';
import { clusterFlags } from '../app/options/network-flags.ts';
import { desirePolicyOf } from '../app/options/network-options.ts';
import { OptionError } from '../app/options/options.ts';
import { cloudFlags, commonFlags } from '../app/options/own-flags.ts';
import type { KubeApi } from '../kube/api.ts';
import { assertListable } from '../kube/assert-listable.ts';
import { readClusterUid } from '../kube/cluster-identity.ts';
import { createElector, type Elector } from '../kube/elector.ts';
import { createListWatch } from '../kube/list-watch.ts';
import { createShippedObjects, type ShippedObjects } from '../kube/shipped-objects.ts';
import type { ConfiguredCloud } from '../model/configured-cloud.ts';
import { instanceOf } from '../model/instance-claims.ts';
import { unreadOfNode, viewNode } from '../model/node-view.ts';
import { createLookups, type Lookups } from '../nodes/lookups.ts';
import { createRouteRecords } from '../routes/route-records.ts';
import { createPermit } from '../runtime/leader-permit.ts';
import { watchPause } from '../runtime/pause.ts';
import { type CheckVisibility, createVisibilityCheck } from '../services/credential-visibility.ts';
import {
  type CommandEnvironment,
  contextFlags,
  exitCode,
  leaseFlags,
  outputFlags,
  printJson,
  withClouds,
} from './command.ts';
import { table } from './explain/table.ts';
import { planTeardown, type TeardownContext, type TeardownPlan } from './teardown/plan-teardown.ts';
import { ServicesRemainError, teardown } from './teardown/teardown.ts';

const teardownFlags = defineFlags({
  ...cloudFlags,
  'allowed-security-groups': commonFlags['allowed-security-groups'],
  ...pickFlags(
    clusterFlags,
    ...(['cluster-name', 'load-balancer-class', 'attachable-load-balancers'] as const),
    ...(['allow-cluster-wide-attach', 'allow-keep-address'] as const),
  ),
  'configure-cloud-routes': {
    kind: 'bool',
    default: true,
    help: 'Also delete the routes that are ours. =false: routes are neither read nor deleted.',
  },
  yes: { kind: 'bool', default: false, help: 'Delete without confirmation.' },
  force: {
    kind: 'bool',
    default: false,
    help:
      'Continue although Services of type LoadBalancer exist; those that ask for retention keep their load ' +
      'balancers.',
  },
});

interface LeaseName {
  readonly namespace: string;
  readonly name: string;
}

/** A leader that shuts down releases the Lease at once; that of a killed one has to expire. */
const leaseWaitMs = 30_000;

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
        return withClouds(values, environment, io, async (api, clouds, log, namespace) => {
          const shipped = createShippedObjects(namespace);
          const records = createRouteRecords(api, shipped);
          const [unknown] = accountProblems(clouds);
          if (unknown !== undefined) throw new Error(unknown);
          for (const { scope, formerScopes, api: cloud } of clouds)
            if (cloud?.routes && values.configureCloudRoutes) await records.load(scope, formerScopes);
          const context: TeardownContext = {
            ...{ api, clock, log, clouds },
            cluster: { uid: await readClusterUid(api), name: values.clusterName },
            loadBalancerClasses: values.loadBalancerClass,
            policy: desirePolicyOf(values),
            routes: values.configureCloudRoutes,
            checkVisibility: await visibilityCheckOf(environment, api, clouds, log),
            recordedRoute: (scope, { destination, providerID }) => {
              const cloud = clouds.find((each) => each.scope === scope)?.name ?? '';
              return records.has(scope, destination, providerID && instanceOf(cloud, providerID));
            },
          };
          const plan = await planTeardown(context, environment.signal);
          showPlan(io, plan);
          if (plan.services.length > 0 && !values.force) throw new ServicesRemainError(plan.services);
          if (plan.items.length === 0) {
            if (values.output === 'json') printJson(io, { removed: 0, failed: [], left: 0, kept: shown(plan.kept) });
            return 0;
          }
          if (!values.yes && !(await confirmed(environment, values.clusterName))) {
            io.stderr('nothing was removed\n');
            return 1;
          }
          const lease = { namespace: values.leaderElectResourceNamespace, name: values.leaderElectResourceName };
          io.stderr(`waiting for the Lease ${lease.namespace}/${lease.name}, ${leaseWaitMs / 1000} s at the most\n`);
          return whileLeading(environment, { api, log, shipped }, lease, async (elector, paused) => {
            const result = await teardown(context, {
              permit: createPermit({ fence: elector, paused }),
              signal: environment.signal,
              force: values.force,
              onProgress: ({ item, state, message, finished, total }) =>
                io.stderr(`${finished}/${total} ${state === 'failed' ? 'FAILED ' : ''}${item.scope}: ${message}\n`),
            });
            const failed = result.failed.map(({ item, message }) => ({ ...only(item), message }));
            if (values.output === 'json') printJson(io, { ...result, failed, kept: shown(result.kept) });
            else io.stdout(`${result.removed} removed, ${failed.length} failed, ${result.left} left\n`);
            return result.left === 0 && failed.length === 0 ? 0 : 1;
          });
        });
      }),
  });
}

const only = ({ scope, what }: { readonly scope: string; readonly what: string }) => ({ scope, what });
const shown = (kept: TeardownPlan['kept']) => kept.map(({ scope, what, why }) => ({ scope, what, why }));

function showPlan(io: ProgramIo, { items, kept, services }: TeardownPlan): void {
  const rows = items.map(({ scope, what }) => ['-', what, scope]);
  const stays = kept.map(({ scope, what, why }) => ['stays', `${what}: ${why}`, scope]);
  if (rows.length + stays.length > 0) io.stderr(table([['', 'WHAT', 'IN'], ...rows, ...stays]));
  if (services.length > 0) io.stderr(`Services that have or want load balancers: ${services.join(', ')}\n`);
  io.stderr(`${items.length} to remove, ${kept.length} stay\n`);
}

async function confirmed(environment: CommandEnvironment, clusterName: string): Promise<boolean> {
  const answer = await environment.ask(`Type the name of the cluster (${clusterName}) to remove them: `);
  if (answer === undefined)
    throw new OptionError('--yes: missing, expected because stdin is no terminal, so nobody can be asked');
  return answer.trim() === clusterName;
}

/**
 * Acquires the Lease, so that no controller re-creates the deleted resources, does the work, and releases it. Throws
 * when the Lease cannot be acquired.
 */
async function whileLeading<T>(
  { clock, random, signal }: CommandEnvironment,
  { api, log, shipped }: { readonly api: KubeApi; readonly log: Log; readonly shipped: ShippedObjects },
  lease: LeaseName,
  work: (elector: Elector, paused: () => boolean) => Promise<T>,
): Promise<T> {
  signal.throwIfAborted();
  const pause = watchPause({ api, clock, random, log, shipped });
  pause.start();
  const ending = new AbortController();
  let lead = () => {};
  const leads = new Promise<void>((resolve) => {
    lead = resolve;
  });
  const elector = createElector({
    ...{ api, clock, random, log, ...lease },
    identity: `${hostname()}_${randomUUID()}`,
    onStartedLeading: () => lead(),
    onStoppedLeading: () => {},
  });
  const running = elector.run(ending.signal);
  let timer: { cancel(): void } | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = clock.setTimer(leaseWaitMs, () => {
      void holderOf(api, lease).then((holder) =>
        reject(new Error(heldMessage(lease, holder, shipped.objects.published.namespace))),
      );
    });
    signal.addEventListener('abort', () => reject(new Error('interrupted')), { once: true });
  });
  try {
    await Promise.race([Promise.all([leads, pause.whenSynced()]), late]);
    timer?.cancel();
    return await work(elector, pause.paused);
  } finally {
    timer?.cancel();
    ending.abort();
    await Promise.all([running, pause.stop()]);
    await elector.release().catch((error: unknown) => log.warn('the Lease is not freed', errorFields(error)));
  }
}

/** Who holds the Lease; undefined where that cannot be read. */
async function holderOf(api: KubeApi, { namespace, name }: LeaseName): Promise<string | undefined> {
  const path = `/apis/coordination.k8s.io/v1/namespaces/${namespace}/leases/${name}`;
  try {
    const { spec } = await api.call<{ readonly spec?: { readonly holderIdentity?: string } }>({ verb: 'get', path });
    return spec?.holderIdentity || undefined;
  } catch {
    return undefined;
  }
}

/**
 * What to do when the Lease was not acquired in time.
 *
 * @param holder its identity, host name and `_` and a UUID
 * @param installed the namespace of the controller
 */
export function heldMessage({ namespace, name }: LeaseName, holder: string | undefined, installed: string): string {
  const by = holder === undefined ? 'a running controller' : `the running controller ${holder}`;
  const command = `kubectl scale deployment mooring-controller -n ${installed} --replicas=0`;
  return `the Lease ${namespace}/${name} is held by ${by}: stop it first, as by '${command}'`;
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
  const lookups = new Map<string, Lookups>();
  for (const { scope, api: cloud } of clouds) if (cloud) lookups.set(scope, createLookups({ cloud, clock }));
  return createVisibilityCheck({
    nodes,
    clock,
    resolver: { configured: clouds, lookupsOf: (scope) => lookups.get(scope) },
  });
}
