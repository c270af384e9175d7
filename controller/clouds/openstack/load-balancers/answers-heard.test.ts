import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { createAnswers } from './answers-heard.ts';

const owner = (service: string) => ({ cluster: 'c', service });

describe('whether all that there is of a Service is known', () => {
  it('not before a look has told it', () => {
    const answers = createAnswers();
    assert.equal(answers.knowsAll(owner('a')), false);
    answers.looked(owner('a'), answers.stamp());
    assert.deepEqual([answers.knowsAll(owner('a')), answers.knowsAll(owner('b'))], [true, false]);
    answers.looked('everybody', answers.stamp());
    assert.equal(answers.knowsAll(owner('b')), true);
  });

  for (const by of ['everybody', owner('a')] as const) {
    it(`not after an answer was lost, until a look that began later${by === 'everybody' ? ' at everybody' : ''}`, () => {
      const answers = createAnswers();
      answers.looked('everybody', answers.stamp());
      const before = answers.stamp();
      answers.lost(owner('a'));
      answers.looked(by, before);
      assert.deepEqual([answers.knowsAll(owner('a')), answers.knowsAll(owner('b'))], [false, true]);
      answers.looked(by, answers.stamp());
      assert.equal(answers.knowsAll(owner('a')), true);
    });
  }
});
