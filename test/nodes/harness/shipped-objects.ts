import { names } from '../../../common/well-known.ts';
import type { ShippedObject } from '../../../controller/kube/shipped-objects.ts';
import { admin } from '../../kit/kube-api/auth/user.ts';
import type { KubeApiCore } from '../../kit/kube-api/kube-api-core.ts';

/** Creates the object as the manifests ship it: empty, unless data is given. */
export function shipObject(core: KubeApiCore, { kind, name }: ShippedObject, data: object = {}): void {
  const metadata = { name, namespace: names.namespace };
  ask(core, 'POST', collectionOf(kind), { apiVersion: 'v1', kind, metadata, data });
}

/** As a person who deletes it by mistake. */
export function deleteObject(core: KubeApiCore, { kind, name }: ShippedObject): void {
  ask(core, 'DELETE', `${collectionOf(kind)}/${name}`);
}

function collectionOf(kind: ShippedObject['kind']): string {
  return `/api/v1/namespaces/${names.namespace}/${kind.toLowerCase()}s`;
}

function ask(core: KubeApiCore, method: string, path: string, body?: object): void {
  const answer = core.handle({
    method,
    path,
    query: new URLSearchParams(),
    headers: { accept: 'application/json', 'content-type': 'application/json' },
    body: body && Buffer.from(JSON.stringify(body)),
    user: admin,
  });
  if (answer.watch !== undefined || answer.status >= 300) throw new Error(`${method} ${path} was refused`);
}
