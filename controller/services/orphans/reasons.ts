/** Reasons of events on the namespace kube-system, which stands for the cluster: what has no object of its own any more. */
export const orphanEventReasons = {
  OrphanedLoadBalancer: 'A load balancer of this cluster belongs to a Service that does not exist.',
  DeletedOrphanedLoadBalancer: 'It was deleted, as `--delete-orphans` asks.',
} as const;
