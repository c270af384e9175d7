/** Who makes a request. */
export interface User {
  readonly name: string;
  readonly uid: string;
  readonly groups: readonly string[];
  readonly extra: Readonly<Record<string, readonly string[]>>;
}

export const anonymous: User = { name: 'system:anonymous', uid: '', groups: ['system:unauthenticated'], extra: {} };

/** May do everything. */
export const admin: User = {
  name: 'admin',
  uid: 'admin-uid',
  groups: ['system:masters', 'system:authenticated'],
  extra: {},
};

/** A ServiceAccount as the API server names it. */
export function serviceAccountUser(
  namespace: string,
  name: string,
  uid: string,
  extra: Record<string, string[]> = {},
): User {
  return {
    name: `system:serviceaccount:${namespace}:${name}`,
    uid,
    groups: ['system:serviceaccounts', `system:serviceaccounts:${namespace}`, 'system:authenticated'],
    extra,
  };
}

/** UserInfo as reviews show it: empty parts are left out. */
export function userInfo(user: User) {
  return {
    username: user.name,
    ...(user.uid === '' ? {} : { uid: user.uid }),
    groups: [...user.groups],
    ...(Object.keys(user.extra).length === 0
      ? {}
      : { extra: Object.fromEntries(Object.entries(user.extra).map(([key, values]) => [key, [...values]])) }),
  };
}
