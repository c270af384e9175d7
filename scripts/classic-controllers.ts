/** A classic cloud controller manager, and our module for its cloud. */
export interface ClassicController {
  readonly name: string;
  readonly cloud: string;
}

export const classicControllers: readonly ClassicController[] = [
  { name: 'cloud-provider-alibaba-cloud', cloud: 'alibaba' },
  { name: 'cloud-provider-aws', cloud: 'aws' },
  { name: 'cloud-provider-azure', cloud: 'azure' },
  { name: 'cloudstack-kubernetes-provider', cloud: 'cloudstack' },
  { name: 'digitalocean-cloud-controller-manager', cloud: 'digitalocean' },
  { name: 'cloud-provider-gcp', cloud: 'gce' },
  { name: 'hcloud-cloud-controller-manager', cloud: 'hetzner' },
  { name: 'cloud-provider-huaweicloud', cloud: 'huaweicloud' },
  { name: 'openstack-cloud-controller-manager', cloud: 'openstack' },
  { name: 'the in-tree provider of oVirt', cloud: 'ovirt' },
  { name: 'cloud-provider-vsphere', cloud: 'vsphere' },
];

/** Metrics of a classic controller that have another name here, or none. */
export interface ClassicMetric {
  readonly theirs: readonly string[];
  /** `all` = of k8s.io/cloud-provider. */
  readonly of: string;
  /** Names of ours. */
  readonly ours: readonly string[];
  readonly note?: string;
}

const calls = ['mooring_cloud_calls_total'];
const durations = ['mooring_cloud_call_duration_seconds'];
const failed = 'by `code`';

export const classicMetrics: readonly ClassicMetric[] = [
  {
    theirs: ['rest_client_requests_total'],
    of: 'all',
    ours: ['rest_client_requests_total'],
    note: 'labels `verb` and `resource` besides',
  },
  {
    theirs: ['kubernetes_healthcheck', 'kubernetes_healthchecks_total'],
    of: 'all',
    ours: [],
    note: 'none; `/livez?verbose` and `/readyz?verbose` name each check',
  },
  { theirs: ['cloudprovider_aws_api_request_duration_seconds'], of: 'aws', ours: durations },
  {
    theirs: ['cloudprovider_aws_api_request_errors', 'cloudprovider_aws_api_throttled_requests_total'],
    of: 'aws',
    ours: calls,
    note: failed,
  },
  { theirs: ['cloudprovider_azure_api_request_duration_seconds'], of: 'azure', ours: durations },
  {
    theirs: ['cloudprovider_azure_api_request_errors', 'cloudprovider_azure_api_request_throttled_count'],
    of: 'azure',
    ours: calls,
    note: failed,
  },
  {
    theirs: ['cloudprovider_azure_api_request_ratelimited_count'],
    of: 'azure',
    ours: ['mooring_cloud_call_waiting_seconds'],
    note: 'a call waits for its turn and is not refused',
  },
  { theirs: ['cloudprovider_gce_api_request_duration_seconds'], of: 'gce', ours: durations },
  { theirs: ['cloudprovider_gce_api_request_errors'], of: 'gce', ours: calls, note: failed },
  { theirs: ['cloud_controller_manager_operations_total'], of: 'hetzner', ours: calls },
  { theirs: ['openstack_api_request_duration_seconds'], of: 'openstack', ours: durations },
  {
    theirs: ['openstack_api_requests_total', 'openstack_api_request_errors_total'],
    of: 'openstack',
    ours: calls,
    note: failed,
  },
  {
    theirs: ['cloudprovider_openstack_reconcile_duration_seconds'],
    of: 'openstack',
    ours: ['mooring_load_balancer_ensure_seconds', 'mooring_load_balancer_delete_seconds'],
  },
  {
    theirs: ['cloudprovider_openstack_reconcile_total', 'cloudprovider_openstack_reconcile_errors_total'],
    of: 'openstack',
    ours: ['mooring_load_balancer_steps_total', 'mooring_services'],
    note: 'the second by `reason`',
  },
  { theirs: ['cloudprovider_vsphere_api_request_duration_seconds'], of: 'vsphere', ours: durations },
  { theirs: ['cloudprovider_vsphere_api_request_errors'], of: 'vsphere', ours: calls, note: failed },
];
