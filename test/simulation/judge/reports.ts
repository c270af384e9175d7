import { names } from '../../../common/well-known.ts';
import type { Break, Observer, ReportTaken } from './observer.ts';

/** How long the API server's word about a token may stand. */
const wordMs = 600_000;
/** From a review to the report being kept: the Node may be asked for in between. */
const askingMs = 45_000;
/** By two windows of a minute that meet. */
const mostInAMinute = 40;
const username = `system:serviceaccount:${names.namespace}:${names.agent}`;

interface Word {
  readonly localMs: number;
  readonly nodeName: string;
  readonly nodeUid: string;
}

/**
 * Promise 7: a report counts for its sender alone. Written from what each process was told: by the API server about the
 * token, and about the Node that the token names, which must be the current one.
 */
export function judgeReports(breaks: Break): Observer {
  /** By process and token. */
  const words = new Map<string, Word>();
  /**
   * By process and name: the Node's uid of the last watch event, and those of later lists and answers, which other
   * parts of the process may have read.
   */
  const nodes = new Map<string, Set<string>>();
  const kept = new Map<string, number[]>();

  function nodeKnown(identity: string, name: string) {
    const key = `${identity} ${name}`;
    const known = nodes.get(key) ?? new Set<string>();
    nodes.set(key, known);
    return known;
  }

  function problem({ process, token, nodeName, nodeUid, localMs, wallMs }: ReportTaken): string | undefined {
    const word = words.get(`${process.identity} ${token}`);
    if (word === undefined) return 'though the API server never vouched for its token';
    if (word.nodeName !== nodeName || word.nodeUid !== nodeUid)
      return `though its token is of ${word.nodeName} (${word.nodeUid})`;
    const age = localMs - word.localMs;
    if (age > wordMs + askingMs) return `${Math.round(age / 1000)} s after the API server vouched for its token`;
    if (age > askingMs && wallMs >= endOf(token)) return 'though its token has ended';
    const known = nodeKnown(process.identity, nodeName);
    if (known.has(nodeUid)) return undefined;
    return known.size === 0
      ? 'though there is no such Node'
      : `though the Node of that name is ${[...known].join(' or ')}`;
  }

  function tooMany({ process, nodeUid, localMs }: ReportTaken): boolean {
    const key = `${process.identity} ${nodeUid}`;
    const all = (kept.get(key) ?? []).filter((each) => each > localMs - 60_000);
    kept.set(key, [...all, localMs]);
    return all.length >= mostInAMinute;
  }

  return {
    reviewed({ process, localMs, token, answer }) {
      const word = vouched(answer);
      const key = `${process.identity} ${token}`;
      if (word === undefined) words.delete(key);
      else words.set(key, { localMs, ...word });
    },
    told({ process, resource, key, object, list }) {
      if (resource !== 'nodes') return;
      const known = nodeKnown(process.identity, key);
      const { uid } = (object as { metadata?: { uid?: string } } | undefined)?.metadata ?? {};
      if (!list) known.clear();
      if (uid !== undefined) known.add(uid);
    },
    kubeEffect({ process, call, resource, name, before }) {
      if (call.verb !== 'get' || resource !== 'nodes' || before === undefined) return;
      const { uid } = (before as { metadata: { uid: string } }).metadata;
      nodeKnown(process.identity, name).add(uid);
    },
    report(taken) {
      const why = problem(taken);
      if (why !== undefined)
        breaks(7, `${taken.process.identity} kept a report as ${taken.nodeName}'s (${taken.nodeUid}), ${why}`);
      if (tooMany(taken))
        breaks(7, `${taken.process.identity} kept more than ${mostInAMinute} reports of ${taken.nodeName} in a minute`);
    },
  };
}

/** Whose token it is, by an answer that leaves nothing open. */
function vouched(answer: unknown): Omit<Word, 'localMs'> | undefined {
  const { status } = answer as {
    status?: {
      authenticated?: boolean;
      audiences?: readonly string[];
      user?: { username?: string; extra?: Readonly<Record<string, readonly string[]>> };
    };
  };
  if (status?.authenticated !== true || status.audiences?.includes(names.audience) !== true) return undefined;
  if (status.user?.username !== username) return undefined;
  const [nodeName, nodeUid] = ['node-name', 'node-uid'].map(
    (name) => status.user?.extra?.[`authentication.kubernetes.io/${name}`]?.[0],
  );
  return nodeName === undefined || nodeUid === undefined ? undefined : { nodeName, nodeUid };
}

function endOf(token: string): number {
  const claims = JSON.parse(Buffer.from(token.split('.')[1]!, 'base64url').toString('utf8')) as { exp: number };
  return claims.exp * 1000;
}
