import type { Clock } from '../../../common/process/clock.ts';
import type { Report } from '../../../common/report.ts';
import { names } from '../../../common/well-known.ts';
import type { KubeApi } from '../../../controller/kube/api.ts';
import type { Leadership } from '../../../controller/kube/leadership.ts';
import type { Attestor } from '../../../controller/reports/attestation/attestor.ts';
import { createLiveNodeUid, type LiveNodeUidParts } from '../../../controller/reports/live-node-uid.ts';
import { rateLimitStore } from '../../../controller/reports/rate-limit-store.ts';
import type { ReadReport } from '../../../controller/reports/read-report.ts';
import { type RefusalCode, ReportRefusal, unproved } from '../../../controller/reports/refusal.ts';
import { leaderLocation, parseBody, refusalOf } from '../../../controller/reports/request.ts';
import type { Sender } from '../../../controller/reports/sender.ts';
import { createIdentity } from '../../../controller/reports/sender-identity.ts';
import type { ReportStore } from '../../../controller/reports/store.ts';

/** A request to the report API as it comes out of its connection. */
export interface ReportRequest {
  readonly token: string;
  readonly body: Buffer;
  readonly address: string;
}

export type Taken =
  | { readonly outcome: 'kept' | 'stale'; readonly sender: Sender; readonly report: Report }
  /** The leader is there. */
  | { readonly outcome: 'NotLeader'; readonly location: string }
  | { readonly outcome: Exclude<RefusalCode, 'NotLeader'> };

export interface ReportIntake {
  /** From the token to the store. Never fails: what goes wrong is a refusal. */
  take(request: ReportRequest): Promise<Taken>;
}

export interface IntakeParts {
  readonly api: KubeApi;
  readonly clock: Clock;
  /** The cache of Nodes. */
  readonly nodes: LiveNodeUidParts['nodes'];
  readonly store: ReportStore;
  /** As in the report API. */
  readonly attestor?: Pick<Attestor, 'judge'> | undefined;
  readonly leadership: Pick<Leadership, 'leading' | 'leaderReportUrl'>;
  readonly read: (value: unknown) => ReadReport;
  /** Default as in the report API. */
  readonly limits?: { readonly perNode: number; readonly perAddress: number };
}

/** Of `@fastify/rate-limit`, whose type knows of no `read`. */
interface Counter {
  incr(key: string, answer: (error: Error | null, result?: { current: number }) => void, windowMs: number): void;
  read: Counter['incr'];
}

const windowMs = 60_000;
const defaultLimits = { perNode: 20, perAddress: 300 };
/** Size of caches that start empty with every process; the fleet is small. */
const kept = 500;

/** How the report API handles a request after HTTP and TLS: the same parts in the same order as behind its socket. */
export function createReportIntake(parts: IntakeParts): ReportIntake {
  const { api, clock, nodes, store, leadership, read, attestor, limits = defaultLimits } = parts;
  const identity = createIdentity({
    api,
    clock,
    audience: names.audience,
    serviceAccount: { namespace: names.namespace, name: names.agent },
    liveNodeUid: createLiveNodeUid({ api, nodes }),
    cacheSize: kept,
  });
  const Limit = rateLimitStore(clock, kept);
  const [nodeLimit, addressLimit] = [new Limit({}), new Limit({})] as unknown as readonly [Counter, Counter];

  /** How many this minute. @param how `read` counts nothing */
  function counted(limit: Counter, key: string, how: 'incr' | 'read' = 'incr'): number {
    let current = 0;
    const answer = (_error: Error | null, result?: { current: number }) => {
      current = result?.current ?? 0;
    };
    limit[how](key, answer, windowMs);
    return current;
  }

  async function prove({ token, address }: ReportRequest): Promise<Sender> {
    if (counted(addressLimit, address, 'read') >= limits.perAddress && !identity.knows(token))
      throw new ReportRefusal('AddressRateLimited');
    try {
      return await identity.identify(token);
    } catch (error) {
      if (error instanceof ReportRefusal && unproved.has(error.code)) counted(addressLimit, address);
      throw error;
    }
  }

  return {
    async take(request) {
      try {
        if (!leadership.leading)
          return { outcome: 'NotLeader', location: leaderLocation(leadership.leaderReportUrl()) };
        const sender = await prove(request);
        if (counted(nodeLimit, sender.nodeUid) > limits.perNode) throw new ReportRefusal('NodeRateLimited');
        const { report } = read(parseBody(request.body));
        if (report === undefined) throw new ReportRefusal('InvalidReport');
        const judgement = await attestor?.judge(sender, report);
        return { outcome: store.put(sender, report, judgement), sender, report };
      } catch (error) {
        const { code } = refusalOf(error);
        if (code === 'InternalError' || code === 'NotLeader') throw error;
        return { outcome: code };
      }
    },
  };
}
