import { names } from '../common/well-known.ts';
import { recordsName } from './routes/route-records.ts';

/** One right the controller needs in the cluster. */
export interface Permission {
  readonly group: string;
  readonly resource: string;
  readonly verbs: readonly string[];
  /** Undefined = in the whole cluster. */
  readonly namespace?: string;
  /** Undefined = any name. */
  readonly name?: string;
  readonly why: string;
}

const own = names.namespace;

/** Every right the controller uses, and no other: `check` asks for them, and the manifests' rules are tested against them. */
export const permissions: readonly Permission[] = [
  {
    group: '',
    resource: 'nodes',
    verbs: ['get', 'list', 'watch', 'patch', 'delete'],
    why: 'initialise Nodes, keep them current, delete those whose VM is gone',
  },
  { group: '', resource: 'nodes/status', verbs: ['patch'], why: 'addresses and conditions of Nodes' },
  { group: '', resource: 'services', verbs: ['get', 'list', 'watch'], why: 'load balancers for Services' },
  {
    group: '',
    resource: 'services/status',
    verbs: ['patch'],
    why: 'addresses, conditions, finalizer and record of Services',
  },
  {
    group: '',
    resource: 'namespaces',
    verbs: ['get'],
    name: names.namespace,
    why: "the cluster's UID, which marks what is ours in the clouds",
  },
  { group: '', resource: 'events', verbs: ['create', 'patch'], why: 'events about Nodes and Services' },
  {
    group: 'coordination.k8s.io',
    resource: 'leases',
    verbs: ['get'],
    namespace: names.nodeLeaseNamespace,
    why: 'signs of life before a Node is deleted',
  },
  {
    group: 'coordination.k8s.io',
    resource: 'leases',
    verbs: ['create'],
    namespace: own,
    why: 'election; announcements of replicas',
  },
  {
    group: 'coordination.k8s.io',
    resource: 'leases',
    verbs: ['get', 'update'],
    namespace: own,
    name: names.lease,
    why: 'election',
  },
  {
    group: 'coordination.k8s.io',
    resource: 'leases',
    verbs: ['get', 'patch'],
    namespace: own,
    name: names.replicasLease,
    why: 'announcements of replicas',
  },
  {
    group: '',
    resource: 'configmaps',
    verbs: ['get', 'list', 'watch', 'patch'],
    namespace: own,
    name: names.certificates,
    why: 'CA and URLs for agents; the pause key',
  },
  {
    group: '',
    resource: 'configmaps',
    verbs: ['create'],
    namespace: own,
    why: 'the ConfigMaps, where they are missing',
  },
  {
    group: '',
    resource: 'configmaps',
    verbs: ['get', 'patch'],
    namespace: own,
    name: recordsName,
    why: 'routes that are ours, where the cloud cannot tag them',
  },
  {
    group: '',
    resource: 'secrets',
    verbs: ['get', 'patch'],
    namespace: own,
    name: names.certificates,
    why: 'keys of the report API',
  },
  { group: '', resource: 'secrets', verbs: ['create'], namespace: own, why: 'the Secret, where it is missing' },
  {
    group: 'authentication.k8s.io',
    resource: 'tokenreviews',
    verbs: ['create'],
    why: 'who sends a report; who reads metrics',
  },
  { group: 'authorization.k8s.io', resource: 'subjectaccessreviews', verbs: ['create'], why: 'who may read metrics' },
];
