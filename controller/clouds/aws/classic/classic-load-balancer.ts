import type {
  LoadBalancerAttributes,
  LoadBalancerDescription,
  HealthCheck as SdkHealthCheck,
  Listener as SdkListener,
} from '@aws-sdk/client-elastic-load-balancing';
import type { Tags } from '../load-balancer-tags.ts';

/** Protocols in capitals. */
export type Listener = Omit<ObservedListener, 'policies'>;
type ObservedListener = ReturnType<typeof readListener>;
export type HealthCheck = NonNullable<ReturnType<typeof readHealth>>;

/** Undefined = AWS does not say, or nothing is asked. Seconds; minutes for the log. */
export interface Attributes {
  readonly crossZone?: boolean | undefined;
  readonly draining?: { readonly enabled: boolean; readonly timeout?: number | undefined } | undefined;
  readonly idleTimeout?: number | undefined;
  readonly accessLog?:
    | {
        readonly enabled: boolean;
        readonly emitInterval?: number | undefined;
        readonly bucket?: string | undefined;
        readonly prefix?: string | undefined;
      }
    | undefined;
}

/** One as AWS shows it. */
export interface ClassicLoadBalancer extends Readonly<ReturnType<typeof readLoadBalancer>> {
  readonly tags: Tags;
}

export function readLoadBalancer(described: LoadBalancerDescription) {
  const { ListenerDescriptions, BackendServerDescriptions, Policies, Instances, CreatedTime, Scheme } = described;
  return {
    name: described.LoadBalancerName ?? '',
    hostname: described.DNSName ?? '',
    scheme: Scheme === 'internal' ? ('internal' as const) : ('internet-facing' as const),
    subnets: (described.Subnets ?? []) as readonly string[],
    securityGroups: (described.SecurityGroups ?? []) as readonly string[],
    listeners: (ListenerDescriptions ?? []).map(({ Listener, PolicyNames }) => readListener(Listener, PolicyNames)),
    /** Names of policies of its own. */
    policies: (Policies?.OtherPolicies ?? []) as readonly string[],
    /** By the port of the instances. */
    backendPolicies: new Map<number, readonly string[]>(
      (BackendServerDescriptions ?? []).map(({ InstancePort = 0, PolicyNames }) => [InstancePort, PolicyNames ?? []]),
    ),
    health: readHealth(described.HealthCheck),
    /** Ids. */
    instances: (Instances ?? []).flatMap(({ InstanceId }) => InstanceId ?? []) as readonly string[],
    createdAtMs: CreatedTime?.getTime(),
  };
}

export function readListener(listener: Partial<SdkListener> = {}, policies: readonly string[] = []) {
  return {
    port: listener.LoadBalancerPort ?? 0,
    protocol: (listener.Protocol ?? '').toUpperCase(),
    instancePort: listener.InstancePort ?? 0,
    instanceProtocol: (listener.InstanceProtocol ?? listener.Protocol ?? '').toUpperCase(),
    certificate: listener.SSLCertificateId || undefined,
    policies,
  };
}

export function readHealth(check: SdkHealthCheck | undefined) {
  const { Target, Interval, Timeout, HealthyThreshold, UnhealthyThreshold } = check ?? {};
  if (Target === undefined || Interval === undefined || Timeout === undefined) return undefined;
  if (HealthyThreshold === undefined || UnhealthyThreshold === undefined) return undefined;
  return {
    /** `HTTP:10256/healthz`, `TCP:30080`. */
    target: Target,
    interval: Interval,
    timeout: Timeout,
    healthy: HealthyThreshold,
    unhealthy: UnhealthyThreshold,
  };
}

/** Of the members. */
export function probedPort(check: HealthCheck | undefined): number | undefined {
  const [, port] = /:(\d+)/.exec(check?.target ?? '') ?? [];
  return port === undefined ? undefined : Number(port);
}

export function readAttributes(attributes: LoadBalancerAttributes | undefined): Attributes {
  const { AccessLog: log, ConnectionDraining: draining } = attributes ?? {};
  return {
    crossZone: attributes?.CrossZoneLoadBalancing?.Enabled,
    draining: draining && { enabled: draining.Enabled ?? false, timeout: draining.Timeout },
    idleTimeout: attributes?.ConnectionSettings?.IdleTimeout,
    accessLog: log && {
      enabled: log.Enabled ?? false,
      emitInterval: log.EmitInterval,
      bucket: log.S3BucketName,
      prefix: log.S3BucketPrefix,
    },
  };
}

export function sdkAttributes({ crossZone, draining, idleTimeout, accessLog }: Attributes): LoadBalancerAttributes {
  return {
    ...(crossZone !== undefined && { CrossZoneLoadBalancing: { Enabled: crossZone } }),
    ...(draining && { ConnectionDraining: { Enabled: draining.enabled, Timeout: draining.timeout } }),
    ...(idleTimeout !== undefined && { ConnectionSettings: { IdleTimeout: idleTimeout } }),
    ...(accessLog && {
      AccessLog: {
        Enabled: accessLog.enabled,
        EmitInterval: accessLog.emitInterval,
        S3BucketName: accessLog.bucket,
        S3BucketPrefix: accessLog.prefix,
      },
    }),
  };
}
