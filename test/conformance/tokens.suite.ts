import { answered, type Fact, type Kit, refused } from './kit.ts';
import { absent, like } from './like.ts';

const reviews = '/apis/authentication.k8s.io/v1/tokenreviews';
const prefix = 'authentication.kubernetes.io';

interface Claims {
  aud: string[];
  exp: number;
  iat: number;
  jti: string;
  sub: string;
  [key: string]: unknown;
}

function partOf(token: string, index: 0 | 1): Claims {
  return JSON.parse(Buffer.from(token.split('.')[index] ?? '', 'base64url').toString('utf8')) as Claims;
}

async function account(k: Kit): Promise<{ name: string; uid: string; at: string }> {
  const { name, uid } = await k.account();
  return { name, uid, at: `${k.path('serviceaccounts', name)}/token` };
}

async function tokenOf(k: Kit, at: string, spec: object): Promise<string> {
  const answer = await k.post(at, { spec });
  answered(answer, 201, { kind: 'TokenRequest' });
  return String(answer.object.status?.['token']);
}

async function review(k: Kit, token: string, audiences?: string[]) {
  const answer = await k.post(reviews, { spec: { token, ...(audiences ? { audiences } : {}) } });
  answered(answer, 201, { kind: 'TokenReview', apiVersion: 'authentication.k8s.io/v1' });
  return answer.object.status;
}

/** A Node, a Pod on it, and a token of a ServiceAccount bound to that Pod, for the audience `mooring`. */
async function bound(k: Kit, options: { nodeExists: boolean } = { nodeExists: true }) {
  const owner = await account(k);
  const node = options.nodeExists ? (await k.node()).metadata : { name: k.name('n'), uid: '' };
  const name = k.name('p');
  const pod = await k.post(k.path('pods'), {
    metadata: { name },
    spec: { nodeName: node.name, serviceAccountName: owner.name, containers: [{ name: 'c', image: 'i' }] },
  });
  answered(pod, 201);
  const remove = () => k.delete(k.path('pods', name), undefined, { query: { gracePeriodSeconds: 0 } });
  k.later(remove);
  const { uid } = pod.object.metadata;
  const token = await tokenOf(k, owner.at, {
    audiences: ['mooring'],
    boundObjectRef: { kind: 'Pod', apiVersion: 'v1', name, uid },
  });
  return { owner, node, pod: { name, uid }, token, removePod: remove };
}

/** ServiceAccount tokens and their review. */
export const tokens: Fact[] = [
  {
    id: 'J6',
    says: 'a TokenRequest gives a signed token with the claims of its account for an hour',
    async run(k) {
      const { name, uid, at } = await account(k);
      const answer = await k.post(at, { spec: {} });
      answered(answer, 201, { spec: { expirationSeconds: 3600 }, status: { expirationTimestamp: /Z$/ } });
      const token = String(answer.object.status?.['token']);
      like(partOf(token, 0), { alg: 'RS256', kid: /./ });
      const claims = partOf(token, 1);
      like(claims, {
        aud: [/./],
        iss: /^https:/,
        jti: /./,
        sub: `system:serviceaccount:${k.ns}:${name}`,
        'kubernetes.io': { namespace: k.ns, serviceaccount: { name, uid } },
      });
      like(claims.exp - claims.iat, (seconds: number) => seconds >= 3600 && seconds <= 3607);
    },
  },
  {
    id: 'J6b',
    says: 'a token is good for ten minutes at least',
    async run(k) {
      const { at } = await account(k);
      refused(await k.post(at, { spec: { expirationSeconds: 599 } }), 422, 'Invalid', {
        message: /may not specify a duration less than 10 minutes/,
      });
      refused(await k.post(`${k.path('serviceaccounts', k.name())}/token`, { spec: {} }), 404, 'NotFound');
    },
  },
  {
    id: 'J7',
    says: 'a good token is reviewed as authenticated with user, groups, credential id and audiences',
    async run(k) {
      const { name, uid, at } = await account(k);
      const token = await tokenOf(k, at, {});
      const claims = partOf(token, 1);
      like(await review(k, token), {
        authenticated: true,
        user: {
          username: claims.sub,
          uid,
          groups: ['system:serviceaccounts', `system:serviceaccounts:${k.ns}`, 'system:authenticated'],
          extra: { [`${prefix}/credential-id`]: [`JTI=${claims.jti}`] },
        },
        audiences: claims.aud,
        error: absent,
      });
      like(name, claims.sub.split(':')[3]);
    },
  },
  {
    id: 'J8',
    says: 'a bad token is reviewed as not authenticated, with a reason, in an answer that succeeds',
    async run(k) {
      const status = await review(k, 'nonsense');
      like(status, { authenticated: absent, user: {}, error: /invalid bearer token/ });
      like((await k.post(reviews, { spec: { token: '' } })).status, 400);
      const token = await tokenOf(k, (await account(k)).at, {});
      like(await review(k, `${token.slice(0, -6)}AAAAAA`), { authenticated: absent, error: /invalid bearer token/ });
    },
  },
  {
    id: 'J8b',
    // The server looks at its own cache of accounts, which lags by moments.
    says: 'a token of a deleted account is soon not authenticated any more, and unauthorized',
    async run(k) {
      const { name, at } = await account(k);
      const token = await tokenOf(k, at, {});
      answered(await k.delete(k.path('serviceaccounts', name)), 200);
      const stillGood = async () => (await review(k, token))?.['authenticated'] === true;
      for (let i = 0; i < 60 && (await stillGood()); i++) await new Promise((wake) => setTimeout(wake, 250));
      like(await review(k, token), { authenticated: absent, error: /invalid bearer token/ });
      answered(await k.get('/api/v1/nodes', { token }), 401);
    },
  },
  {
    id: 'T1',
    says: 'a token bound to a Pod names the Pod and its Node',
    async run(k) {
      const { owner, node, pod, token } = await bound(k);
      like(partOf(token, 1), {
        aud: ['mooring'],
        jti: /./,
        sub: `system:serviceaccount:${k.ns}:${owner.name}`,
        'kubernetes.io': {
          namespace: k.ns,
          serviceaccount: { name: owner.name, uid: owner.uid },
          pod,
          node: { name: node.name, uid: node.uid },
        },
      });
    },
  },
  {
    id: 'T1b',
    says: 'a token is not bound to a Pod that is not there or has another uid',
    async run(k) {
      const { owner, pod } = await bound(k);
      const request = (ref: { name: string; uid: string }) =>
        k.post(owner.at, { spec: { boundObjectRef: { kind: 'Pod', apiVersion: 'v1', ...ref } } });
      answered(await request({ name: k.name(), uid: pod.uid }), 404);
      answered(await request({ name: pod.name, uid: 'other' }), 409);
    },
  },
  {
    id: 'T2',
    says: 'its review has one value each of credential id, node and pod',
    async run(k) {
      const { node, pod, token } = await bound(k);
      const { jti } = partOf(token, 1);
      like(await review(k, token, ['mooring']), {
        authenticated: true,
        audiences: ['mooring'],
        user: {
          extra: {
            [`${prefix}/credential-id`]: [`JTI=${jti}`],
            [`${prefix}/node-name`]: [node.name],
            [`${prefix}/node-uid`]: [node.uid],
            [`${prefix}/pod-name`]: [pod.name],
            [`${prefix}/pod-uid`]: [pod.uid],
          },
        },
      });
    },
  },
  {
    id: 'T3',
    says: 'for another audience it is not authenticated, and it opens nothing at the API itself',
    async run(k) {
      const { token } = await bound(k);
      const status = await review(k, token, ['other']);
      like(status, { authenticated: absent, error: /mooring/ });
      like(status, { error: /other/ });
      like(await review(k, token), { authenticated: absent });
      answered(await k.get('/api/v1/nodes', { token }), 401);
    },
  },
  {
    id: 'T4',
    says: 'bound to a Pod of a Node that does not exist, it has the name of the Node and no uid',
    async run(k) {
      const { node, token } = await bound(k, { nodeExists: false });
      like(await review(k, token, ['mooring']), {
        authenticated: true,
        user: { extra: { [`${prefix}/node-name`]: [node.name], [`${prefix}/node-uid`]: absent } },
      });
    },
  },
  {
    id: 'T5',
    says: 'once its Pod is deleted it ceases to be authenticated within the time of a cache',
    async run(k) {
      const { token, removePod } = await bound(k);
      answered(await removePod(), 200);
      const stillGood = async () => (await review(k, token, ['mooring']))?.['authenticated'] === true;
      for (let i = 0; i < 60 && (await stillGood()); i++) await new Promise((wake) => setTimeout(wake, 250));
      like(await stillGood(), false);
    },
  },
  {
    id: 'T6',
    says: 'when its Node is created again it stays authenticated with the uid of the old one',
    async run(k) {
      const { node, token } = await bound(k);
      answered(await k.delete(`/api/v1/nodes/${node.name}`), 200);
      answered(await k.post('/api/v1/nodes', { metadata: { name: node.name } }), 201);
      like(await review(k, token, ['mooring']), {
        authenticated: true,
        user: { extra: { [`${prefix}/node-name`]: [node.name], [`${prefix}/node-uid`]: [node.uid] } },
      });
    },
  },
];
