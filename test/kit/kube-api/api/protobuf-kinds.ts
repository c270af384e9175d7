/** How a field is written; `map` has string keys. */
export type FieldType =
  | 'string'
  | 'bytes'
  | 'bool'
  | 'int'
  | 'intOrString'
  | { readonly message: Message }
  | { readonly map: 'string' | 'bytes' };

/** Fields by number: JSON name, type, and whether it is a list. */
export type Message = Readonly<Record<number, readonly [name: string, type: FieldType, repeated?: boolean]>>;

const strings = (...names: string[]): Message =>
  Object.fromEntries(names.map((name, index) => [index + 1, [name, 'string'] as const]));

const ownerReference: Message = {
  1: ['kind', 'string'],
  3: ['name', 'string'],
  4: ['uid', 'string'],
  5: ['apiVersion', 'string'],
  6: ['controller', 'bool'],
  7: ['blockOwnerDeletion', 'bool'],
};

const objectMeta: Message = {
  ...strings('name', 'generateName', 'namespace', 'selfLink', 'uid', 'resourceVersion'),
  11: ['labels', { map: 'string' }],
  12: ['annotations', { map: 'string' }],
  13: ['ownerReferences', { message: ownerReference }, true],
  14: ['finalizers', 'string', true],
};

const metadata = ['metadata', { message: objectMeta }] as const;

const rule: Message = {
  1: ['verbs', 'string', true],
  2: ['apiGroups', 'string', true],
  3: ['resources', 'string', true],
  4: ['resourceNames', 'string', true],
  5: ['nonResourceURLs', 'string', true],
};
const role: Message = { 1: metadata, 2: ['rules', { message: rule }, true] };
const binding: Message = {
  1: metadata,
  2: ['subjects', { message: strings('kind', 'apiGroup', 'name', 'namespace') }, true],
  3: ['roleRef', { message: strings('apiGroup', 'kind', 'name') }],
};

const servicePort: Message = {
  1: ['name', 'string'],
  2: ['protocol', 'string'],
  3: ['port', 'int'],
  4: ['targetPort', 'intOrString'],
  5: ['nodePort', 'int'],
};
const serviceSpec: Message = {
  1: ['ports', { message: servicePort }, true],
  2: ['selector', { map: 'string' }],
  3: ['clusterIP', 'string'],
  4: ['type', 'string'],
  7: ['sessionAffinity', 'string'],
  10: ['externalName', 'string'],
};

const accessAttributes: Message = {
  1: [
    'resourceAttributes',
    { message: strings('namespace', 'verb', 'group', 'version', 'resource', 'subresource', 'name') },
  ],
  2: ['nonResourceAttributes', { message: strings('path', 'verb') }],
};

const tokenSpec: Message = {
  1: ['audiences', 'string', true],
  3: ['boundObjectRef', { message: strings('kind', 'apiVersion', 'name', 'uid') }],
  4: ['expirationSeconds', 'int'],
};

/**
 * The kinds that stock kubectl posts as protobuf, without fallback to JSON; field numbers from the API's
 * generated.proto.
 */
export const protobufKinds: Readonly<Record<string, Message>> = {
  ConfigMap: {
    1: metadata,
    2: ['data', { map: 'string' }],
    3: ['binaryData', { map: 'bytes' }],
    4: ['immutable', 'bool'],
  },
  Secret: {
    1: metadata,
    2: ['data', { map: 'bytes' }],
    3: ['type', 'string'],
    4: ['stringData', { map: 'string' }],
    5: ['immutable', 'bool'],
  },
  ServiceAccount: { 1: metadata, 4: ['automountServiceAccountToken', 'bool'] },
  Namespace: { 1: metadata },
  Service: { 1: metadata, 2: ['spec', { message: serviceSpec }] },
  Role: role,
  ClusterRole: role,
  RoleBinding: binding,
  ClusterRoleBinding: binding,
  TokenRequest: { 1: metadata, 2: ['spec', { message: tokenSpec }] },
  DeleteOptions: {
    1: ['gracePeriodSeconds', 'int'],
    2: ['preconditions', { message: strings('uid', 'resourceVersion') }],
    4: ['propagationPolicy', 'string'],
    5: ['dryRun', 'string', true],
  },
  SelfSubjectReview: { 1: metadata },
  SelfSubjectAccessReview: { 1: metadata, 2: ['spec', { message: accessAttributes }] },
  SelfSubjectRulesReview: { 1: metadata, 2: ['spec', { message: strings('namespace') }] },
};
