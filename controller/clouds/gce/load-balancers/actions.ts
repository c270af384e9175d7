import type { compute_v1 } from '@googleapis/compute';

/** What is sent with each verb. */
export interface Actions {
  addInstances: compute_v1.Schema$InstanceGroupsAddInstancesRequest;
  removeInstances: compute_v1.Schema$InstanceGroupsRemoveInstancesRequest;
  addInstance: compute_v1.Schema$TargetPoolsAddInstanceRequest;
  removeInstance: compute_v1.Schema$TargetPoolsRemoveInstanceRequest;
  addHealthCheck: compute_v1.Schema$TargetPoolsAddHealthCheckRequest;
  removeHealthCheck: compute_v1.Schema$TargetPoolsRemoveHealthCheckRequest;
  setLabels: compute_v1.Schema$RegionSetLabelsRequest;
}
