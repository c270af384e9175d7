import { isCloudError } from '../../../common/cloud-error.ts';
import { errorFields } from '../../../common/process/log.ts';
import type { Permission } from '../../app/permissions.ts';
import { adviceWhenDown } from '../../clouds/checks.ts';
import { type CheckResult, type InstanceRef, refKey } from '../../clouds/cloud.ts';
import { isKubeError, isNotFound, type KubeApi } from '../../kube/api.ts';
import { createShippedObjects, pathOf, type ShippedObject } from '../../kube/shipped-objects.ts';
import { isRecordedIn } from '../../model/canaries.ts';
import type { ConfiguredCloud } from '../../model/configured-cloud.ts';
import { type NodeView, readiness, viewNode } from '../../model/node-view.ts';

/** One line of the output of `check`. */
export interface CheckLine extends CheckResult {
  /** `kubernetes`, or the cloud's scope. */
  readonly of: string;
  /** A permission in the cluster. */
  readonly permission?: true;
}

/** How many Nodes are read; the Ready ones of each cloud are picked from them. */
const maxNodes = 500;
const maxLookups = 5;

interface AccessAnswer {
  readonly status?: { readonly allowed?: boolean };
}

/**
 * Checks that the controller has its permissions in the cluster, and that each cloud is reachable with a sufficient
 * credential. Changes nothing. Never throws for a refusal.
 *
 * @param permissions those of a run with the same flags
 * @param reportOnly names of clouds that may be without a credential
 * @param waiting gets the target of each check, `kubernetes` or a scope, for as long as it has not answered
 */
export async function runChecks(
  api: KubeApi,
  clouds: readonly ConfiguredCloud[],
  permissions: readonly Permission[],
  signal: AbortSignal,
  reportOnly: ReadonlySet<string> = new Set(),
  waiting: Set<string> = new Set(),
): Promise<CheckLine[]> {
  waiting.add('kubernetes');
  const reachable = await checkServer(api);
  const nodes = reachable.ok ? await readyNodes(api) : [];
  const ofCluster = async () =>
    reachable.ok ? Promise.all([checkRights(api, permissions), checkShipped(api, permissions)]) : [];
  const ofCloud = async (cloud: ConfiguredCloud) =>
    (await checkAnswering(cloud, signal)) ?? [
      ...(await checkCloud(cloud, signal, reportOnly)),
      ...(await checkVisibility(cloud, clouds, nodes, signal)),
    ];
  const told = async <T>(target: string, work: Promise<T>) => {
    waiting.add(target);
    const answer = await work;
    waiting.delete(target);
    return answer;
  };
  const [cluster, ...perCloud] = await Promise.all([
    told('kubernetes', ofCluster()),
    ...clouds.map((cloud) => told(cloud.scope, ofCloud(cloud))),
  ]);
  return [reachable, ...cluster.flat(), ...perCloud.flat()];
}

/** Some Ready Nodes; none where Nodes may not be read, which another check reports. */
async function readyNodes(api: KubeApi): Promise<NodeView[]> {
  try {
    const { items = [] } = await api.call<{ readonly items?: readonly unknown[] }>({
      verb: 'list',
      path: '/api/v1/nodes',
      query: { limit: String(maxNodes) },
    });
    return items.map((raw) => viewNode(raw)).filter((node) => readiness(node) === 'True');
  } catch {
    return [];
  }
}

/**
 * Checks that the cloud finds the instances of Ready Nodes: a credential of another project is valid, but finds none.
 */
async function checkVisibility(
  { scope, api: cloud, accepts }: ConfiguredCloud,
  clouds: readonly ConfiguredCloud[],
  nodes: readonly NodeView[],
  signal: AbortSignal,
): Promise<CheckLine[]> {
  const others = clouds.filter((one) => one.scope !== scope);
  const isRecorded = (node: NodeView) => isRecordedIn(node, scope, clouds);
  const alive = nodes
    .filter(({ providerID }) => providerID !== '' && accepts(providerID))
    .filter((node) => !others.some((other) => isRecordedIn(node, other.scope, clouds)))
    .sort((a, b) => Number(isRecorded(b)) - Number(isRecorded(a)))
    .slice(0, maxLookups);
  if (cloud === undefined || alive.length === 0) return [];
  const refs = alive.map(({ providerID }): InstanceRef => ({ by: 'providerID', providerID }));
  const answers = await cloud.instances.lookup(refs, { signal });
  const line = (ok: boolean | null, message: string) => [{ of: scope, name: 'living nodes', ok, message }];
  const seen = alive.find((_, at) => answers.get(refKey(refs[at]!))?.state === 'found');
  if (seen) return line(true, `the instance of Node ${seen.name}, which is Ready, is found`);
  const { name, providerID } = alive[0]!;
  const answer = answers.get(refKey(refs[0]!));
  // The cloud's own checks report this.
  if (answer?.state === 'unknown' && answer.error.kind !== 'NotFound') return [];
  const none = `no instance of ${alive.length} Ready Nodes is found, such as ${name} (${providerID})`;
  const mayBeElsewhere = (node: NodeView) =>
    !isRecorded(node) && others.some((other) => other.accepts(node.providerID));
  if (alive.every(mayBeElsewhere)) return line(null, `${none}: they may be of another configured cloud`);
  return line(false, `${none}: the credential may be of another project or account`);
}

async function checkServer(api: KubeApi): Promise<CheckLine> {
  try {
    const { gitVersion } = await api.call<{ readonly gitVersion?: string }>({
      verb: 'get',
      path: '/version',
      timeoutMs: 3000,
    });
    return { of: 'kubernetes', name: 'reachable', ok: true, message: `version ${gitVersion ?? 'unknown'}` };
  } catch (error) {
    const refused = isKubeError(error) && error.status === 401;
    const hint = refused ? '. The API server answers, but refuses the credential' : '';
    return { of: 'kubernetes', name: 'reachable', ok: false, message: `${errorFields(error)['error']}${hint}` };
  }
}

async function checkRights(api: KubeApi, permissions: readonly Permission[]): Promise<CheckLine[]> {
  const required = permissions.flatMap((permission) => permission.verbs.map((verb) => ({ permission, verb })));
  const answers = await Promise.all(required.map(({ permission, verb }) => mayI(api, permission, verb)));
  return permissions.map((permission) => {
    const own = required.flatMap((each, at) =>
      each.permission === permission ? [{ ...each, answer: answers[at]! }] : [],
    );
    const { resource, name, namespace } = permission;
    const where = `${resource}${name ? `/${name}` : ''}${namespace ? ` in ${namespace}` : ''}`;
    return {
      of: 'kubernetes',
      permission: true as const,
      name: `${permission.verbs.join(',')} ${where}`,
      ok: own.every(({ answer }) => answer === 'allowed'),
      message: messageOf(permission, own),
    };
  });
}

/**
 * Checks that the objects exist that the controller may not create. Another check reports an object that may not be
 * read.
 */
async function checkShipped(api: KubeApi, permissions: readonly Permission[]): Promise<CheckLine[]> {
  const used = permissions.flatMap(({ resource, namespace, name }): ShippedObject[] => {
    const kind = resource === 'secrets' ? 'Secret' : resource === 'configmaps' ? 'ConfigMap' : undefined;
    return kind === undefined || namespace === undefined || name === undefined ? [] : [{ kind, namespace, name }];
  });
  const lines = await Promise.all(
    used.map(async (object): Promise<CheckLine[]> => {
      const line = { of: 'kubernetes', name: `${object.kind} ${object.name}` };
      try {
        await createShippedObjects(object.namespace).use(object, () =>
          api.call({ verb: 'get', path: pathOf(object), answer: 'metadata' }),
        );
        return [{ ...line, ok: true, message: 'exists' }];
      } catch (error) {
        return isNotFound(error) ? [{ ...line, ok: false, message: String(errorFields(error)['error']) }] : [];
      }
    }),
  );
  return lines.flat();
}

function messageOf({ why }: Permission, own: readonly { readonly verb: string; readonly answer: Access }[]): string {
  for (const { answer } of own) if (typeof answer === 'object') return `unknown: ${answer.fault}; needed for: ${why}`;
  const denied = own.flatMap(({ verb, answer }) => (answer === 'denied' ? [verb] : []));
  if (denied.length === 0) return why;
  return `may not ${denied.join(', ')}; needed for: ${why}. Apply the manifests' RBAC rules`;
}

/** The API server's answer about one permission; `fault` when it did not answer. */
type Access = 'allowed' | 'denied' | { readonly fault: string };

async function mayI(api: KubeApi, permission: Permission, verb: string): Promise<Access> {
  const [resource, subresource] = permission.resource.split('/');
  const body = {
    apiVersion: 'authorization.k8s.io/v1',
    kind: 'SelfSubjectAccessReview',
    spec: {
      resourceAttributes: {
        group: permission.group,
        resource,
        verb,
        ...(subresource === undefined ? {} : { subresource }),
        ...(permission.namespace === undefined ? {} : { namespace: permission.namespace }),
        ...(permission.name === undefined ? {} : { name: permission.name }),
      },
    },
  };
  try {
    const answer = await api.call<AccessAnswer>({
      verb: 'create',
      path: '/apis/authorization.k8s.io/v1/selfsubjectaccessreviews',
      body,
    });
    return answer.status?.allowed === true ? 'allowed' : 'denied';
  } catch (error) {
    return { fault: String(errorFields(error)['error']) };
  }
}

/** One line where the cloud does not answer in time: each check would wait as long. Undefined where it answers. */
async function checkAnswering({ scope, api }: ConfiguredCloud, signal: AbortSignal): Promise<CheckLine[] | undefined> {
  try {
    await api?.ping?.(signal);
    return undefined;
  } catch (error) {
    if (!isCloudError(error) || error.kind !== 'Timeout') return undefined;
    return [{ of: scope, name: 'reachable', ok: false, message: `${error.message}; ${adviceWhenDown}` }];
  }
}

async function checkCloud(
  cloud: ConfiguredCloud,
  signal: AbortSignal,
  reportOnly: ReadonlySet<string>,
): Promise<CheckLine[]> {
  if (cloud.unidentified?.opened !== undefined) return checkUnidentified(cloud, cloud.unidentified, signal);
  if (cloud.api === undefined) {
    const ok = cloud.reportOnly === undefined || reportOnly.has(cloud.name);
    const why = cloud.reportOnly === undefined ? '' : ` (${cloud.reportOnly})`;
    const advice = ok ? '' : `. Give it a credential, or accept that by --report-only=${cloud.name}`;
    const message = `report-only${why}: nodes are initialised from proved reports, and none is ever deleted${advice}`;
    return [{ of: cloud.scope, name: 'credential', ok, message }];
  }
  try {
    return (await cloud.api.check(signal)).map((result) => ({ of: cloud.scope, ...result }));
  } catch (error) {
    return [{ of: cloud.scope, name: 'check', ok: false, message: String(errorFields(error)['error']) }];
  }
}

/** The cloud's own checks of the credential, and a line that a run would be report-only with it. */
async function checkUnidentified(
  { scope }: ConfiguredCloud,
  { why, isDown = false, opened }: NonNullable<ConfiguredCloud['unidentified']>,
  signal: AbortSignal,
): Promise<CheckLine[]> {
  const results = opened === undefined || isDown ? [] : await opened.check(signal).catch(() => []);
  const advice = isDown ? `; ${adviceWhenDown}` : '';
  const message = `${why}${advice}; report-only until the account of the credential is known`;
  return [...results, { name: 'account', ok: false, message }].map((result) => ({ of: scope, ...result }));
}
