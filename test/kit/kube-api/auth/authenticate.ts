import { forbidden, unauthorized } from '../api-error.ts';
import type { Authorizer } from './authorizer.ts';
import { issuer, type ServiceAccountTokens } from './service-account-token.ts';
import { anonymous, type User } from './user.ts';

export type Headers = Readonly<Record<string, string | string[] | undefined>>;

export function headerOf(headers: Headers, name: string): string | undefined {
  const value = headers[name];
  return Array.isArray(value) ? value[0] : value;
}

export interface Authenticator {
  /** Who the headers speak for, impersonation included. Throws 401, or 403 for a forbidden impersonation. */
  authenticate(headers: Headers): User;
  /** The user of a bearer token, whatever its audience list says: static tokens have the API server's audience only. */
  staticUser(token: string): User | undefined;
}

/** @param tokens static bearer tokens and whom they stand for */
export function authenticator(
  tokens: ReadonlyMap<string, User>,
  accounts: ServiceAccountTokens,
  authorizer: Authorizer,
): Authenticator {
  function bearer(headers: Headers): User {
    const header = headerOf(headers, 'authorization');
    if (header === undefined) return anonymous;
    const token = /^bearer\s+(\S+)\s*$/i.exec(header)?.[1];
    if (token === undefined) throw unauthorized();
    const known = tokens.get(token);
    if (known) return known;
    const answer = accounts.review(token, [issuer]);
    if ('error' in answer) throw unauthorized();
    return answer.user;
  }

  return {
    staticUser: (token) => tokens.get(token),
    authenticate(headers) {
      const user = bearer(headers);
      const name = headerOf(headers, 'impersonate-user');
      return name === undefined ? user : impersonated(user, name, headers, authorizer);
    },
  };
}

function impersonated(user: User, name: string, headers: Headers, authorizer: Authorizer): User {
  const given = headers['impersonate-group'];
  const groups = given === undefined ? [] : Array.isArray(given) ? given : [given];
  const account = /^system:serviceaccount:([^:]+):([^:]+)$/.exec(name);
  const asked: [string, string, string][] = account
    ? [['serviceaccounts', account[2] ?? '', account[1] ?? '']]
    : [['users', name, '']];
  for (const group of groups) asked.push(['groups', group, '']);
  for (const [resource, object, namespace] of asked) {
    const attributes = { verb: 'impersonate', group: '', resource, subresource: '', namespace, name: object };
    if (authorizer.decide(user, attributes).allowed) continue;
    const where = namespace === '' ? 'at the cluster scope' : `in the namespace ${JSON.stringify(namespace)}`;
    throw forbidden(
      { group: '', plural: resource, kind: '' },
      object,
      `User ${JSON.stringify(user.name)} cannot impersonate resource ${JSON.stringify(resource)} in API group "" ` +
        `${where}`,
    );
  }
  const own = account ? ['system:serviceaccounts', `system:serviceaccounts:${account[1]}`] : [];
  const all = groups.length > 0 ? groups : own;
  const last = name === anonymous.name ? 'system:unauthenticated' : 'system:authenticated';
  const uid = headerOf(headers, 'impersonate-uid') ?? '';
  return { name, uid, groups: all.includes(last) ? all : [...all, last], extra: {} };
}
