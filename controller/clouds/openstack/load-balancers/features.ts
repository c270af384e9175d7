/** What this Octavia and the driver behind a load balancer can do. */
export interface Features {
  /** `v2.26`, for people; undefined until it has been asked for. */
  readonly version: string | undefined;
  readonly provider: string;
  readonly tags: boolean;
  readonly timeouts: boolean;
  readonly flavor: boolean;
  readonly allowedCidrs: boolean;
  readonly availabilityZone: boolean;
  /** HTTP monitors on pools of UDP; without, on pools of TCP alone. */
  readonly httpMonitorOnUdp: boolean;
  readonly httpMonitor: boolean;
  readonly proxyV2: boolean;
  readonly sctp: boolean;
  /** Works at layer 4 alone: no TLS, no headers, no PROXY protocol, no limits. */
  readonly layer4: boolean;
  /** A weight of 0 keeps new connections away. */
  readonly weights: boolean;
}

/** The newest minor version among those listed at the root; undefined = unknown, taken for the newest. */
export function minorOf(versions: readonly string[] | undefined): number | undefined {
  const minors = (versions ?? []).flatMap((id) => {
    const match = /^v2\.(\d+)$/.exec(id);
    return match === null ? [] : [Number(match[1])];
  });
  return minors.length === 0 ? undefined : Math.max(...minors);
}

export function featuresOf(minor: number | undefined, provider: string): Features {
  const since = (needed: number) => minor === undefined || minor >= needed;
  const layer4 = provider === 'ovn';
  return {
    version: minor === undefined ? undefined : `v2.${minor}`,
    provider,
    tags: since(5),
    timeouts: since(1) && !layer4,
    flavor: since(6) && !layer4,
    allowedCidrs: since(12) && !layer4,
    availabilityZone: since(14) && !layer4,
    httpMonitorOnUdp: since(16) && !layer4,
    httpMonitor: !layer4,
    proxyV2: since(22) && !layer4,
    sctp: since(23),
    layer4,
    weights: !layer4,
  };
}
