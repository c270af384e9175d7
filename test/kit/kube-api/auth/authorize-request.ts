import type { RequestInfo } from '../api/request-info.ts';
import { ApiError, forbidden } from '../api-error.ts';
import type { Authorizer } from './authorizer.ts';
import type { User } from './user.ts';

/** Open to everybody whatever the roles say, as the server's own `--always-allow-paths`. */
const openPaths = new Set(['/livez', '/readyz', '/healthz']);

/** Throws 403, in the server's words, when the user may not make the request. */
export function authorizeRequest(authorizer: Authorizer, user: User, info: RequestInfo): void {
  if (info.kind === 'path') {
    const { verb, path } = info;
    if (openPaths.has(path) || authorizer.decide(user, { verb, path }).allowed) return;
    const message = `forbidden: User ${JSON.stringify(user.name)} cannot ${verb} path ${JSON.stringify(path)}`;
    throw new ApiError(403, 'Forbidden', message, { details: {} });
  }
  const { verb, group, resource, subresource, namespace, name } = info;
  if (authorizer.decide(user, { verb, group, resource, subresource, namespace, name }).allowed) return;
  const where =
    namespace === '' || resource === 'namespaces'
      ? 'at the cluster scope'
      : `in the namespace ${JSON.stringify(namespace)}`;
  const what = JSON.stringify(subresource === '' ? resource : `${resource}/${subresource}`);
  throw forbidden(
    { group, plural: resource, kind: '' },
    name,
    `User ${JSON.stringify(user.name)} cannot ${verb} resource ${what} in API group ${JSON.stringify(group)} ${where}`,
  );
}
