import type { CloudErrorKind } from '../../common/cloud-error.ts';
import type { ReasonInfo } from '../nodes/reasons.ts';

/** Reasons of the condition CloudLoadBalancer: a closed set. The reference page is generated from here. */
export const loadBalancerReasons = {
  Ensured: { meaning: 'The load balancer is as the Service asks.', remedy: '' },
  MembersRefused: {
    meaning:
      'The load balancer is as the Service asks, but for members that the cloud refuses; the message names their ' +
      'Nodes, or the addresses of pods, and the reasons. They are tried again every five minutes, pods that the ' +
      'cloud does not know every 30 seconds.',
    remedy:
      'Look at those instances: their VM is gone (see `explain node NAME`), or they are in another network than the ' +
      'load balancer, or (aws) neither they nor their security group carry the tag of the cluster.',
  },
  MemberRemovalWithheld: {
    meaning:
      'The load balancer is as the Service asks, and holds members whose Nodes vanished without a mark and ' +
      'without a deletion by the controller. They stay until the removal budget has room for them.',
    remedy:
      'If those Nodes were deleted on purpose, wait, or raise --member-removal-budget; mark Nodes (autoscaler ' +
      'taint, exclusion label) before deleting many.',
  },
  RetentionNotAllowed: {
    meaning:
      'The load balancer is as the Service asks, but for an annotation that lets it or its address outlive the ' +
      'Service: the operator does not allow it here, so that both are deleted with the Service; or the namespace ' +
      'retains as many as it may.',
    remedy:
      'Have the operator name the namespace in --allow-retain (an address alone: --allow-keep-address), or take ' +
      'the annotation away; the message says what is missing.',
  },
  RetentionLimitReached: {
    meaning:
      'The Service is being deleted and asks to retain its load balancer, which is allowed, but the namespace ' +
      'already retains as many as --retained-load-balancers-limit allows. The deletion waits.',
    remedy:
      'Delete a retained load balancer in the cloud, raise the limit, or remove mooring.dev/load-balancer-retain ' +
      'to have this one deleted.',
  },
  ClusterWideConsent: {
    meaning:
      'The load balancer is as the Service asks. Others created it, and its consent tag names the whole cluster, ' +
      'which is no longer enough for a new Service; existing use goes on.',
    remedy:
      'Write UID/namespace or UID/namespace/name into the tag mooring.dev/attachable-by, or run with ' +
      '--allow-cluster-wide-attach.',
  },
  NoMembers: {
    meaning:
      'The load balancer exists, but no Node may serve it, or none of the pods that are to be its members is ready.',
    remedy:
      'See that Nodes are initialised and not excluded by label; where pods are the members, that pods are ready.',
  },
  AwaitingEndpoints: {
    meaning:
      "The Service's members are pods, and the EndpointSlices have not been read yet. Nothing is changed; the load " +
      'balancer, where there is one, keeps the members that it has.',
    remedy: "See the controller's log, and that its role may list and watch EndpointSlices of discovery.k8s.io.",
  },
  Provisioning: { meaning: 'The cloud is still creating or changing the load balancer.', remedy: '' },
  Deleting: { meaning: 'The load balancer is being removed; the finalizer goes last.', remedy: '' },
  AddressOverwritten: {
    meaning:
      'The load balancer is as the Service asks, and another client overwrites its addresses in the status again and ' +
      'again. They are restored after growing delays of up to five minutes.',
    remedy:
      'Two controllers serve this Service: the managedFields of its status name the other one. Have that one serve ' +
      'Services of its own loadBalancerClass alone.',
  },
  AdoptionRequired: {
    meaning:
      'The Service shows an address or a finalizer of another controller, and no load balancer of ours exists for ' +
      'it; or it has another type by now, and still that finalizer. Nothing is created, and the finalizer stays.',
    remedy:
      'Run with --adopt to adopt what the classic controller of this cloud created, where the status shows its ' +
      'address; or name its load balancer in mooring.dev/load-balancer-id and give consent in the cloud; or remove ' +
      'that load balancer, the status and the finalizer by hand.',
  },
  CloudNotChosen: {
    meaning: 'Several configured clouds have load balancers, and the Service names none of them.',
    remedy: 'Set the annotation mooring.dev/cloud.',
  },
  ScopeNotServed: {
    meaning: 'The load balancer was created in a scope that no configured cloud reaches. Nothing is changed there.',
    remedy: 'Configure that cloud again, or remove the load balancer, the record and the finalizer by hand.',
  },
  ClassNotServed: {
    meaning:
      'The load balancer was created for the class of the Service, which --load-balancer-class does not name any ' +
      'more. It stays as it is, with its members, until the Service is deleted or gets another type.',
    remedy:
      'Start the controller with --load-balancer-class naming the class, or delete the Service and create it again ' +
      'for another controller.',
  },
  InvalidSourceRanges: {
    meaning:
      'A source range of the Service is not a CIDR, or none is of a family that the Service has, so that no ' +
      'client could connect, or there are more than 50,000 pairs of a port and a range; the load balancer stays as ' +
      'it was, and its members follow the Nodes; the message says so where they do not.',
    remedy: 'Correct spec.loadBalancerSourceRanges or the annotation; the message says which entry, or how many.',
  },
  InvalidSpec: {
    meaning:
      'A field of the Service is invalid; the message names it. A load balancer that exists stays as it was, and its ' +
      'members follow the Nodes; the message says so where they do not.',
    remedy: 'Correct that field.',
  },
  ForeignLoadBalancer: {
    meaning:
      'A load balancer that is not provably ours is in the way, or the Service names it or a security group ' +
      'without consent.',
    remedy:
      'Give it a consent tag that names the namespace, list it in --attachable-load-balancers or ' +
      '--allowed-security-groups, or rename or remove it.',
  },
  AddressWouldChange: {
    meaning: 'The change would give the load balancer another address.',
    remedy: 'Set mooring.dev/allow-address-change to true on the Service, if that is intended.',
  },
  Unsupported: {
    meaning:
      'This cloud cannot do what the Service asks, or an annotation has an invalid value; the message names it. Or ' +
      'no configured cloud has load balancers, and after a minute no other controller has given an address either.',
    remedy:
      'Correct that annotation or field, or leave it out; or configure a cloud that has load balancers, or run ' +
      'another controller that serves the Service.',
  },
  Conflict: {
    meaning: 'Another Service has the same port of the same load balancer.',
    remedy: 'Give one of them another port or another load balancer.',
  },
  NoEffect: {
    meaning:
      'The cloud accepted a change of the load balancer several times and did not make it; the message names it. ' +
      'All else is as the Service asks. It is tried again after half an hour.',
    remedy:
      'Look at that part of the load balancer in the cloud: something else may undo the change, or the cloud may ' +
      'not support it there.',
  },
  AwaitingCloud: {
    meaning:
      "The cloud's API did not answer usefully, or the cloud has been at work on the load balancer for more than " +
      'five minutes, so that its members do not follow the Nodes, or it shows one that is to go and that no step ' +
      'deletes; the message says which. Tried again with back-off.',
    remedy: "Look at the cloud's status and `mooring-controller check`.",
  },
  CredentialRefused: {
    meaning: 'The cloud refuses the credential, or does not let it do this.',
    remedy: 'Look at the credential and its rights; `mooring-controller check` proves both.',
  },
  QuotaExceeded: {
    meaning: 'The quota of the account is used up.',
    remedy: 'Raise the quota, or remove what is not needed.',
  },
  RefusedByCloud: {
    meaning:
      'The cloud refuses the request, or all members of a load balancer, which keeps those that it has; the message ' +
      'is its own.',
    remedy: 'Correct the Service, or look at the instances that it refuses.',
  },
  WriteRefused: {
    meaning: 'The API server refuses a write of the Service.',
    remedy: "Check the controller's RBAC and the admission webhooks for Services.",
  },
} as const satisfies Record<string, ReasonInfo>;
export type LoadBalancerReason = keyof typeof loadBalancerReasons;

/** With these the condition is True, with all others False. */
const good: ReadonlySet<LoadBalancerReason> = new Set([
  'Ensured',
  'MembersRefused',
  'MemberRemovalWithheld',
  'RetentionNotAllowed',
  'ClusterWideConsent',
]);

export function statusOf(reason: LoadBalancerReason): 'True' | 'False' {
  return good.has(reason) ? 'True' : 'False';
}

/** The reason for each kind of cloud failure. */
export const reasonOfKind: Readonly<Record<CloudErrorKind, LoadBalancerReason>> = {
  Unauthorized: 'CredentialRefused',
  Forbidden: 'CredentialRefused',
  Throttled: 'AwaitingCloud',
  NotFound: 'AwaitingCloud',
  Conflict: 'AwaitingCloud',
  Busy: 'AwaitingCloud',
  Stale: 'AwaitingCloud',
  Taken: 'AwaitingCloud',
  QuotaExceeded: 'QuotaExceeded',
  Invalid: 'RefusedByCloud',
  Unavailable: 'AwaitingCloud',
  Timeout: 'AwaitingCloud',
};

/** Event reasons on Services, upstream's where upstream has one. */
export const serviceEventReasons = {
  EnsuringLoadBalancer: 'Work on the load balancer begins.',
  EnsuredLoadBalancer: 'The load balancer is as the Service asks.',
  UpdatedLoadBalancer: 'The load balancer has other members.',
  RepairedLoadBalancer: 'A change by another client was undone: the load balancer is again as the Service asks.',
  UnAvailableLoadBalancer: 'There is no Node or pod that may serve.',
  DeletingLoadBalancer: 'The load balancer is being removed.',
  DeletedLoadBalancer:
    'The load balancer is proved gone, or was given up and stays, as the message says; the finalizer is removed.',
  SyncLoadBalancerFailed: 'A call failed or was refused; the message begins with the reason of the condition.',
  DeleteLoadBalancerFailed: 'The load balancer of a Service that is gone could not be removed; tried again.',
  LoadBalancerMembersRefused: 'The cloud refuses some members; the rest goes on.',
  LoadBalancerMembersWithheld: 'Members whose Nodes vanished stay until the removal budget has room for them.',
  RetentionNotAllowed:
    'An annotation asks to retain the load balancer or its address, which the operator does not allow: they are ' +
    'deleted with the Service.',
  ClusterWideConsent: 'The load balancer is used by a consent tag that names the whole cluster.',
  AdoptedLoadBalancer:
    'With --adopt: the load balancer that the classic controller of this cloud created for the Service is ours ' +
    'from now on; it was not changed.',
  OtherLoadBalancerClass:
    'The loadBalancerClass is left to another controller, which gave no address within a minute. Told once by each ' +
    'leader.',
  LoadBalancerMissing: 'The load balancer was removed by another client; it is created again.',
} as const;
export type ServiceEventReason = keyof typeof serviceEventReasons;
