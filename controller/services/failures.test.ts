import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { CloudError, cloudErrorKinds } from '../../common/cloud-error.ts';
import { WithheldError } from '../clouds/permit.ts';
import { KubeError } from '../kube/api.ts';
import { failureOf, mayHaveCreated } from './failures.ts';

const cloud = (kind: (typeof cloudErrorKinds)[number]) =>
  new CloudError({ kind, cloud: 'x', operation: 'create', message: 'm' });
const kube = (status: number, reason: string) => new KubeError({ status, reason, message: 'm' });

describe('a failed try', () => {
  it('that was never sent is no failure', () => {
    for (const error of [
      new WithheldError('Paused', ''),
      new WithheldError('Fenced', ''),
      kube(0, 'Fenced'),
      kube(0, 'Withheld'),
    ]) {
      assert.equal(failureOf(error).kind, 'withheld');
    }
    assert.equal(mayHaveCreated(new WithheldError('Paused', '')), false);
  });

  it('gives a reason for every kind of failure', () => {
    const reasons = cloudErrorKinds.map((kind) => {
      const failure = failureOf(cloud(kind));
      return failure.kind === 'failed' ? [kind, failure.condition?.reason, failure.event, failure.patient] : [];
    });
    assert.deepEqual(reasons, [
      ['Unauthorized', 'CredentialRefused', false, false],
      ['Forbidden', 'CredentialRefused', true, false],
      ['Throttled', 'AwaitingCloud', false, true],
      ['NotFound', 'AwaitingCloud', true, false],
      ['Conflict', 'AwaitingCloud', true, true],
      ['Busy', 'AwaitingCloud', true, true],
      ['Stale', 'AwaitingCloud', true, true],
      ['Taken', 'AwaitingCloud', true, true],
      ['QuotaExceeded', 'QuotaExceeded', true, false],
      ['Invalid', 'RefusedByCloud', true, false],
      ['Unavailable', 'AwaitingCloud', true, false],
      ['Timeout', 'AwaitingCloud', true, false],
    ]);
  });

  it('assumes that a failed try had its effect unless the cloud refused it', () => {
    assert.deepEqual(
      cloudErrorKinds.filter((kind) => mayHaveCreated(cloud(kind))),
      ['Conflict', 'Unavailable', 'Timeout'],
    );
    assert.equal(mayHaveCreated(new Error('who knows')), true);
  });

  it('reports a write that the API server refuses, and retries others without an event', () => {
    const told = (error: unknown) => {
      const failure = failureOf(error);
      return failure.kind === 'failed' ? failure.condition?.reason : undefined;
    };
    assert.deepEqual(
      [403, 422, 400].map((status) => told(kube(status, 'x'))),
      Array(3).fill('WriteRefused'),
    );
    assert.deepEqual(
      [409, 500, 0].map((status) => told(kube(status, 'x'))),
      [undefined, undefined, undefined],
    );
  });
});
