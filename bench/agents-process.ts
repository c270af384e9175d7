import { deliver } from '../agent/deliver.ts';
import { agentMetrics } from '../agent/metrics.ts';
import { composeReport } from '../agent/report.ts';
import { systemClock } from '../common/process/clock.ts';
import { createHttp, type Http, HttpFailure } from '../common/process/http.ts';
import { silentLog } from '../common/process/log.ts';
import { createMetricRegistry } from '../common/process/metrics.ts';
import { version } from '../common/version.ts';
import { names } from '../common/well-known.ts';
import type { PreparedAgent } from './fleet.ts';

/** What the bench tells a process of agents. */
export type ToAgents =
  | {
      readonly do: 'start';
      readonly agents: readonly PreparedAgent[];
      /** Each agent has an address of its own, as nodes have: 127.x.y.z by its number. */
      readonly firstNumber: number;
      readonly ca: string;
      readonly urls: readonly string[];
    }
  /** Resets the count. */
  | { readonly do: 'mark' }
  /** Gives every agent news. */
  | { readonly do: 'wake' }
  | { readonly do: 'tell' };

/** What was seen since the last mark. */
export interface AgentsSeen {
  /** Of each agent heard: milliseconds from the mark to its first accepted report. */
  readonly firstMs: readonly number[];
  /** How often each answer, or lack of one, was met: the status, or the kind of failure. */
  readonly outcomes: Readonly<Record<string, number>>;
}

const clock = systemClock();
const metrics = createMetricRegistry().define(agentMetrics);
const stop = new AbortController();
const wakes: (() => void)[] = [];
const first = new Map<string, number>();
const outcomes = new Map<string, number>();
let markedAt = clock.monotonic();

function count(outcome: string): void {
  outcomes.set(outcome, (outcomes.get(outcome) ?? 0) + 1);
}

/** The agent's own delivery over connections of its own; only files and the metadata service are left out. */
function start({ id, instance, token }: PreparedAgent, address: string, ca: string, urls: readonly string[]): void {
  const { http, close } = createHttp({ clock, tls: { ca, servername: names.serverName, localAddress: address } });
  const counted: Http = async (request) => {
    try {
      const answer = await http(request);
      count(String(answer.status));
      if (answer.status === 200 && !first.has(id)) first.set(id, clock.monotonic() - markedAt);
      return answer;
    } catch (error) {
      count(error instanceof HttpFailure ? error.kind : 'failed');
      throw error;
    }
  };
  let sequence = 0;
  const deliverer = deliver(
    {
      access: { current: async () => ({ ok: true, http: counted, token, urls }), close },
      clock,
      random: Math.random,
      log: silentLog,
      metrics,
      heartbeatMs: 60_000,
      compose(leaving) {
        sequence += 1;
        const observation = { instance, notices: [], metadata: { ok: true, ageSeconds: 0, failures: 0 } };
        const moment = { sequence, nowMs: clock.now(), leaving };
        return JSON.stringify(composeReport({ agentVersion: version, agentId: id }, observation, moment));
      },
    },
    stop.signal,
  );
  wakes.push(deliverer.wake);
}

function addressOf(number: number): string {
  return `127.${1 + (number >> 16)}.${(number >> 8) & 255}.${number & 255}`;
}

process.on('message', (message: ToAgents) => {
  if (message.do === 'start') {
    message.agents.forEach((agent, at) => {
      start(agent, addressOf(message.firstNumber + at), message.ca, message.urls);
    });
  }
  if (message.do === 'mark') {
    markedAt = clock.monotonic();
    first.clear();
    outcomes.clear();
  }
  if (message.do === 'wake') for (const wake of wakes) wake();
  const seen: AgentsSeen = { firstMs: [...first.values()], outcomes: Object.fromEntries(outcomes) };
  process.send?.(seen);
});
process.once('disconnect', () => process.exit(0));
