import { condition, labelSelector, metaCondition, objectReference, plain, topLevel } from './meta-schema.ts';
import { podSpec } from './node-schema.ts';
import {
  always,
  any,
  bool,
  bytes,
  int32,
  intOrString,
  keyed,
  list,
  map,
  object,
  open,
  pointer,
  quantity,
  string,
} from './schema.ts';

export const configMapSchema = topLevel('ConfigMap', {
  immutable: pointer(bool),
  data: map(always(string)),
  binaryData: map(always(bytes)),
});

export const secretSchema = topLevel('Secret', {
  immutable: pointer(bool),
  data: map(always(bytes)),
  stringData: map(always(string)),
  type: string,
});

const localReference = object('LocalObjectReference', { name: string });

export const serviceAccountSchema = topLevel('ServiceAccount', {
  secrets: keyed('name', objectReference),
  imagePullSecrets: keyed('name', localReference),
  automountServiceAccountToken: pointer(bool),
});

export const persistentVolumeSchema = topLevel('PersistentVolume', {
  spec: always(open('PersistentVolumeSpec', { capacity: map(quantity), accessModes: list(string) })),
  status: always(open('PersistentVolumeStatus', { phase: string })),
});

export const persistentVolumeClaimSchema = topLevel('PersistentVolumeClaim', {
  spec: always(open('PersistentVolumeClaimSpec', { accessModes: list(string) })),
  status: always(
    open('PersistentVolumeClaimStatus', { phase: string, conditions: keyed('type', condition('lastProbeTime')) }),
  ),
});

const rule = object('PolicyRule', {
  verbs: always(list(string)),
  apiGroups: list(string),
  resources: list(string),
  resourceNames: list(string),
  nonResourceURLs: list(string),
});

export const clusterRoleSchema = topLevel('ClusterRole', { rules: always(list(rule)), aggregationRule: any });
export const roleSchema = topLevel('Role', { rules: always(list(rule)) });

const subject = object('Subject', { kind: always(string), apiGroup: string, name: always(string), namespace: string });
const roleRef = object('RoleRef', { apiGroup: always(string), kind: always(string), name: always(string) });

export const clusterRoleBindingSchema = topLevel('ClusterRoleBinding', {
  subjects: list(subject),
  roleRef: always(roleRef),
});
export const roleBindingSchema = topLevel('RoleBinding', { subjects: list(subject), roleRef: always(roleRef) });

const podTemplate = open('PodTemplateSpec', {
  metadata: always(open('ObjectMeta', { labels: map(string), annotations: map(string) })),
  spec: always(podSpec()),
});

function workload(kind: string) {
  return topLevel(kind, {
    spec: always(
      open(`${kind}Spec`, {
        replicas: pointer(int32),
        selector: pointer(labelSelector),
        template: always(podTemplate),
        revisionHistoryLimit: pointer(int32),
      }),
    ),
    status: always(open(`${kind}Status`, { conditions: keyed('type', condition('lastUpdateTime')) })),
  });
}

export const deploymentSchema = workload('Deployment');
export const daemonSetSchema = workload('DaemonSet');

export const podDisruptionBudgetSchema = topLevel('PodDisruptionBudget', {
  spec: always(
    open('PodDisruptionBudgetSpec', {
      minAvailable: intOrString,
      maxUnavailable: intOrString,
      selector: pointer(labelSelector),
    }),
  ),
  status: always(
    open('PodDisruptionBudgetStatus', {
      disruptionsAllowed: always(int32),
      currentHealthy: always(int32),
      desiredHealthy: always(int32),
      expectedPods: always(int32),
      conditions: keyed('type', metaCondition),
    }),
  ),
});

export const endpointsSchema = plain('Endpoints');
export const endpointSliceSchema = plain('EndpointSlice');
