import type { Action } from './action.ts';
import { ensureAction } from './ensure-action.ts';
import { removeAction } from './remove-action.ts';
import type { Situation } from './situation.ts';

/** Decides; changes nothing. Pure. */
export function nextAction(situation: Situation): Action {
  return situation.intent === 'ensure' ? ensureAction(situation) : removeAction(situation);
}
