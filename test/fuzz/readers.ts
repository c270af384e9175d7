import { names } from '../../common/well-known.ts';
import { issuer } from '../kit/kube-api/auth/service-account-token.ts';
import { type Cluster, otherAccount, scrapeAccount } from './cluster.ts';
import type { Dice } from './dice.ts';
import { canary } from './evil-values.ts';
import type { Lane } from './lane.ts';

/** A client that asks for what few may read, and the status that each path must answer it. */
export interface Reader {
  /** Undefined = no header at all. */
  readonly authorization: Buffer | undefined;
  readonly metrics: 200 | 401 | 403;
  readonly configz: 200 | 401 | 403;
}

export interface Readers {
  pick(dice: Dice, lane: Lane): Reader;
}

/** Few bad tokens, so that the verdicts kept of them are all there before memory is judged. */
const badTokens = 40;

export function createReaders(cluster: Cluster): Readers {
  const bearer = (token: string, metrics: 200 | 401 | 403, configz = metrics): Reader => ({
    authorization: Buffer.from(`Bearer ${token}`),
    metrics,
    configz,
  });
  const anonymous = (authorization: string | undefined): Reader => ({
    authorization: authorization === undefined ? undefined : Buffer.from(authorization),
    metrics: 403,
    configz: 403,
  });
  const token = (account: string) => cluster.issue({ account, audience: issuer });
  const known: readonly Reader[] = [
    bearer(cluster.server.adminToken, 200),
    bearer(token(scrapeAccount), 200, 403),
    bearer(token(names.agent), 403),
    bearer(token(otherAccount), 403),
    bearer(cluster.issueLongAgo({ account: scrapeAccount, audience: issuer }), 401),
    bearer(cluster.issue({ account: scrapeAccount, audience: 'another' }), 401),
  ];

  return {
    pick(dice, lane) {
      // The one whose token stays: kept verdicts must not grow in number.
      const ofAgent = lane.members[0]?.token ?? '';
      return dice.weighed<() => Reader>([
        [40, () => dice.pick(known)],
        [20, () => anonymous(undefined)],
        // For our audience alone, which is not the API server's.
        [10, () => bearer(ofAgent, 401)],
        [20, () => bearer(`${canary}.${dice.below(badTokens)}.x`, 401)],
        [
          10,
          () =>
            anonymous(dice.pick(['', 'Bearer', `Bearer ${ofAgent} x`, `Basic ${canary}`, ofAgent, `Token ${ofAgent}`])),
        ],
      ])();
    },
  };
}
