import { defaultCallTimeoutMs, type Fence, type KubeApi, type KubeCall, KubeError, type KubeVerb } from './api.ts';

const mutating: ReadonlySet<KubeVerb> = new Set(['create', 'update', 'patch', 'delete']);

/**
 * True for calls that change the cluster. Reviews (TokenReview, SubjectAccessReview) are `create` calls, too: send
 * those through the plain API, because standbys need them.
 */
export function isMutating(call: Pick<KubeCall, 'verb'>): boolean {
  return mutating.has(call.verb);
}

/**
 * Wraps `api` so that only the leader writes: a mutating call is sent only if more lease time is left than the call may
 * take. Otherwise it throws a KubeError with reason `Fenced` and sends nothing. It does not shorten timeouts: a call
 * whose timeout is too long for the lease fails.
 */
export function fencedApi(api: KubeApi, fence: Fence): KubeApi {
  return guarded(api, (call) => {
    const timeoutMs = call.timeoutMs ?? defaultCallTimeoutMs;
    const leftMs = fence.timeLeftMs();
    if (leftMs > timeoutMs) return undefined;
    const why =
      leftMs > 0
        ? `the lease has ${Math.floor(leftMs)} ms left, the call may take ${timeoutMs}`
        : 'this replica does not lead';
    return { reason: 'Fenced', why };
  });
}

/**
 * Wraps `api` so that mutating calls are sent only while `allowed` returns true. Otherwise they throw a KubeError with
 * reason `Withheld` and the returned text.
 */
export function withholdingApi(api: KubeApi, gate: { allowed(call: KubeCall): true | string }): KubeApi {
  return guarded(api, (call) => {
    const answer = gate.allowed(call);
    return answer === true ? undefined : { reason: 'Withheld', why: answer };
  });
}

function guarded(api: KubeApi, refusal: (call: KubeCall) => { reason: string; why: string } | undefined): KubeApi {
  return {
    async call<T>(call: KubeCall): Promise<T> {
      const refused = isMutating(call) ? refusal(call) : undefined;
      if (refused) {
        const message = `${call.verb} ${call.path} was not sent: ${refused.why}`;
        throw new KubeError({ status: 0, reason: refused.reason, message });
      }
      return api.call<T>(call);
    },
    watch: (call) => api.watch(call),
  };
}
