import { badRequest, conflict, type FieldError, invalid, notFound } from '../api-error.ts';
import { invalidValue } from '../field-error.ts';
import { at, type JsonObject, listOf, numberOf, objectOf, textOf } from '../json.ts';
import { secrets } from '../kinds/config.ts';
import { nodes } from '../kinds/node.ts';
import { pods } from '../kinds/pod.ts';
import { formatTime } from '../schema/time.ts';
import type { Resource, World } from '../store/resource.ts';
import type { Stored } from '../store/store.ts';
import type { TokenSigner } from './token-signer.ts';
import { serviceAccountUser, type User } from './user.ts';

export const issuer = 'https://kubernetes.default.svc.cluster.local';

/** How long a good answer about a token is kept, as the API server does. */
const rememberMs = 10_000;

const request = { group: 'authentication.k8s.io', kind: 'TokenRequest' };
const extraPrefix = 'authentication.kubernetes.io';

export type TokenAnswer = { readonly user: User; readonly audiences: readonly string[] } | { readonly error: string };

export interface ServiceAccountTokens {
  /** Answers a TokenRequest. Throws ApiError: unknown account or bound object, too short a life. */
  issue(account: Stored, spec: JsonObject): JsonObject;
  /** Who holds the token, if it is good for one of the audiences. A good answer stands for ten seconds. */
  review(token: string, audiences: readonly string[]): TokenAnswer;
}

function uidOf(stored: Stored): string {
  return textOf(at(stored.value, 'metadata', 'uid'));
}

export function serviceAccountTokens(world: World, signer: TokenSigner): ServiceAccountTokens {
  const remembered = new Map<string, { until: number; answer: TokenAnswer }>();

  function find(resource: Resource, namespace: string, name: string): Stored | undefined {
    const key = namespace === '' ? name : `${namespace}/${name}`;
    return world.store.collection(resource.storage).items.get(key);
  }

  function bound(resource: Resource, namespace: string, reference: JsonObject): Stored {
    const name = textOf(reference['name']);
    const stored = find(resource, namespace, name);
    if (!stored) throw notFound(resource, name);
    const uid = textOf(reference['uid']);
    if (uid !== '' && uid !== uidOf(stored)) {
      const message =
        `the UID in the bound object reference (${uid}) does not match the UID in record. The object might have ` +
        'been deleted and then recreated';
      throw conflict(resource, name, message, true);
    }
    return stored;
  }

  function boundClaims(account: Stored, reference: JsonObject): JsonObject {
    const { namespace } = account;
    const kind = textOf(reference['kind']);
    const version = textOf(reference['apiVersion']) || 'v1';
    if (version !== 'v1' || !['Pod', 'Secret', 'Node'].includes(kind)) {
      const group = version === 'v1' ? '/v1' : version;
      throw badRequest(`cannot bind token to object of type ${group}, Kind=${kind}`);
    }
    if (kind === 'Secret') {
      const secret = bound(secrets, namespace, reference);
      return { secret: { name: secret.name, uid: uidOf(secret) } };
    }
    if (kind === 'Node') {
      const node = bound(nodes, '', reference);
      return { node: { name: node.name, uid: uidOf(node) } };
    }
    const pod = bound(pods, namespace, reference);
    if (at(pod.value, 'spec', 'serviceAccountName') !== account.name) {
      throw badRequest(
        `cannot bind token for serviceaccount ${JSON.stringify(account.name)} to pod running with different ` +
          'serviceaccount name.',
      );
    }
    const nodeName = textOf(at(pod.value, 'spec', 'nodeName'));
    const node = nodeName === '' ? undefined : find(nodes, '', nodeName);
    const claims: JsonObject = { pod: { name: pod.name, uid: uidOf(pod) } };
    if (nodeName === '') return claims;
    return { node: node ? { name: nodeName, uid: uidOf(node) } : { name: nodeName }, ...claims };
  }

  function judge(token: string, audiences: readonly string[]): TokenAnswer {
    const bad = 'invalid bearer token';
    let claims: JsonObject | undefined;
    try {
      claims = signer.verify(token);
    } catch {
      return { error: bad };
    }
    if (!claims) return { error: bad };
    const fail = (why: string): TokenAnswer => ({ error: `[${bad}, ${why}]` });
    const granted = listOf(claims['aud']).map(textOf);
    const common = audiences.filter((one) => granted.includes(one));
    if (common.length === 0) {
      const shown = (list: readonly string[]) => `[${list.map((one) => JSON.stringify(one)).join(' ')}]`;
      return fail(`token audiences ${shown(granted)} is invalid for the target audiences ${shown(audiences)}`);
    }
    if (world.clock.now() / 1000 >= numberOf(claims['exp'])) return fail('service account token has expired');
    const own = objectOf(claims['kubernetes.io']);
    const fault = staleness(own);
    if (fault !== undefined) return fail(fault);
    const extra: Record<string, string[]> = { [`${extraPrefix}/credential-id`]: [`JTI=${textOf(claims['jti'])}`] };
    for (const kind of ['node', 'pod']) {
      const reference = at(own, kind);
      const name = textOf(at(reference, 'name'));
      const uid = textOf(at(reference, 'uid'));
      if (name !== '') extra[`${extraPrefix}/${kind}-name`] = [name];
      if (uid !== '') extra[`${extraPrefix}/${kind}-uid`] = [uid];
    }
    const account = objectOf(own['serviceaccount']);
    const user = serviceAccountUser(textOf(own['namespace']), textOf(account['name']), textOf(account['uid']), extra);
    return { user, audiences: common };
  }

  /** Why the token's objects no longer prove its owner. A Pod's node is copied from the token and not looked up. */
  function staleness(own: JsonObject): string | undefined {
    const namespace = textOf(own['namespace']);
    const name = textOf(at(own, 'serviceaccount', 'name'));
    const uid = textOf(at(own, 'serviceaccount', 'uid'));
    const account = world.store.collection('serviceaccounts').items.get(`${namespace}/${name}`);
    if (!account) return `serviceaccounts ${JSON.stringify(name)} not found`;
    if (uidOf(account) !== uid) return `service account UID (${uidOf(account)}) does not match claim (${uid})`;
    const references: [Resource, string, string][] = [
      [pods, namespace, 'pod'],
      [secrets, namespace, 'secret'],
    ];
    if (own['pod'] === undefined) references.push([nodes, '', 'node']);
    for (const [resource, home, claim] of references) {
      if (own[claim] === undefined) continue;
      const stored = find(resource, home, textOf(at(own, claim, 'name')));
      if (!stored || uidOf(stored) !== at(own, claim, 'uid')) return 'service account token has been invalidated';
    }
    return undefined;
  }

  return {
    issue(account, spec) {
      const seconds = numberOf(spec['expirationSeconds']) || 3600;
      const errors: FieldError[] = [];
      const field = 'spec.expirationSeconds';
      if (seconds < 600) errors.push(invalidValue(field, seconds, 'may not specify a duration less than 10 minutes'));
      if (seconds > 2 ** 32)
        errors.push(invalidValue(field, seconds, 'may not specify a duration larger than 2^32 seconds'));
      if (errors.length > 0) throw invalid(request, '', errors);
      const reference = spec['boundObjectRef'];
      const audiences = listOf(spec['audiences']).length > 0 ? listOf(spec['audiences']) : [issuer];
      const now = Math.floor(world.clock.now() / 1000);
      const own: JsonObject = {
        namespace: account.namespace,
        ...(reference === undefined || reference === null ? {} : boundClaims(account, objectOf(reference))),
        serviceaccount: { name: account.name, uid: uidOf(account) },
      };
      const token = signer.sign({
        aud: audiences,
        exp: now + seconds,
        iat: now,
        iss: issuer,
        jti: world.uuid(),
        'kubernetes.io': own,
        nbf: now,
        sub: `system:serviceaccount:${account.namespace}:${account.name}`,
      });
      return {
        kind: 'TokenRequest',
        apiVersion: 'authentication.k8s.io/v1',
        metadata: {
          name: account.name,
          namespace: account.namespace,
          creationTimestamp: formatTime(world.clock.now()),
        },
        spec: {
          audiences,
          expirationSeconds: seconds,
          ...(reference === undefined ? {} : { boundObjectRef: reference }),
        },
        status: { token, expirationTimestamp: formatTime((now + seconds) * 1000) },
      };
    },
    review(token, audiences) {
      const id = `${audiences.join(' ')}\n${token}`;
      const now = world.clock.now();
      const held = remembered.get(id);
      if (held && held.until > now) return held.answer;
      remembered.delete(id);
      const answer = judge(token, audiences);
      if ('user' in answer) {
        if (remembered.size > 20_000) remembered.clear();
        remembered.set(id, { until: now + rememberMs, answer });
      }
      return answer;
    },
  };
}
