import type { Clock } from '../../../common/process/clock.ts';
import { errorOfAnswer } from '../../../controller/kube/answer.ts';
import {
  type KubeApi,
  type KubeCall,
  KubeError,
  type PatchType,
  type WatchCall,
} from '../../../controller/kube/api.ts';
import { isMutating } from '../../../controller/kube/fence.ts';
import type { ApiAnswer, WatchAnswer } from '../../kit/kube-api/api/answer.ts';
import { admin } from '../../kit/kube-api/auth/user.ts';
import type { KubeApiCore } from '../../kit/kube-api/kube-api-core.ts';

/** A KubeApi that calls the embedded API without sockets: nothing depends on the machine's time or load. */
export interface InProcessKube extends KubeApi {
  /** Every call, in order. */
  readonly calls: KubeCall[];
  /** Those that change the cluster, as `verb path`. */
  writes(): string[];
  forgetCalls(): void;
  /** Runs before a call reaches the server, so that something else may happen in between. */
  intercept: ((call: KubeCall) => Promise<void> | void) | undefined;
  /** Holds back the events of every watch; `release` lets them through, in order. */
  hold(): void;
  release(): void;
}

const mediaTypes: Readonly<Record<PatchType, string>> = {
  merge: 'application/merge-patch+json',
  'strategic-merge': 'application/strategic-merge-patch+json',
  json: 'application/json-patch+json',
};
const methods = { get: 'GET', list: 'GET', create: 'POST', update: 'PUT', patch: 'PATCH', delete: 'DELETE' } as const;

export function inProcessKube(
  core: KubeApiCore,
  clock: Clock,
  onCall: (call: KubeCall) => void = () => {},
): InProcessKube {
  const calls: KubeCall[] = [];
  let held: (() => void)[] | undefined;

  function later(ms: number): Promise<void> {
    return new Promise((resolve) => clock.setTimer(ms, resolve));
  }

  function ask(method: string, path: string, query: Readonly<Record<string, string>>, call?: KubeCall) {
    const contentType = call?.verb === 'patch' ? mediaTypes[call.patch ?? 'merge'] : 'application/json';
    const accept =
      call?.answer === 'metadata'
        ? 'application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1,application/json'
        : 'application/json';
    return core.handle({
      method,
      path,
      query: new URLSearchParams(query),
      headers: {
        accept,
        'user-agent': 'mooring-controller',
        ...(call?.body === undefined ? {} : { 'content-type': contentType }),
      },
      body: call?.body === undefined ? undefined : JSON.stringify(call.body),
      user: admin,
    });
  }

  function failure(what: string, answer: ApiAnswer): KubeError {
    if (answer.cut) return new KubeError({ status: 0, reason: 'Unreachable', message: `${what}: socket hang up` });
    return errorOfAnswer(
      what,
      { status: answer.status, headers: answer.headers, body: Buffer.from(answer.body) },
      clock.now(),
    );
  }

  function whole(result: ApiAnswer | WatchAnswer): ApiAnswer {
    if (result.watch !== undefined) throw new Error('a watch where none was asked for');
    return result;
  }

  const kube: InProcessKube = {
    calls,
    intercept: undefined,
    writes: () => calls.filter(isMutating).map(({ verb, path }) => `${verb} ${path}`),
    forgetCalls: () => {
      calls.length = 0;
    },
    hold() {
      held ??= [];
    },
    release() {
      const waiting = held ?? [];
      held = undefined;
      for (const deliver of waiting) deliver();
    },
    async call<T>(call: KubeCall): Promise<T> {
      await kube.intercept?.(call);
      calls.push(call);
      onCall(call);
      const answer = whole(ask(methods[call.verb], decodeURI(call.path), call.query ?? {}, call));
      if (answer.delayMs !== undefined) await later(answer.delayMs);
      if (answer.cut || answer.status < 200 || answer.status > 299) throw failure(`${call.verb} ${call.path}`, answer);
      // In whole seconds, as HTTP says it.
      call.onDate?.(Math.floor(clock.now() / 1000) * 1000);
      return JSON.parse(answer.body) as T;
    },
    watch(call: WatchCall): Promise<void> {
      return new Promise((resolve, reject) => {
        const result = ask('GET', call.path, { ...call.query, watch: '1' });
        if (result.watch === undefined) {
          reject(failure(`watch ${call.path}`, result));
          return;
        }
        const stream = result.watch;
        let over = false;
        const finish = (act: () => void) => {
          if (over) return;
          over = true;
          call.signal.removeEventListener('abort', aborted);
          stream.close();
          act();
        };
        const aborted = () =>
          finish(() => reject(new KubeError({ status: 0, reason: 'Aborted', message: 'the watch was given up' })));
        // A microtask later, since an answer never arrives before the write that caused it has returned to the server's
        // loop.
        const deliver = (act: () => void) => (held ? held.push(act) : queueMicrotask(act));
        call.signal.addEventListener('abort', aborted, { once: true });
        stream.start({
          line: (line) =>
            deliver(() => {
              if (over) return;
              try {
                call.onEvent(JSON.parse(line.text));
              } catch (error) {
                finish(() => reject(error));
              }
            }),
          end: (cut) =>
            deliver(() =>
              finish(() =>
                cut
                  ? reject(new KubeError({ status: 0, reason: 'Unreachable', message: 'the watch was cut' }))
                  : resolve(),
              ),
            ),
        });
        if (call.signal.aborted) aborted();
      });
    },
  };
  return kube;
}
