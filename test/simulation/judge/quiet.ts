import type { Break, Observer } from './observer.ts';

/** Promise 4: while nothing changes, a new leader changes nothing. */
export interface Quiet extends Observer {
  /**
   * From now on every write is one too many. @param options.deadMembers a Node without VM is kept: a new leader learns
   * again that no load balancer accepts it
   */
  begin(options: { readonly deadMembers: boolean }): void;
}

export function judgeQuiet(breaks: Break): Quiet {
  let begun = false;
  let lenient = false;
  return {
    begin({ deadMembers }) {
      begun = true;
      lenient = deadMembers;
    },
    kubeEffect({ mutating, status, resource, process, call, before, after }) {
      if (!begun || !mutating || status > 299 || resource === 'leases') return;
      // They may repeat what an earlier leader said: nothing of it stands on the object.
      if (resource === 'events' || (lenient && resource.startsWith('services'))) return;
      // The text of the last error may change.
      if (substance(before) === substance(after)) return;
      breaks(
        4,
        `${process.identity} did ${call.verb} ${call.path} ${JSON.stringify(call.body)} though nothing had changed`,
      );
    },
    cloudEffect({ mutating, status, process, operation }) {
      // What is refused each time that it is tried is tried by a new leader too.
      if (begun && mutating && status >= 200 && status < 300 && !(lenient && operation.endsWith('/members')))
        breaks(4, `${process.identity} did ${operation} though nothing had changed`);
    },
  };
}

/** An object without its version, its times and the words of its conditions. */
function substance(object: unknown): string | undefined {
  return JSON.stringify(object, (key, value) =>
    /^(resourceVersion|managedFields|message|last.*Time)$/.test(key) ? undefined : value,
  );
}
