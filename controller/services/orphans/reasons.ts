/** Reasons of events on the namespace kube-system, which represents the cluster: the Service no longer exists. */
export const orphanEventReasons = {
  OrphanedLoadBalancer: 'A load balancer of this cluster belongs to a Service that does not exist.',
  DeletedOrphanedLoadBalancer: 'It was deleted, as `--delete-orphans` asks.',
} as const;
