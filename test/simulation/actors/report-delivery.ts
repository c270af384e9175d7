import type { Report } from '../../../common/report.ts';
import type { Sender } from '../../../controller/reports/sender.ts';
import type { Dice } from '../engine/dice.ts';
import type { Process } from '../engine/process.ts';
import type { ReportRequest } from '../engine/report-intake.ts';
import type { Observer } from '../judge/observer.ts';
import type { Machine } from './machine.ts';
import type { Machines } from './machines.ts';
import type { Truth } from './truth.ts';

/** A report on its way, with what is shown for it. */
export interface Letter {
  readonly token: string;
  readonly text: string;
}

export interface ReportDelivery {
  /** Sends it after `delayMs`, whatever has happened meanwhile. @param fault the known defect of it */
  send(machine: Machine, letter: Letter, fault: string | undefined, delayMs: number): void;
}

/** All stand behind one, as agents do behind a gateway. */
const address = '192.0.2.200';

/** Brings reports to whichever replica leads, or to another one, which says where the leader is. */
export function createReportDelivery(
  truth: Truth,
  machines: Machines,
  parts: {
    readonly dice: Dice;
    readonly observers: readonly Observer[];
    readonly trace: ((line: string) => void) | undefined;
    leader(): Process | undefined;
    processes(): readonly Process[];
  },
): ReportDelivery {
  const { clock } = truth;
  const { dice, observers, trace } = parts;

  interface Errand {
    readonly machine: Machine;
    readonly letter: Letter;
    readonly fault: string | undefined;
  }

  function knock(process: Process, errand: Errand, hops: number): void {
    const { machine, letter, fault } = errand;
    const request: ReportRequest = { token: letter.token, body: Buffer.from(letter.text), address };
    process.wire.clock.deliver(dice.between(1, 20), async () => {
      const taken = await process.reports.take(request);
      trace?.(
        `${process.identity}  report of ${machine.name}${fault === undefined ? '' : `  !! ${fault}`}: ` +
          `${taken.outcome} ${letter.text}`,
      );
      if (taken.outcome === 'NotLeader' && hops > 0) {
        const leader = parts.processes().find(({ reportUrl }) => taken.location.startsWith(reportUrl));
        if (leader !== undefined) knock(leader, errand, hops - 1);
      }
      if (taken.outcome !== 'kept' && taken.outcome !== 'stale') return;
      const { sender, report } = taken;
      // Whom an API server that is wrong takes for another one is not heard; nor is that other one.
      if (sender.nodeName !== machine.name) machines.named(sender.nodeName).heardAt = Number.NEGATIVE_INFINITY;
      else if (fault !== 'forged') machine.heardAt = clock.monotonic();
      if (taken.outcome === 'kept') tell(process, letter.token, sender, report);
    });
  }

  function tell({ wire }: Process, token: string, { nodeName, nodeUid }: Sender, report: Report): void {
    const taken = {
      at: clock.monotonic(),
      process: wire.process,
      localMs: wire.clock.monotonic(),
      wallMs: wire.clock.now(),
      token,
      nodeName,
      nodeUid,
      incarnation: report.instance?.incarnation,
      addresses: report.instance?.addresses.map((each) => each.address),
      announcesEnd: report.notices?.some(({ kind }) => kind === 'preemption' || kind === 'termination') === true,
    };
    for (const observer of observers) observer.report?.(taken);
  }

  return {
    send(machine, letter, fault, delayMs) {
      const arrive = () => {
        // Whom an agent takes for the leader may be one no more.
        const all = parts.processes();
        const process = fault === 'to a standby' && all.length > 0 ? dice.pick(all) : parts.leader();
        if (process !== undefined) knock(process, { machine, letter, fault }, 1);
      };
      if (delayMs > 0) clock.setTimer(delayMs, arrive);
      else arrive();
    },
  };
}
