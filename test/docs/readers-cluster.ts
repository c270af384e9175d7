/** What a page takes for granted in the reader's cluster, made in a sandbox before its commands run. */
export const preparations: Readonly<Record<string, readonly string[]>> = {
  'docs/guides/install.md': [],
  'docs/guides/upgrade.md': [],
  'docs/guides/uninstall.md': ['kubectl create service loadbalancer web --tcp=80:80'],
  'docs/guides/operate.md': [
    'kubectl create namespace shop',
    'kubectl create service loadbalancer web --tcp=80:80 --namespace shop',
    'kubectl create service loadbalancer web --tcp=80:80',
    'kubectl wait --for=condition=CloudLoadBalancer service/web --timeout=60s',
  ],
};

/** The guides' names of Nodes as the sandbox has them. */
export function translated(command: string): string {
  return command.replace(/\bworker-([12])\b/g, 'node-000$1');
}
