import { isCloudError } from '../../../../common/cloud-error.ts';
import { type PendingChange, sendTogether } from '../../change-batches.ts';
import { inParallel } from '../../parallel.ts';
import type { OpenStackClient } from '../client.ts';
import { isOutdated } from '../fault.ts';
import { type HopPort, pairsWith, readHopPort } from './hop-ports.ts';

/** What one port is to let through, and no more, and for whom. */
export interface PairChange {
  readonly port: HopPort;
  readonly passenger: PendingChange<unknown, unknown>;
  readonly add?: string;
  readonly remove?: string;
}

const portsAtOnce = 8;
const maxTries = 6;

/**
 * Changes the allowed address pairs of ports: one call per port, however many ranges, bound to the revision that was
 * read. A port that changed meanwhile is read again. (Neutron counts the revision up for pairs without comparing it in
 * the database, so two writes within milliseconds may both pass; `lets` then shows what is missing.) A change whose
 * port cannot be updated is refused. A port that no longer exists has no pairs to remove.
 */
export async function changeAddressPairs(
  client: OpenStackClient,
  changes: readonly PairChange[],
  ifMatch: boolean,
  signal: AbortSignal,
): Promise<void> {
  const byPort = Map.groupBy(changes, ({ port }) => port.id);
  await inParallel(portsAtOnce, [...byPort.values()], async (ofPort) => {
    try {
      await changePort(client, ofPort, ifMatch, signal);
    } catch (error) {
      const gone = isCloudError(error) && error.kind === 'NotFound';
      for (const { passenger, add } of ofPort) if (!gone || add !== undefined) passenger.reject(error);
    }
  });
}

async function changePort(
  client: OpenStackClient,
  changes: readonly PairChange[],
  ifMatch: boolean,
  signal: AbortSignal,
): Promise<void> {
  let port = changes[0]!.port;
  for (let attempt = 1; ; attempt += 1) {
    const current = port;
    try {
      await sendTogether(
        changes.map(({ passenger }) => passenger),
        async (permitted, permit) => {
          const mine = changes.filter(({ passenger }) => permitted.includes(passenger));
          const pairs = pairsWith(current, {
            add: mine.flatMap(({ add }) => add ?? []),
            remove: mine.flatMap(({ remove }) => remove ?? []),
          });
          if (pairs === undefined) return;
          const match = ifMatch && current.revision !== undefined;
          await client.change({
            service: 'network',
            method: 'PUT',
            path: `/ports/${current.id}`,
            body: { port: { allowed_address_pairs: pairs } },
            permit,
            urgency: 'change',
            signal,
            ...(match ? { headers: { 'if-match': `revision_number=${current.revision}` } } : {}),
          });
        },
      );
      return;
    } catch (error) {
      if (!isOutdated(error) || attempt >= maxTries) throw error;
      port = await readHopPort(client, current.id, { urgency: 'change', signal });
    }
  }
}
