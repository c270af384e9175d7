import type { Break, ProcessRef } from './observer.ts';
import type { Views } from './views.ts';

/** How long after a pause something may still happen. */
export const pauseMs = 2000;

/** @param what who did what to the cloud, in words */
export type JudgeAct = (process: ProcessRef, sentAt: number, what: string) => void;

/** What holds for every change of the cloud, whatever it is for: promises 6 and 14. */
export function createActJudge(views: Views, holder: () => string, breaks: Break): JudgeAct {
  return (process, sentAt, what) => {
    const held = holder();
    if (held !== process.identity) breaks(6, `${what} while the Lease was ${held === '' ? 'free' : `held by ${held}`}`);
    const since = views.of(process).allPausedSince;
    if (since !== undefined && sentAt > since + pauseMs)
      breaks(14, `${what} ${Math.round(sentAt - since)} ms after it knew that everything is paused`);
  };
}
