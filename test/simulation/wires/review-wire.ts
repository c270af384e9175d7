import type { ApiAnswer } from '../../kit/kube-api/api/answer.ts';
import { isObject, type JsonObject, parseJson } from '../../kit/kube-api/json.ts';
import { type ReviewFault, reviewFaults } from '../engine/faults.ts';
import type { Wire } from './wire.ts';

const extraPrefix = 'authentication.kubernetes.io/';
const kinds: ReadonlySet<string> = new Set(reviewFaults);

export function isReviewFault(fault: string | undefined): fault is ReviewFault {
  return fault !== undefined && kinds.has(fault);
}

/** A token review of a server that names a wrong owner; unchanged where the server rejected the token. */
export function misjudged(fault: ReviewFault, answer: ApiAnswer, { otherNode }: Pick<Wire, 'otherNode'>): ApiAnswer {
  const review = parseJson(answer.body);
  const status = isObject(review) && isObject(review['status']) ? review['status'] : {};
  const user = isObject(status['user']) ? status['user'] : {};
  const extra = isObject(user['extra']) ? user['extra'] : {};
  const nodeName = extra[`${extraPrefix}node-name`];
  if (status['authenticated'] !== true || !Array.isArray(nodeName)) return answer;
  const as = (changes: JsonObject) => ({ ...status, user: { ...user, ...changes } });
  const withExtra = (changes: JsonObject) => as({ extra: { ...extra, ...changes } });

  function wrong(): JsonObject {
    switch (fault) {
      case 'not authenticated':
        return { user: {}, error: 'invalid bearer token' };
      case 'another node': {
        const other = otherNode(String(nodeName));
        if (other === undefined) return status;
        return withExtra({ [`${extraPrefix}node-name`]: [other.name], [`${extraPrefix}node-uid`]: [other.uid] });
      }
      case 'node of before':
        return withExtra({ [`${extraPrefix}node-uid`]: ['00000000-0000-4000-8000-000000000000'] });
      case 'no node uid': {
        const { [`${extraPrefix}node-uid`]: _uid, ...others } = extra;
        return as({ extra: others });
      }
      case 'no audiences': {
        const { audiences: _audiences, ...others } = status;
        return others;
      }
      case 'another account':
        return as({ username: 'system:serviceaccount:default:mooring-agent' });
    }
  }
  return { ...answer, body: JSON.stringify({ ...(review as JsonObject), status: wrong() }) };
}
