import { forbidden } from '../api-error.ts';
import { at, type JsonObject, listOf, numberOf, objectOf, textOf } from '../json.ts';
import { podSchema } from '../schema/node-schema.ts';
import { type Resource, resource, type Write } from '../store/resource.ts';
import { column, since, wide } from '../view/column.ts';

function toleration(key: string): JsonObject {
  return { key: `node.kubernetes.io/${key}`, operator: 'Exists', effect: 'NoExecute', tolerationSeconds: 300 };
}

/** The defaults of a PodSpec, and those that admission adds to a Pod but not to a template. */
function prepare(value: JsonObject, write: Write): JsonObject {
  if (write.old) return value;
  const spec = objectOf(value['spec']);
  const account = textOf(spec['serviceAccountName']) || textOf(spec['serviceAccount']) || 'default';
  const tolerations = listOf(spec['tolerations']);
  const added = ['not-ready', 'unreachable']
    .filter((key) => !tolerations.some((one) => tolerates(one, `node.kubernetes.io/${key}`)))
    .map(toleration);
  const prepared: JsonObject = {
    restartPolicy: 'Always',
    terminationGracePeriodSeconds: 30,
    dnsPolicy: 'ClusterFirst',
    securityContext: {},
    schedulerName: 'default-scheduler',
    priority: 0,
    enableServiceLinks: true,
    preemptionPolicy: 'PreemptLowerPriority',
    ...spec,
    serviceAccountName: account,
    serviceAccount: account,
    tolerations: [...tolerations, ...added],
    containers: listOf(spec['containers']).map((container) => ({
      terminationMessagePath: '/dev/termination-log',
      terminationMessagePolicy: 'File',
      imagePullPolicy: 'IfNotPresent',
      ...objectOf(container),
    })),
  };
  const metadata = { ...objectOf(value['metadata']), generation: 1 };
  return { ...value, metadata, spec: prepared, status: { phase: 'Pending', qosClass: quality(prepared) } };
}

function tolerates(one: unknown, key: string): boolean {
  const { key: own, effect } = one as { key?: string; effect?: string };
  return (own === undefined || own === key) && (effect === undefined || effect === '' || effect === 'NoExecute');
}

function quality(spec: JsonObject): string {
  const asked = listOf(spec['containers']).map((container) => at(container, 'resources'));
  const named = asked.some(
    (one) => Object.keys(objectOf(at(one, 'requests'))).length > 0 || at(one, 'limits') !== undefined,
  );
  return named ? 'Burstable' : 'BestEffort';
}

function admit(value: JsonObject, write: Write): void {
  if (write.old) return;
  const account = textOf(at(value, 'spec', 'serviceAccountName'));
  const accounts = write.world.store.collection('serviceaccounts');
  if (accounts.items.has(`${write.namespace}/${account}`)) return;
  throw forbidden(
    pods,
    textOf(at(value, 'metadata', 'name')),
    `error looking up service account ${write.namespace}/${account}: serviceaccount "${account}" not found`,
  );
}

function ready(value: JsonObject): string {
  const states = listOf(at(value, 'status', 'containerStatuses'));
  const count = states.filter((state) => at(state, 'ready') === true).length;
  return `${count}/${listOf(at(value, 'spec', 'containers')).length}`;
}

function state(value: JsonObject): string {
  if (at(value, 'metadata', 'deletionTimestamp') !== undefined) return 'Terminating';
  return textOf(at(value, 'status', 'reason')) || textOf(at(value, 'status', 'phase'));
}

function restarts(value: JsonObject): string {
  const states = listOf(at(value, 'status', 'containerStatuses'));
  return String(states.reduce<number>((sum, one) => sum + numberOf(at(one, 'restartCount')), 0));
}

function orNone(value: JsonObject, ...path: string[]): string {
  return textOf(at(value, ...path)) || '<none>';
}

/** Pods as objects, neither scheduled nor run. */
export const pods: Resource = resource({
  version: 'v1',
  plural: 'pods',
  kind: 'Pod',
  namespaced: true,
  shortNames: ['po'],
  categories: ['all'],
  schema: podSchema,
  subresources: ['status'],
  returnsDeleted: true,
  prepare,
  admit,
  fields: (value) => ({
    'spec.nodeName': textOf(at(value, 'spec', 'nodeName')),
    'spec.restartPolicy': textOf(at(value, 'spec', 'restartPolicy')),
    'spec.schedulerName': textOf(at(value, 'spec', 'schedulerName')),
    'spec.serviceAccountName': textOf(at(value, 'spec', 'serviceAccountName')),
    'spec.hostNetwork': String(at(value, 'spec', 'hostNetwork') === true),
    'status.phase': textOf(at(value, 'status', 'phase')),
    'status.podIP': textOf(at(value, 'status', 'podIP')),
    'status.nominatedNodeName': textOf(at(value, 'status', 'nominatedNodeName')),
  }),
  columns: [
    column('Name', (value) => at(value, 'metadata', 'name') ?? ''),
    column('Ready', ready),
    column('Status', state),
    column('Restarts', restarts),
    column('Age', (value, now) => since(at(value, 'metadata', 'creationTimestamp'), now)),
    wide('IP', (value) => orNone(value, 'status', 'podIP')),
    wide('Node', (value) => orNone(value, 'spec', 'nodeName')),
    wide('Nominated Node', (value) => orNone(value, 'status', 'nominatedNodeName')),
    wide('Readiness Gates', () => '<none>'),
  ],
});
