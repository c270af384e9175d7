import type { Break, Observer } from './observer.ts';

/** The controller asks for nothing that the shipped manifests do not grant: promise 18. */
export function judgeRights(breaks: Break): Observer {
  return {
    kubeEffect({ process, call, status, sentAt }) {
      // A refusal that the world injects never reaches the server.
      if (status === 403) breaks(18, `${process.identity} may not ${call.verb} ${call.path} (sent at ${sentAt})`);
    },
  };
}
