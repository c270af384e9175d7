import { condition, topLevel } from './meta-schema.ts';
import {
  always,
  any,
  bool,
  int32,
  int64,
  keyed,
  list,
  map,
  object,
  open,
  pointer,
  quantity,
  set,
  string,
  time,
} from './schema.ts';

const taint = object('Taint', { key: always(string), value: string, effect: always(string), timeAdded: time });

const nodeInfoFields = [
  'machineID',
  'systemUUID',
  'bootID',
  'kernelVersion',
  'osImage',
  'containerRuntimeVersion',
  'kubeletVersion',
  'kubeProxyVersion',
  'operatingSystem',
  'architecture',
];

const nodeInfo = object('NodeSystemInfo', {
  ...Object.fromEntries(nodeInfoFields.map((field) => [field, always(string)])),
  swap: any,
});

export const nodeSchema = topLevel('Node', {
  spec: always(
    object('NodeSpec', {
      podCIDR: string,
      podCIDRs: set(string),
      providerID: string,
      unschedulable: bool,
      taints: list(taint),
      configSource: any,
      externalID: string,
    }),
  ),
  status: always(
    object('NodeStatus', {
      capacity: map(quantity),
      allocatable: map(quantity),
      phase: string,
      conditions: keyed('type', condition('lastHeartbeatTime')),
      addresses: keyed('type', object('NodeAddress', { type: always(string), address: always(string) })),
      daemonEndpoints: always(
        object('NodeDaemonEndpoints', { kubeletEndpoint: always(object('DaemonEndpoint', { Port: always(int32) })) }),
      ),
      nodeInfo: always(nodeInfo),
      images: list(object('ContainerImage', { names: list(string), sizeBytes: int64 })),
      volumesInUse: list(string),
      volumesAttached: list(object('AttachedVolume', { name: always(string), devicePath: always(string) })),
      config: any,
      runtimeHandlers: list(open('NodeRuntimeHandler')),
      features: pointer(open('NodeFeatures')),
      declaredFeatures: list(string),
    }),
  ),
});

export const namespaceSchema = topLevel('Namespace', {
  spec: always(object('NamespaceSpec', { finalizers: list(string) })),
  status: always(object('NamespaceStatus', { phase: string, conditions: keyed('type', condition()) })),
});

export const podSchema = topLevel('Pod', {
  spec: always(podSpec()),
  status: always(
    open('PodStatus', {
      phase: string,
      conditions: keyed('type', condition('lastProbeTime')),
      podIPs: keyed('ip', object('PodIP', { ip: string })),
      hostIPs: list(object('HostIP', { ip: string })),
      startTime: time,
    }),
  ),
});

/** The parts of a PodSpec that have merge keys; the rest is kept as given. */
export function podSpec() {
  const container = open('Container', {
    name: always(string),
    ports: keyed('containerPort', open('ContainerPort', { protocol: string })),
    env: keyed('name', open('EnvVar', { name: always(string), value: string })),
    volumeMounts: keyed('mountPath', open('VolumeMount', { name: always(string) })),
    volumeDevices: keyed('devicePath', open('VolumeDevice', { name: always(string) })),
    resources: always(open('ResourceRequirements', { limits: map(quantity), requests: map(quantity) })),
  });
  return open('PodSpec', {
    volumes: keyed('name', open('Volume', { name: always(string) })),
    initContainers: keyed('name', container),
    containers: keyed('name', container),
    ephemeralContainers: keyed('name', container),
    restartPolicy: string,
    terminationGracePeriodSeconds: pointer(int64),
    dnsPolicy: string,
    nodeSelector: map(string),
    serviceAccountName: string,
    serviceAccount: string,
    nodeName: string,
    hostNetwork: bool,
    securityContext: pointer(open('PodSecurityContext')),
    imagePullSecrets: keyed('name', object('LocalObjectReference', { name: string })),
    schedulerName: string,
    tolerations: list(open('Toleration')),
    hostAliases: keyed('ip', open('HostAlias')),
    topologySpreadConstraints: keyed('topologyKey', open('TopologySpreadConstraint')),
  });
}
