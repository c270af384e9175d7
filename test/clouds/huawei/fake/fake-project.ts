import type { Http } from '../../../../common/process/http.ts';
import type { FakeAnswer, ReceivedCall } from '../../fake-http.ts';
import type { FakeBalancing } from './fake-balancing.ts';
import type { FakeServer } from './fake-server.ts';
import type { FakeKey } from './fake-signature.ts';
import type { FakeTable } from './fake-table.ts';

/** One project of Huawei Cloud, as far as Mooring needs it. */
export interface FakeProject {
  /** Every call so far. */
  readonly calls: ReceivedCall[];
  readonly keys: Map<string, FakeKey>;
  /** 32 hexadecimal digits. */
  project: string;
  readonly servers: Map<string, FakeServer>;
  readonly tables: Map<string, FakeTable>;
  readonly balancing: FakeBalancing;
  maxRoutes: number;
  /** Whether a listener that has a pool is deleted without force, which is not so in the cloud. */
  deletesUsedListeners: boolean;
  /** Token of the agency's keys, another with each; undefined: this ECS has no agency. */
  agency: { readonly lifeMs: number } | undefined;
  /** Answers a call in place of the fake; undefined leaves it to the fake. */
  fault: ((call: ReceivedCall) => FakeAnswer | undefined) | undefined;
  readonly http: Http;
  answer(call: ReceivedCall): FakeAnswer;
  addServer(name: string, more?: Partial<FakeServer>): FakeServer;
}
