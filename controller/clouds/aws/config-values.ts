import type { GcfgReader } from '../gcfg.ts';

/**
 * How load balancers check the health of nodes for Services with the traffic policy Cluster, where the configuration
 * says so.
 */
export type HealthProbe =
  /** A connection to the Service's own port. */
  | { readonly mode: 'ServiceNodePort' }
  /** Kube-proxy's own, the same for all Services. */
  | { readonly mode: 'Shared'; readonly port: number; readonly path: string };

/** An id such as `vpc-0123`, by its prefix. */
export function idOf(section: GcfgReader, key: string, prefix: string): string | undefined {
  const id = section.text(key);
  if (id === undefined || (id.startsWith(`${prefix}-`) && /^[\w-]+$/.test(id))) return id;
  throw section.error(key, `${JSON.stringify(id)}, expected ${prefix}-<id>`);
}

export function healthProbeOf(global: GcfgReader): HealthProbe | undefined {
  const modeKey = 'ClusterServiceLoadBalancerHealthProbeMode';
  const portKey = 'ClusterServiceSharedLoadBalancerHealthProbePort';
  const pathKey = 'ClusterServiceSharedLoadBalancerHealthProbePath';
  const mode = global.text(modeKey);
  if (mode === undefined) return undefined;
  if (mode === 'ServiceNodePort') return { mode };
  if (mode !== 'Shared') throw global.error(modeKey, `${JSON.stringify(mode)}, expected Shared or ServiceNodePort`);
  const port = global.text(portKey) ?? '10256';
  if (!/^\d{1,5}$/.test(port) || Number(port) < 1 || Number(port) > 65_535) {
    throw global.error(portKey, `${JSON.stringify(port)}, expected a port, 1 to 65535`);
  }
  const path = global.text(pathKey) ?? '/healthz';
  if (!path.startsWith('/')) throw global.error(pathKey, `${JSON.stringify(path)}, expected a path such as /healthz`);
  return { mode, port: Number(port), path };
}

export function managedSecurityGroupsOf(global: GcfgReader): boolean {
  const mode = global.text('NLBSecurityGroupMode');
  if (mode === undefined || mode === 'Managed') return mode === 'Managed';
  throw global.error('NLBSecurityGroupMode', `${JSON.stringify(mode)}, expected Managed, or nothing`);
}

const topologyTypes = '^(hpc|trn|p)[0-9]+[a-z]*(-[a-z0-9]+)?(\\.[0-9a-z]*)$';

/** Go's syntax, which has its flags in front of the expression, and `(?P<name>` for groups. Throws a SyntaxError. */
function goRegExp(pattern: string): RegExp {
  const [, flags = '', rest = pattern] = /^\(\?([ims]+)\)(.*)$/s.exec(pattern) ?? [];
  return new RegExp(rest.replaceAll('(?P<', '(?<'), [...new Set(flags)].join(''));
}

export function topologyTypesOf(global: GcfgReader): RegExp {
  const key = 'SupportedTopologyInstanceTypePattern';
  const pattern = global.text(key) ?? topologyTypes;
  try {
    return goRegExp(pattern);
  } catch (error) {
    const problem = error instanceof Error ? error.message : String(error);
    throw global.error(key, `${JSON.stringify(pattern)}, expected a regular expression: ${problem}`);
  }
}
