import { isDeepStrictEqual } from 'node:util';
import type { Found, Kind } from '../../../engine/resource.ts';
import type { AnswerFields } from '../../answer-fields.ts';
import { kindNames, type Rule } from './found.ts';
import { made } from './made.ts';
import type { Project } from './project.ts';
import type { Stickiness } from './stickiness.ts';

/** Others may give a policy to a rule of ours: it stays. */
const policyName = 'mooring';

/** The policy of one rule: it has one at most, which cannot be changed. */
export function stickinessKind({ change }: Project): Kind<Stickiness, Stickiness> {
  return {
    kind: kindNames.stickiness,
    within: kindNames.rule,
    retryCreate: 'atOnce',
    compare({ body }, { method, params }) {
      // The cloud may add its defaults.
      const shown = Object.fromEntries(Object.keys(params).map((name) => [name, body.params[name]]));
      if (body.method === method && isDeepStrictEqual(shown, params)) return { same: true };
      return { replace: `stickiness ${print(body)} to ${print({ method, params })}`, order: 'deleteFirst' };
    },
    async create(want, _inside, io) {
      const { method, params } = want.spec;
      const pairs = Object.entries(params).flatMap(([name, value], at) => [
        [`param[${at}].name`, name],
        [`param[${at}].value`, value],
      ]);
      const policy = { lbruleid: io.within, name: policyName, methodname: method, ...Object.fromEntries(pairs) };
      const begun = await change('createLBStickinessPolicy', policy, io);
      return made(want, io, begun, { body: want.spec });
    },
    remove: ({ id }, io) => change('deleteLBStickinessPolicy', { id }, io),
  };
}

/** Of an answer about one rule: ours have its key. @throws CloudError `Invalid` */
export function foundPolicies(answer: readonly AnswerFields[], rule: Found<Rule>): Found<Stickiness>[] {
  const { id: within, key, owner } = rule;
  return answer
    .flatMap((one) => one.optionalObjects('stickinesspolicy'))
    .map((policy) => ({
      kind: kindNames.stickiness,
      id: policy.text('id'),
      within,
      status: 'ready' as const,
      ...(key !== undefined && policy.text('name') === policyName && { key, ...(owner && { owner }) }),
      body: { method: policy.text('methodname'), params: textsOf(policy.optionalObject('params')?.json() ?? {}) },
    }));
}

function textsOf(fields: Readonly<Record<string, unknown>>): Record<string, string> {
  return Object.fromEntries(Object.entries(fields).map(([name, value]) => [name, String(value)]));
}

function print({ method, params }: Stickiness): string {
  return [method, ...Object.entries(params).map(([name, value]) => `${name}=${value}`)].join(', ');
}
