/** What a page takes for granted in the reader's cluster, made in a sandbox before its commands run. */
export const preparations: Readonly<Record<string, readonly string[]>> = {
  'README.md': [],
  'docs/guides/install.md': [],
  'docs/guides/upgrade.md': [],
  'docs/guides/uninstall.md': [
    'kubectl create service loadbalancer web --tcp=80:80',
    'rm -rf deploy/examples/mine && cp -r deploy/examples/simulated deploy/examples/mine',
    'kubectl apply -k deploy/examples/mine',
  ],
  // The objects of the manifests are lost.
  'docs/guides/troubleshoot.md': [
    'kubectl create service loadbalancer web --tcp=80:80',
    'kubectl apply -k deploy/examples/simulated',
    'kubectl -n kube-system delete secret/mooring-ca configmap/mooring-ca configmap/mooring-routes',
  ],
  'docs/guides/operate.md': [
    'mkdir -p ~/.local/bin',
    'test -e dist/kubectl-mooring.cjs || npm run -s build',
    'kubectl config rename-context $(kubectl config current-context) staging',
    'kubectl create namespace shop',
    'kubectl create service loadbalancer web --tcp=80:80 --namespace shop',
    'kubectl create service loadbalancer web --tcp=80:80',
    'kubectl wait --for=condition=CloudLoadBalancer service/web --timeout=60s',
  ],
};

/** The commands in the prose of a page that run after its blocks. kubectl reads the others, and does not run them. */
export const inlineThatRun: Readonly<Record<string, RegExp>> = {
  'docs/guides/troubleshoot.md': /^kubectl -n kube-system (?:create|get|rollout) /,
};

/** The guides' names of Nodes as the sandbox has them. */
export function translated(command: string): string {
  return command.replace(/\bworker-([12])\b/g, 'node-000$1');
}
