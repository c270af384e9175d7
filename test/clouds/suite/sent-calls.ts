import { type Http, HttpFailure } from '../../../common/process/http.ts';

/** What goes over the wire to the cloud under test: its mutating calls are counted, and answers get lost on demand. */
export interface SentCalls {
  readonly http: Http;
  /** Mutating calls that were sent so far. */
  mutations(): number;
  /** The next mutating call but `after` has its effect, and its answer is lost. */
  loseAnswer(after: number): void;
}

/** @param mutates whether a request changes something in the cloud */
export function sentCalls(http: Http, mutates: (method: string, url: string) => boolean): SentCalls {
  let mutations = 0;
  let lost: number | undefined;
  return {
    mutations: () => mutations,
    loseAnswer(after) {
      lost = mutations + after + 1;
    },
    async http(request) {
      if (!mutates(request.method ?? 'GET', request.url)) return http(request);
      mutations += 1;
      const mine = mutations;
      const answer = await http(request);
      if (mine !== lost) return answer;
      lost = undefined;
      throw new HttpFailure('unreachable', 'socket hang up');
    },
  };
}
