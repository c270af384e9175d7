import { CloudError } from '../../../../common/cloud-error.ts';
import type { Answer, OperationState, ReadIo } from '../../../engine/resource.ts';
import type { AnswerFields } from '../../answer-fields.ts';
import { unlessNotFound } from '../../not-found.ts';
import { inParallel } from '../../parallel.ts';
import type { AlibabaClient, Mutating, Params } from '../client.ts';
import { cloud } from '../fault.ts';

type Begun = Pick<Answer, 'operation'>;

/** The effect of a change is complete when this job has ended. */
export function jobIn(answer: AnswerFields): Begun {
  const operation = answer.optionalText('JobId');
  return operation === undefined ? {} : { operation };
}

/** Sends one change. */
export async function send(client: AlibabaClient, action: string, params: Params, io: Mutating): Promise<Begun> {
  return jobIn(await client.change('nlb', action, params, io));
}

/** The state of these jobs; one that is not there any more has ended. */
export async function pollJobs(
  client: AlibabaClient,
  jobs: readonly string[],
  { signal }: ReadIo,
): Promise<ReadonlyMap<string, OperationState>> {
  const operation = 'GetJobStatus';
  const states = await inParallel(4, jobs, async (JobId): Promise<OperationState> => {
    const answer = await unlessNotFound(client.call({ product: 'nlb', action: operation, params: { JobId }, signal }));
    const status = answer?.text('Status');
    if (status !== 'Failed') return status === undefined || status === 'Succeeded' ? 'done' : 'running';
    return new CloudError({ kind: 'Unavailable', cloud, operation, message: `job ${JobId} has failed` });
  });
  return new Map(jobs.map((job, at) => [job, states[at]!]));
}

/** Fields whose value is not as it was chosen. What an answer leaves out is no difference. */
export function differing(shown: Readonly<Record<string, unknown>>, chosen: Params): string[] {
  return Object.entries(chosen)
    .filter(([name, value]) => value !== undefined && !isSame(shown[name], value))
    .map(([name]) => name);
}

function isSame(shown: unknown, chosen: Params[string]): boolean {
  if (Array.isArray(chosen)) {
    const there = Array.isArray(shown) ? shown.map(String) : [];
    return there.length === chosen.length && chosen.every((one) => there.includes(String(one)));
  }
  if (typeof chosen === 'object')
    return differing((shown ?? {}) as Record<string, unknown>, chosen as Params).length === 0;
  return String(shown ?? '').toLowerCase() === String(chosen).toLowerCase();
}
