import type { Report } from '../../../common/report.ts';
import type { Dice } from '../engine/dice.ts';
import type { Faults } from '../engine/faults.ts';
import type { AgentTokens } from './agent-tokens.ts';
import type { Machine } from './machine.ts';
import { honestReport, lyingReport } from './machine-report.ts';
import type { Machines } from './machines.ts';
import type { Letter, ReportDelivery } from './report-delivery.ts';
import type { Truth } from './truth.ts';

export interface Agents {
  /** The agent takes leave, as on SIGTERM when its machine shuts down in order. */
  leave(machine: Machine): void;
  stop(): void;
}

const everyMs = 20_000;
/** More than a node may send in a minute. */
const tooMany = 30;
/** More than an address that proves nothing may. */
const flood = 320;
const tooSoonMs = 50;
const floodMs = 10;

/** Agents that report, and among them liars; and strangers who show what tokens they can get. */
export function createAgents(
  truth: Truth,
  machines: Machines,
  tokens: AgentTokens,
  { faults, delivery, dice }: { readonly faults: Faults; readonly delivery: ReportDelivery; readonly dice: Dice },
): Agents {
  const { clock } = truth;
  let stopped = false;

  function tick(): void {
    if (stopped) return;
    clock.setTimer(everyMs, tick);
    for (const machine of machines.all) {
      if (machine.agentless || machine.agentSilent || !machine.kubeletUp || !machines.running(machine)) continue;
      clock.setTimer(dice.between(0, everyMs), () => {
        if (machine.kubeletUp && machines.running(machine)) send(machine, {});
      });
    }
  }
  clock.setTimer(5000, tick);

  function send(machine: Machine, changes: Partial<Report>): void {
    const fault = faults.report();
    const token = tokens.of(machine.name);
    if (fault === 'lost' || token === undefined) return;
    if (fault === 'silence') {
      machine.agentSilent = true;
      clock.setTimer(dice.between(30_000, 120_000), () => {
        machine.agentSilent = false;
      });
      return;
    }
    const strange = strangers(fault, machine);
    for (const [shown, times] of strange) {
      const letter = { token: shown, text: lie(machine) };
      for (let count = 0; count < times; count += 1) delivery.send(machine, letter, fault, count * floodMs);
    }
    const say = (letter: Letter, delayMs = 0) =>
      delivery.send(machine, letter, strange.length > 0 ? undefined : fault, delayMs);
    const report = fault === 'forged' ? forge(machine) : honest(machine, changes);
    if (report === undefined) return;
    const letter = { token: fault === 'no token' ? '' : token, text: written(report, fault) };
    say(letter, fault === 'late' ? dice.between(2000, 40_000) : 0);
    if (fault === 'duplicate') say(letter, dice.between(10, 5000));
    for (let count = 1; fault === 'too many' && count < tooMany; count += 1) {
      const next = honest(machine, changes);
      say({ token, text: JSON.stringify(next) }, count * tooSoonMs);
    }
  }

  /** What strangers show, and how often, besides what the agent itself says. */
  function strangers(fault: string | undefined, { name }: Machine): [token: string, times: number][] {
    const of = (token: string | undefined, times = 1): [string, number][] =>
      token === undefined ? [] : [[token, times]];
    switch (fault) {
      case 'forged token':
        return of(tokens.forged(dice.pick(machines.all).name));
      case 'flood of forged tokens':
        return of(tokens.forged(name), flood);
      case 'token of another account':
        return of(tokens.ofAnotherAccount(name));
      case 'token for another audience':
        return of(tokens.forAnotherAudience(name));
      default:
        return [];
    }
  }

  function written(report: Report, fault: string | undefined): string {
    const text = JSON.stringify(report);
    if (fault === 'cut') return text.slice(0, dice.whole(0, text.length - 1));
    if (fault !== 'another shape') return text;
    const wrong = dice.pick([{ sequence: '1' }, { instance: { ...report.instance, id: 7 } }, { x: 1 }]);
    return JSON.stringify({ ...report, ...wrong });
  }

  function honest(machine: Machine, changes: Partial<Report>): Report | undefined {
    const report = honestReport(truth, machine);
    return report && { ...report, ...changes };
  }

  /** A node that was broken into: it says that it is another one, or that that one is about to end. */
  function forge(machine: Machine): Report | undefined {
    const victim = dice.pick(machines.all);
    if (victim === machine || machine.nodeUid === undefined) return undefined;
    const report = lyingReport(truth, machine, victim, dice.chance(0.5));
    if (report !== undefined) truth.liars.add(machine.nodeUid);
    return report;
  }

  /** Of one who has no Node here. */
  function lie(machine: Machine): string {
    const stranger = { ...machine, agent: { ...machine.agent, id: 'stranger' } };
    return JSON.stringify(lyingReport(truth, stranger, dice.pick(machines.all), dice.chance(0.5)) ?? {});
  }

  return {
    leave(machine) {
      if (!machine.agentless && !machine.agentSilent && machine.kubeletUp) send(machine, { leaving: true });
    },
    stop() {
      stopped = true;
    },
  };
}
