import { names } from '../../common/well-known.ts';
import { resourceOf, type ShippedObject, shippedObjectsIn } from '../kube/shipped-objects.ts';
import type { Loops } from './options/loops.ts';

/** One permission that the controller needs in the cluster. */
export interface Permission {
  readonly group: string;
  readonly resource: string;
  readonly verbs: readonly string[];
  /** Undefined = in the whole cluster. */
  readonly namespace?: string;
  /** Undefined = any name. */
  readonly name?: string;
  /** The loops that use it; undefined = every replica. */
  readonly loops?: readonly (keyof Loops)[];
  readonly why: string;
}

/** The Lease of the election. */
export interface ElectionLease {
  readonly namespace: string;
  readonly name: string;
}

const upstreamLease: ElectionLease = { namespace: names.namespace, name: names.lease };
const leases = { group: 'coordination.k8s.io', resource: 'leases' };

function namedLease(namespace: string, name: string, verbs: readonly string[], why: string): Permission {
  return { ...leases, verbs, namespace, name, why };
}

function shipped(object: ShippedObject, verbs: readonly string[], why: string): Permission {
  const { namespace, name } = object;
  return { group: '', resource: resourceOf(object), verbs, namespace, name, why };
}

/**
 * Exactly the permissions that the controller uses: `check` reviews those of the running loops, a test compares them
 * with the manifests' rules, and the page of permissions is generated from them. None creates a Secret or a ConfigMap:
 * the manifests ship those. The `create` of a Lease applies to its name only, because a PUT creates it.
 *
 * @param namespace that Mooring is installed in
 * @param lease of the election. By default it stays in kube-system, where every controller of clouds looks for it.
 */
export function permissionsIn(namespace: string, lease: ElectionLease = upstreamLease): readonly Permission[] {
  const objects = shippedObjectsIn(namespace);
  return [
    { group: '', resource: 'nodes', verbs: ['get', 'list', 'watch'], why: 'Nodes and the status that kubelets write' },
    {
      group: '',
      resource: 'nodes',
      verbs: ['patch'],
      loops: ['node', 'lifecycle', 'ipam'],
      why: 'providerID, labels, taints and pod ranges of Nodes',
    },
    { group: '', resource: 'nodes', verbs: ['delete'], loops: ['lifecycle'], why: 'delete Nodes whose VM is gone' },
    {
      group: '',
      resource: 'nodes/status',
      verbs: ['patch'],
      loops: ['node', 'lifecycle', 'route'],
      why: 'addresses and conditions of Nodes',
    },
    {
      group: '',
      resource: 'services',
      verbs: ['get', 'list', 'watch'],
      loops: ['service'],
      why: 'Services of type LoadBalancer',
    },
    {
      group: 'discovery.k8s.io',
      resource: 'endpointslices',
      verbs: ['list', 'watch'],
      loops: ['service'],
      why: 'pods as members of load balancers, read only once a Service asks for it',
    },
    {
      group: '',
      resource: 'services/status',
      verbs: ['patch'],
      loops: ['service'],
      why: 'addresses, conditions, finalizer and record of Services',
    },
    {
      group: '',
      resource: 'persistentvolumes',
      verbs: ['list', 'watch', 'patch'],
      loops: ['volume'],
      why: 'zone, region and node affinity of PersistentVolumes',
    },
    {
      group: '',
      resource: 'namespaces',
      verbs: ['get'],
      name: names.namespace,
      loops: ['service', 'route'],
      why: "the cluster's UID, which marks our resources in the clouds",
    },
    { group: '', resource: 'events', verbs: ['create', 'patch'], why: 'events about Nodes, Services and volumes' },
    {
      ...leases,
      verbs: ['get'],
      namespace: names.nodeLeaseNamespace,
      loops: ['lifecycle'],
      why: 'signs of life before a Node is deleted',
    },
    namedLease(lease.namespace, lease.name, ['get', 'create', 'update'], 'election'),
    namedLease(namespace, names.replicasLease, ['get', 'create', 'update', 'patch'], 'announcements of replicas'),
    shipped(objects.published, ['get', 'list', 'watch', 'patch'], 'CA and URLs for agents; the pause key'),
    {
      ...shipped(objects.routeRecords, ['get', 'patch'], 'routes that are ours without a mark that says so'),
      loops: ['route'],
    },
    shipped(objects.certificates, ['get', 'patch'], 'keys of the report API'),
    {
      group: 'authentication.k8s.io',
      resource: 'tokenreviews',
      verbs: ['create'],
      why: 'who sends a report; who reads metrics',
    },
    { group: 'authorization.k8s.io', resource: 'subjectaccessreviews', verbs: ['create'], why: 'who may read metrics' },
  ];
}

/** The permissions that a run with these loops uses, installed in this namespace, with this Lease. */
export function permissionsFor(running: Loops, namespace: string, lease?: ElectionLease): readonly Permission[] {
  return permissionsIn(namespace, lease).filter(
    ({ loops }) => loops === undefined || loops.some((loop) => running[loop]),
  );
}
