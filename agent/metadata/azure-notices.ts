import type { Notice } from '../../common/instance.ts';
import { fieldsOf, invalid } from './fields.ts';

const context = { cloud: 'azure', operation: 'GET /metadata/scheduledevents' };

const kinds: Readonly<Record<string, Notice['kind']>> = {
  Freeze: 'maintenance',
  Reboot: 'maintenance',
  Redeploy: 'maintenance',
  Preempt: 'preemption',
  Terminate: 'termination',
};

/**
 * The scheduled events of this VM. Azure delivers the events of an availability set or placement group to each member,
 * so those of other VMs are left out. Throws a CloudError that names a malformed field. Pure.
 *
 * @param vmName `compute.name`, as events list it
 */
export function azureNotices(document: unknown, vmName: string): Notice[] {
  const events = fieldsOf(context, document).objects('Events');
  return events.flatMap((event, index) => {
    const mine = event.texts('Resources').some((name) => name.toLowerCase() === vmName.toLowerCase());
    const type = event.text('EventType');
    const kind = kinds[type];
    if (!mine || kind === undefined) return [];
    const notBefore = event.optionalText('NotBefore');
    const at = notBefore === undefined ? undefined : Date.parse(notBefore);
    if (Number.isNaN(at)) throw invalid(context, `Events[${index}].NotBefore`, notBefore, 'a moment');
    const description = event.optionalText('Description');
    return {
      kind,
      // Empty as soon as the event has begun.
      ...(at === undefined ? {} : { deadline: new Date(at).toISOString() }),
      message: description === undefined ? type : `${type}: ${description}`,
    };
  });
}
