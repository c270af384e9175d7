import { badRequest, type FieldError, invalid } from '../api-error.ts';
import { invalidValue } from '../field-error.ts';
import { isObject, type JsonObject, listOf, objectOf, textOf } from '../json.ts';
import { formatTime } from '../schema/time.ts';
import type { World } from '../store/resource.ts';
import type { Authenticator } from './authenticate.ts';
import type { Attributes, Authorizer, Decision } from './authorizer.ts';
import { issuer, type ServiceAccountTokens } from './service-account-token.ts';
import { type User, userInfo } from './user.ts';

export const authenticationGroup = 'authentication.k8s.io';
export const authorizationGroup = 'authorization.k8s.io';

/** Reviews by plural name: they are answered and never stored. */
export const reviewKinds: Readonly<Record<string, { group: string; kind: string; namespaced: boolean }>> = {
  tokenreviews: { group: authenticationGroup, kind: 'TokenReview', namespaced: false },
  selfsubjectreviews: { group: authenticationGroup, kind: 'SelfSubjectReview', namespaced: false },
  subjectaccessreviews: { group: authorizationGroup, kind: 'SubjectAccessReview', namespaced: false },
  localsubjectaccessreviews: { group: authorizationGroup, kind: 'LocalSubjectAccessReview', namespaced: true },
  selfsubjectaccessreviews: { group: authorizationGroup, kind: 'SelfSubjectAccessReview', namespaced: false },
  selfsubjectrulesreviews: { group: authorizationGroup, kind: 'SelfSubjectRulesReview', namespaced: false },
};

export interface Reviews {
  /** The review with its answer. Throws ApiError for one that cannot be answered. */
  answer(plural: string, namespace: string, body: JsonObject, user: User): JsonObject;
}

export function reviews(
  world: World,
  tokens: ServiceAccountTokens,
  authenticator: Authenticator,
  authorizer: Authorizer,
): Reviews {
  function tokenReview(spec: JsonObject): JsonObject {
    const token = textOf(spec['token']);
    if (token === '') throw badRequest('token is required for TokenReview in authentication');
    const asked = listOf(spec['audiences']).map(textOf);
    const audiences = asked.length > 0 ? asked : [issuer];
    const fixed = authenticator.staticUser(token);
    if (fixed) {
      if (audiences.includes(issuer)) return { authenticated: true, user: userInfo(fixed), audiences: [issuer] };
      return { user: {}, error: 'invalid bearer token' };
    }
    const answer = tokens.review(token, audiences);
    if ('error' in answer) return { user: {}, error: answer.error };
    return { authenticated: true, user: userInfo(answer.user), audiences: [...answer.audiences] };
  }

  function decide(spec: JsonObject, user: User): JsonObject {
    const { allowed, reason }: Decision = authorizer.decide(user, attributesOf(spec));
    return { allowed, ...(reason === '' ? {} : { reason }) };
  }

  function rulesReview(spec: JsonObject, user: User): JsonObject {
    const rules = authorizer.rules(user, textOf(spec['namespace']));
    const resourceRules = rules
      .filter((rule) => rule.resources.length > 0)
      .map(({ verbs, apiGroups, resources, resourceNames }) => ({
        verbs: [...verbs],
        apiGroups: [...apiGroups],
        resources: [...resources],
        ...(resourceNames.length === 0 ? {} : { resourceNames: [...resourceNames] }),
      }));
    const nonResourceRules = rules
      .filter((rule) => rule.nonResourceURLs.length > 0)
      .map(({ verbs, nonResourceURLs }) => ({ verbs: [...verbs], nonResourceURLs: [...nonResourceURLs] }));
    return { resourceRules, nonResourceRules, incomplete: false };
  }

  return {
    answer(plural, namespace, body, user) {
      const given = objectOf(body['spec']);
      const review = reviewKinds[plural];
      const kind = review?.kind ?? '';
      const base: JsonObject = { kind, apiVersion: `${review?.group}/v1`, metadata: {} };
      switch (plural) {
        case 'tokenreviews':
          return { ...base, spec: given, status: tokenReview(given) };
        case 'selfsubjectreviews': {
          const metadata = { creationTimestamp: formatTime(world.clock.now()) };
          return { ...base, metadata, status: { userInfo: userInfo(user) } };
        }
        case 'selfsubjectrulesreviews':
          if (textOf(given['namespace']) === '') throw badRequest('no namespace on request');
          return { ...base, spec: {}, status: rulesReview(given, user) };
        case 'selfsubjectaccessreviews':
          checkSpec(given, false);
          return { ...base, spec: given, status: decide(given, user) };
        default: {
          checkSpec(given, true);
          const local = plural === 'localsubjectaccessreviews' ? { metadata: { namespace } } : {};
          return { ...base, ...local, spec: given, status: decide(given, subjectOf(given)) };
        }
      }
    },
  };
}

function checkSpec(spec: JsonObject, subject: boolean): void {
  const errors: FieldError[] = [];
  const resource = spec['resourceAttributes'];
  const path = spec['nonResourceAttributes'];
  const one = 'exactly one of nonResourceAttributes or resourceAttributes must be specified';
  if (!isObject(resource) && !isObject(path)) errors.push(invalidValue('spec.resourceAttributes', undefined, one));
  if (isObject(resource) && isObject(path)) {
    errors.push(
      invalidValue('spec.nonResourceAttributes', path, 'cannot be specified in combination with resourceAttributes'),
    );
  }
  if (subject && textOf(spec['user']) === '' && listOf(spec['groups']).length === 0) {
    errors.push(invalidValue('spec.user', '', 'at least one of user or group must be specified'));
  }
  if (errors.length > 0) throw invalid({ group: authorizationGroup, kind: '' }, '', errors);
}

function attributesOf(spec: JsonObject): Attributes {
  const path = spec['nonResourceAttributes'];
  if (isObject(path)) return { verb: textOf(path['verb']), path: textOf(path['path']) };
  const given = objectOf(spec['resourceAttributes']);
  return {
    verb: textOf(given['verb']),
    group: textOf(given['group']),
    resource: textOf(given['resource']),
    subresource: textOf(given['subresource']),
    namespace: textOf(given['namespace']),
    name: textOf(given['name']),
  };
}

function subjectOf(spec: JsonObject): User {
  const extra = Object.entries(objectOf(spec['extra'])).map(([key, values]) => [key, listOf(values).map(textOf)]);
  return {
    name: textOf(spec['user']),
    uid: textOf(spec['uid']),
    groups: listOf(spec['groups']).map(textOf),
    extra: Object.fromEntries(extra),
  };
}
