import type { Http } from '../../../common/process/http.ts';
import type { KubeApi, KubeCall } from '../../../controller/kube/api.ts';
import { isMutating } from '../../../controller/kube/fence.ts';

/**
 * When a process dies: at its nth call to a cloud or write to the cluster, before it is sent, or after it took effect
 * and before its answer.
 */
export interface Death {
  readonly call: number;
  readonly moment: 'before' | 'unanswered';
}

/** One life of a process: its calls in order, until it dies; from then on nothing it asks is ever sent or answered. */
export interface Life {
  readonly dead: boolean;
  /** Calls to clouds and writes to the cluster, one line each. */
  readonly calls: readonly string[];
  end(): void;
  http(inner: Http): Http;
  kube(inner: KubeApi): KubeApi;
}

const never = new Promise<never>(() => {});

export function createLife(death?: Death): Life {
  const calls: string[] = [];
  let dead = false;

  async function live<T>(what: string | undefined, run: () => Promise<T>): Promise<T> {
    if (dead) return never;
    if (what === undefined) {
      const answer = await run();
      return dead ? never : answer;
    }
    calls.push(what);
    const dies = death?.call === calls.length;
    if (dies && death.moment === 'before') {
      dead = true;
      return never;
    }
    if (dies) dead = true;
    try {
      const answer = await run();
      return dead ? await never : answer;
    } catch (error) {
      if (dead) return never;
      throw error;
    }
  }

  return {
    get dead() {
      return dead;
    },
    calls,
    end() {
      dead = true;
    },
    http: (inner) => (request) =>
      live(`cloud ${request.method ?? 'GET'} ${new URL(request.url).pathname}`, () => inner(request)),
    kube: (inner) => ({
      call: <T>(call: KubeCall) =>
        live(isMutating(call) ? `kube ${call.verb} ${call.path}` : undefined, () => inner.call<T>(call)),
      watch: (call) => (dead ? never : inner.watch(call)),
    }),
  };
}
