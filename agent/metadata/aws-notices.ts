import type { Notice } from '../../common/instance.ts';
import type { Clock } from '../../common/process/clock.ts';
import { parseJson } from './client.ts';
import { fieldsOf } from './fields.ts';
import type { TokenSession } from './token-session.ts';

const metadata = '/latest/meta-data/';

/**
 * Maintenance and terminations by the Auto Scaling group are announced minutes or hours ahead, so they need not be read
 * every five seconds, as AWS recommends for spot instances.
 */
const slowPeriodMs = 55_000;

/**
 * Reads the interruptions that EC2 has announced; a missing attribute means none. Cheap enough to call every few
 * seconds.
 */
export function awsNotices(session: TokenSession, clock: Clock): (signal: AbortSignal) => Promise<readonly Notice[]> {
  const get = (key: string, signal: AbortSignal) => session.get(metadata + key, signal);
  /** Never changes for an instance; undefined until it was read. */
  let spot: boolean | undefined;
  let slow: { readonly notices: readonly Notice[]; readonly atMs: number } | undefined;

  async function readSlow(signal: AbortSignal): Promise<readonly Notice[]> {
    const notices = maintenance(await get('events/maintenance/scheduled', signal));
    if ((await get('autoscaling/target-lifecycle-state', signal))?.trim() === 'Terminated') {
      notices.push({ kind: 'termination', message: 'the Auto Scaling group terminates this instance' });
    }
    return notices;
  }

  async function readSpot(signal: AbortSignal): Promise<Notice[]> {
    const notices: Notice[] = [];
    const [action, rebalance] = await Promise.all([
      get('spot/instance-action', signal),
      get('events/recommendations/rebalance', signal),
    ]);
    if (action !== undefined) notices.push(interruption(action));
    if (rebalance !== undefined) {
      notices.push({ kind: 'rebalance', message: 'EC2 sees an elevated risk of interruption' });
    }
    return notices;
  }

  return async (signal) => {
    const now = clock.monotonic();
    if (slow === undefined || now - slow.atMs >= slowPeriodMs) slow = { notices: await readSlow(signal), atMs: now };
    const lifeCycle = spot === undefined ? (await get('instance-life-cycle', signal))?.trim() : undefined;
    if (lifeCycle !== undefined) spot = lifeCycle === 'spot';
    return spot === true ? [...slow.notices, ...(await readSpot(signal))] : slow.notices;
  };
}

function interruption(text: string): Notice {
  const operation = 'GET spot/instance-action';
  const fields = fieldsOf({ cloud: 'aws', operation }, parseJson('aws', operation, text));
  const message = `spot instance will ${fields.text('action')}`;
  return { kind: 'preemption', ...deadline(fields.optionalText('time')), message };
}

function maintenance(text: string | undefined): Notice[] {
  if (text === undefined || text.trim() === '') return [];
  const operation = 'GET events/maintenance/scheduled';
  const events = fieldsOf({ cloud: 'aws', operation }, { events: parseJson('aws', operation, text) }).objects('events');
  return events
    .filter((event) => event.optionalText('State') === 'active')
    .map((event) => {
      const code = event.text('Code');
      const ends = code === 'instance-stop' || code === 'instance-retirement';
      const description = event.optionalText('Description');
      // With an unreadable deadline it is reported as maintenance: a termination without a deadline would count as
      // imminent.
      const at = deadline(event.optionalText('NotBefore'));
      return {
        kind: ends && at.deadline !== undefined ? 'termination' : 'maintenance',
        ...at,
        message: description === undefined ? code : `${code}: ${description}`,
      };
    });
}

/** Parses a deadline, which EC2 writes in ISO 8601 or as `21 Jan 2026 09:00:43 GMT`. */
function deadline(text: string | undefined): { deadline?: string } {
  const at = text === undefined ? Number.NaN : Date.parse(text);
  return Number.isNaN(at) ? {} : { deadline: new Date(at).toISOString() };
}
