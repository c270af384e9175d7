import { randomBytes } from 'node:crypto';
import type { Clock } from '../../../common/process/clock.ts';
import { type KubeApi, type KubeCall, KubeError } from '../../kube/api.ts';

export interface TokenRequest {
  readonly node: string;
  readonly namespace?: string;
  readonly serviceAccount?: string;
  readonly audiences?: readonly string[];
  readonly lifetimeSeconds?: number;
  /** As for a pod-less token: neither pod nor node in it. */
  readonly unbound?: boolean;
}

interface Issued {
  readonly audiences: readonly string[];
  readonly endsAtMs: number;
  readonly username: string;
  readonly extra: Record<string, string[]>;
  readonly pod: string;
}

/**
 * The part of an API server that issues and reviews bound ServiceAccount tokens, as observed on a real one. For tests.
 */
export interface FakeTokenReviewer {
  readonly api: KubeApi;
  /** Creates a Node, or creates it again with another uid. @returns the uid */
  putNode(name: string): string;
  deleteNode(name: string): void;
  nodeUid(name: string): string | undefined;
  /** A token of a pod on that node; the node's uid is inside if the Node exists. */
  issue(request: TokenRequest): string;
  deletePodOf(token: string): void;
  /** Changes an issued token's extras, as a broken reviewer might. */
  tamper(token: string, change: (extra: Record<string, string[]>) => void): void;
  /** How TokenReviews fail from now on; undefined = not at all. */
  outage: KubeError | undefined;
  /** Answers without `status.audiences`, as a reviewer does that knows none. */
  audienceUnaware: boolean;
  /** Awaited by every review. */
  hold: Promise<void>;
  readonly reviews: number;
  readonly mostAtOnce: number;
}

export function fakeTokenReviewer(clock: Clock): FakeTokenReviewer {
  const nodes = new Map<string, string>();
  const issued = new Map<string, Issued>();
  const livePods = new Set<string>();
  let counter = 0;
  let reviews = 0;
  let atOnce = 0;
  let mostAtOnce = 0;

  function id(kind: string): string {
    counter += 1;
    return `${kind}-${counter}`;
  }

  function review(token: string, desired: readonly string[]): unknown {
    const found = issued.get(token);
    if (!found || clock.now() >= found.endsAtMs) return { user: {}, error: 'invalid bearer token' };
    const audiences = desired.filter((one) => found.audiences.includes(one));
    if (audiences.length === 0) {
      return {
        user: {},
        error:
          `[invalid bearer token, token audiences ${JSON.stringify(found.audiences)} is invalid for the target ` +
          `audiences ${JSON.stringify(desired)}]`,
      };
    }
    if (!livePods.has(found.pod)) return { user: {}, error: 'service account token has been invalidated' };
    return {
      authenticated: true,
      user: {
        username: found.username,
        uid: 'sa-uid',
        groups: ['system:serviceaccounts', 'system:serviceaccounts:kube-system', 'system:authenticated'],
        extra: found.extra,
      },
      ...(office.audienceUnaware ? {} : { audiences }),
    };
  }

  const office: FakeTokenReviewer = {
    outage: undefined,
    audienceUnaware: false,
    hold: Promise.resolve(),
    api: {
      async call<T>(call: KubeCall): Promise<T> {
        if (call.path !== '/apis/authentication.k8s.io/v1/tokenreviews' || call.verb !== 'create') {
          throw new KubeError({ status: 404, reason: 'NotFound', message: call.path });
        }
        reviews += 1;
        atOnce += 1;
        mostAtOnce = Math.max(mostAtOnce, atOnce);
        await office.hold;
        atOnce -= 1;
        if (office.outage) throw office.outage;
        const { token, audiences = [] } = (call.body as { spec: { token: string; audiences?: string[] } }).spec;
        return { kind: 'TokenReview', status: review(token, audiences) } as T;
      },
      watch: () => Promise.reject(new Error('nothing to watch')),
    },
    putNode(name) {
      const uid = id('node');
      nodes.set(name, uid);
      return uid;
    },
    deleteNode: (name) => void nodes.delete(name),
    nodeUid: (name) => nodes.get(name),
    issue(request) {
      const { namespace = 'kube-system', serviceAccount = 'mooring-agent', audiences = ['mooring'] } = request;
      const uid = nodes.get(request.node);
      const pod = id('pod');
      const jti = id('jti');
      const exp = Math.floor(clock.now() / 1000) + (request.lifetimeSeconds ?? 3600);
      const claims = { aud: audiences, exp, jti, sub: `system:serviceaccount:${namespace}:${serviceAccount}` };
      const encode = (value: unknown) => Buffer.from(JSON.stringify(value)).toString('base64url');
      const token = `${encode({ alg: 'RS256' })}.${encode(claims)}.${randomBytes(32).toString('base64url')}`;
      const prefix = 'authentication.kubernetes.io/';
      const extra: Record<string, string[]> = { [`${prefix}credential-id`]: [`JTI=${jti}`] };
      if (!request.unbound) {
        extra[`${prefix}node-name`] = [request.node];
        if (uid !== undefined) extra[`${prefix}node-uid`] = [uid];
        extra[`${prefix}pod-name`] = [`${pod}-name`];
        extra[`${prefix}pod-uid`] = [pod];
      }
      livePods.add(pod);
      issued.set(token, { audiences, endsAtMs: exp * 1000, username: claims.sub, extra, pod });
      return token;
    },
    deletePodOf: (token) => void livePods.delete(issued.get(token)?.pod ?? ''),
    tamper(token, change) {
      const found = issued.get(token);
      if (found) change(found.extra);
    },
    get reviews() {
      return reviews;
    },
    get mostAtOnce() {
      return mostAtOnce;
    },
  };
  return office;
}
