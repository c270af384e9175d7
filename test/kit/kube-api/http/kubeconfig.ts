import { stringify } from 'yaml';

/** A kubeconfig with one context, as YAML. */
export function kubeconfigText(options: { url: string; caPem: string; token: string; namespace: string }): string {
  const name = 'mooring-sandbox';
  return stringify({
    apiVersion: 'v1',
    kind: 'Config',
    clusters: [
      {
        name,
        cluster: {
          server: options.url,
          'certificate-authority-data': Buffer.from(options.caPem).toString('base64'),
        },
      },
    ],
    users: [{ name, user: { token: options.token } }],
    contexts: [{ name, context: { cluster: name, user: name, namespace: options.namespace } }],
    'current-context': name,
  });
}
