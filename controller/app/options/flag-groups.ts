/** Titles of the help of `run`, and the flags below them. */
const groups: readonly (readonly [string, RegExp])[] = [
  ['Leader election:', /^leader-elect/],
  ['Logging:', /^(log-|v$)/],
  ['Reports of agents:', /^(reports?-(?!only$)|listen$|agent-|attestation-trust$|require-attestation$)/],
  ['Serving:', /^(secure-port|bind-address|tls-|authentication-|authorization-|webhook)/],
  ['Routes and pod ranges:', /(cidr|route|service-cluster-ip-range)/],
  [
    'Load balancers:',
    /(load-balancer|^member-|^allow(ed)?-(cluster|retain|keep|security)|^adopt$|service-syncs$|orphans$)/,
  ],
  ['Tags of instances:', /^(tags$|resources$|tagging-)/],
  [
    'Nodes:',
    /^(node-(?!selector)|bind-by-name$|concurrent-node|out-of-service|interruption|(announced|node)-deletion)/,
  ],
  [
    'Cluster and clouds:',
    /^(cloud-|allow-untag|(kubeconfig|mooring-namespace|cluster-name|controllers|dry-run|node-selector|report-only)$)/,
  ],
];

/** The title under which the help of `run` lists a flag; undefined: none. */
export function groupOf(flag: string): string | undefined {
  return groups.find(([, pattern]) => pattern.test(flag))?.[0];
}
