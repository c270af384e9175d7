import { at, type JsonObject, numberOf, objectOf, textOf } from '../json.ts';
import {
  daemonSetSchema,
  deploymentSchema,
  endpointSliceSchema,
  endpointsSchema,
  podDisruptionBudgetSchema,
} from '../schema/core-schema.ts';
import { type Resource, resource, type Write } from '../store/resource.ts';
import { column, since } from '../view/column.ts';

const name = column('Name', (value) => at(value, 'metadata', 'name') ?? '');
const age = column('Age', (value, now) => since(at(value, 'metadata', 'creationTimestamp'), now));

function count(value: JsonObject, field: string): number {
  return numberOf(at(value, 'status', field));
}

function prepareDeployment(value: JsonObject, write: Write): JsonObject {
  const spec = { ...objectOf(value['spec']) };
  spec['replicas'] ??= 1;
  spec['revisionHistoryLimit'] ??= 10;
  spec['progressDeadlineSeconds'] ??= 600;
  spec['strategy'] ??= { type: 'RollingUpdate', rollingUpdate: { maxUnavailable: '25%', maxSurge: '25%' } };
  return write.old ? { ...value, spec } : { ...value, spec, status: {} };
}

function prepareDaemonSet(value: JsonObject, write: Write): JsonObject {
  const spec = { ...objectOf(value['spec']) };
  spec['revisionHistoryLimit'] ??= 10;
  spec['updateStrategy'] ??= { type: 'RollingUpdate', rollingUpdate: { maxUnavailable: 1, maxSurge: 0 } };
  if (write.old) return { ...value, spec };
  const fields = ['currentNumberScheduled', 'numberMisscheduled', 'desiredNumberScheduled', 'numberReady'];
  return { ...value, spec, status: Object.fromEntries(fields.map((field) => [field, 0])) };
}

/** Deployments, DaemonSets and budgets are kept as objects only: no controller acts on them here. */
export const deployments: Resource = resource({
  group: 'apps',
  version: 'v1',
  plural: 'deployments',
  kind: 'Deployment',
  namespaced: true,
  shortNames: ['deploy'],
  categories: ['all'],
  schema: deploymentSchema,
  subresources: ['status'],
  generation: true,
  prepare: prepareDeployment,
  columns: [
    name,
    column('Ready', (value) => `${count(value, 'readyReplicas')}/${numberOf(at(value, 'spec', 'replicas'))}`),
    column('Up-to-date', (value) => String(count(value, 'updatedReplicas'))),
    column('Available', (value) => String(count(value, 'availableReplicas'))),
    age,
  ],
});

export const daemonSets: Resource = resource({
  group: 'apps',
  version: 'v1',
  plural: 'daemonsets',
  kind: 'DaemonSet',
  namespaced: true,
  shortNames: ['ds'],
  categories: ['all'],
  schema: daemonSetSchema,
  subresources: ['status'],
  generation: true,
  prepare: prepareDaemonSet,
  columns: [
    name,
    column('Desired', (value) => count(value, 'desiredNumberScheduled'), { type: 'integer' }),
    column('Current', (value) => count(value, 'currentNumberScheduled'), { type: 'integer' }),
    column('Ready', (value) => count(value, 'numberReady'), { type: 'integer' }),
    column('Up-to-date', (value) => count(value, 'updatedNumberScheduled'), { type: 'integer' }),
    column('Available', (value) => count(value, 'numberAvailable'), { type: 'integer' }),
    age,
  ],
});

function limit(value: JsonObject, field: string): string {
  const given = at(value, 'spec', field);
  return typeof given === 'number' ? String(given) : textOf(given) || 'N/A';
}

export const podDisruptionBudgets: Resource = resource({
  group: 'policy',
  version: 'v1',
  plural: 'poddisruptionbudgets',
  kind: 'PodDisruptionBudget',
  namespaced: true,
  shortNames: ['pdb'],
  schema: podDisruptionBudgetSchema,
  subresources: ['status'],
  generation: true,
  columns: [
    name,
    column('Min Available', (value) => limit(value, 'minAvailable')),
    column('Max Unavailable', (value) => limit(value, 'maxUnavailable')),
    column('Allowed Disruptions', (value) => count(value, 'disruptionsAllowed'), { type: 'integer' }),
    age,
  ],
});

export const endpoints: Resource = resource({
  version: 'v1',
  plural: 'endpoints',
  singular: 'endpoints',
  kind: 'Endpoints',
  namespaced: true,
  shortNames: ['ep'],
  schema: endpointsSchema,
  columns: [name, age],
});

export const endpointSlices: Resource = resource({
  group: 'discovery.k8s.io',
  version: 'v1',
  plural: 'endpointslices',
  kind: 'EndpointSlice',
  namespaced: true,
  schema: endpointSliceSchema,
  columns: [name, age],
});
