import { type FakeGce, network } from './fake-gce.ts';
import { serviceAccount } from './fake-identity.ts';

/** A key file of the fake's service account. */
export function keyFile({ identity, project }: Pick<FakeGce, 'identity' | 'project'>, origin: string): string {
  return JSON.stringify({
    type: 'service_account',
    project_id: project,
    client_email: serviceAccount,
    private_key_id: 'key-1',
    private_key: identity.privateKey,
    token_uri: `${origin}/token`,
  });
}

/** `gce.conf` of a fake. @param more of `[global]`, perhaps about `network-name` */
export function configFor(origin: string, more = ''): string {
  return `[global]
project-id = proj
${/\bnetwork-name/.test(more) ? '' : `network-name = ${network}`}
api-endpoint = ${origin}/compute/v1/
${more}
[mooring]
region = us-central1
resource-manager-endpoint = ${origin}
`;
}
