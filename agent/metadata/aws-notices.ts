import type { Notice } from '../../common/instance.ts';
import { parseJson } from './client.ts';
import { fieldsOf } from './fields.ts';
import type { TokenSession } from './token-session.ts';

const metadata = '/latest/meta-data/';

/** The interruptions EC2 has announced; an attribute that is absent announces nothing. */
export async function readAwsNotices(session: TokenSession, signal: AbortSignal): Promise<Notice[]> {
  const get = (key: string) => session.get(metadata + key, signal);
  const notices = maintenance(await get('events/maintenance/scheduled'));
  if ((await get('autoscaling/target-lifecycle-state'))?.trim() === 'Terminated') {
    notices.push({ kind: 'termination', message: 'the Auto Scaling group terminates this instance' });
  }
  if ((await get('instance-life-cycle'))?.trim() !== 'spot') return notices;
  const action = await get('spot/instance-action');
  if (action !== undefined) notices.push(interruption(action));
  const rebalance = await get('events/recommendations/rebalance');
  if (rebalance !== undefined) {
    notices.push({ kind: 'rebalance', message: 'EC2 sees an elevated risk of interruption' });
  }
  return notices;
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
      return {
        kind: ends ? 'termination' : 'maintenance',
        ...deadline(event.optionalText('NotBefore')),
        message: description === undefined ? code : `${code}: ${description}`,
      };
    });
}

/** EC2 writes ISO 8601 in one place and `21 Jan 2026 09:00:43 GMT` in another. */
function deadline(text: string | undefined): { deadline?: string } {
  const at = text === undefined ? Number.NaN : Date.parse(text);
  return Number.isNaN(at) ? {} : { deadline: new Date(at).toISOString() };
}
