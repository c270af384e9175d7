import { defaultCallTimeoutMs, type Fence, type KubeApi, type KubeCall, KubeError, type KubeVerb } from './api.ts';

const mutating: ReadonlySet<KubeVerb> = new Set(['create', 'update', 'patch', 'delete']);

/**
 * True for calls that change the cluster. Reviews (TokenReview, SubjectAccessReview) are `create` too: send those through the plain API, a standby needs them.
 */
export function isMutating(call: Pick<KubeCall, 'verb'>): boolean {
  return mutating.has(call.verb);
}

/**
 * `api` for a replica that writes only while it leads: a mutating call is sent only if more lease time is left than it may take; otherwise it throws a
 * KubeError with reason `Fenced` and nothing was sent. Timeouts stay as they are: a caller whose calls take too long for the lease is told so.
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

/** `api` whose mutating calls are sent only while `allowed` says true; otherwise they throw a KubeError with reason `Withheld` that names the reason given. */
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
