import type { DesireInput, LoadBalancerDriver } from '../../clouds/load-balancer-driver.ts';
import type { DesiredLoadBalancer, DesiredMember } from '../../clouds/load-balancers.ts';
import type { Desire, Found } from '../../engine/resource.ts';
import type { Plan } from '../../engine/step.ts';
import { excessOf } from '../excess.ts';
import { marksOnly } from './plan-view.ts';
import type { Session } from './session.ts';

export interface LastDoneParts {
  readonly driver: LoadBalancerDriver;
  sessionOf(owner: DesiredLoadBalancer['owner']): Session;
  /** All found resources of one Service. */
  ours(session: Session): readonly Found[];
  inputOf(session: Session, desired: DesiredLoadBalancer): DesireInput;
  /** The plan for what is not desired, from what was read. Makes no call. */
  suppose(session: Session, desired: DesiredLoadBalancer): Plan;
}

/** The rest is read once without each of them, in every plan, and users write them. */
const maxAnnotations = 32;

/**
 * What a Service asked for last that could be done: it stands while all of what the Service asks for now is refused.
 * Unless its members follow the Nodes, none is left when all Nodes have been replaced.
 */
export function createLastDone({ driver, sessionOf, ours, inputOf, suppose }: LastDoneParts) {
  const choiceOf = ({ annotations, ofPods = false }: DesiredLoadBalancer) =>
    JSON.stringify([driver.nodeLabels?.(annotations) ?? [], ofPods]);
  const isRefused = ({ wants, refusals }: Desire) =>
    refusals.length > 0 && wants.every(({ leaveUnchanged }) => leaveUnchanged);
  const hasOwn = (session: Session) => ours(session).some(({ kind }) => kind === driver.main);

  /**
   * Another process did it, or this one before a restart: what the Service asks for without one of its annotations,
   * where nothing of what stands differs from that. A member that stays shows that its Nodes are reached so.
   */
  function asItStands(session: Session, now: DesiredLoadBalancer): DesiredLoadBalancer | undefined {
    const standing = new Map(driver.members(ours(session)).map((one) => [one.providerID, one.draining]));
    const staying = now.members.filter(({ providerID }) => standing.has(providerID));
    const annotations = Object.entries(now.annotations);
    if (!staying.some(({ addresses }) => addresses.length > 0)) return undefined;
    if (annotations.length > maxAnnotations || excessOf(now) !== undefined) return undefined;
    // The members of now are all Nodes, not those that it chose.
    if (driver.nodeLabels !== undefined && driver.nodeLabels(now.annotations) === undefined) return undefined;
    for (const { providerID } of staying) standing.delete(providerID);
    const leaving = [...standing].map(
      ([providerID, draining]): DesiredMember => ({ node: '', providerID, addresses: [], zone: '', draining }),
    );
    const all = { ...now, members: [...staying, ...leaving] };
    const isReadable = (one: DesiredLoadBalancer) => !isRefused(driver.desire(inputOf(session, one)));
    const without = (left: string) => Object.fromEntries(annotations.filter(([key]) => key !== left));
    const tried = isReadable(all)
      ? [all]
      : annotations.map(([key]) => ({ ...all, annotations: without(key) })).filter(isReadable);
    return tried.find((one) => stands(session, one));
  }

  function stands(session: Session, desired: DesiredLoadBalancer): boolean {
    try {
      const plan = suppose(session, desired);
      return marksOnly(plan) && plan.refusals.length + plan.waits.length === 0;
    } finally {
      // The plan has asked what is desired, and so remembered it.
      session.lastDone = undefined;
    }
  }

  /** As `lastDone` of LoadBalancers. */
  function lastDone(now: DesiredLoadBalancer): DesiredLoadBalancer | undefined {
    const session = sessionOf(now.owner);
    if (!hasOwn(session)) return undefined;
    session.lastDone ??= asItStands(session, now);
    const { lastDone: last } = session;
    if (last === undefined || choiceOf(last) !== choiceOf(now)) return undefined;
    const { members, areMembersKnown = true, record, retain } = now;
    const { clusterWideConsent, mayChangeAddress, mayKeepAddress } = now;
    const consents = { clusterWideConsent, mayChangeAddress, mayKeepAddress };
    const done = { ...last, ...consents, members, areMembersKnown, record, retain };
    return excessOf(done) === undefined ? done : undefined;
  }

  /** As `desire` of the driver. */
  function desire(input: DesireInput): Desire {
    const { desired } = input;
    const session = sessionOf(desired.owner);
    const now = driver.desire(input);
    if (!isRefused(now)) {
      session.lastDone = desired;
      return now;
    }
    const last = lastDone(desired);
    // What a person takes away because it is open to more than the Service asks for now must not come back.
    if (last !== undefined && last.sourceRanges.join() === desired.sourceRanges.join())
      return { ...now, wants: driver.desire({ ...input, desired: last }).wants };
    if (!hasOwn(session)) return now;
    return { ...now, remarks: [...(now.remarks ?? []), 'its members do not follow the Nodes until this is corrected'] };
  }

  return { lastDone, desire };
}
