import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { fakeClock } from '../../../common/testing/fake-clock.ts';
import { lasting } from '../expiring-credential.ts';
import { createClient } from './client.ts';

const id = 'b0c7dbb6-5be0-4a2a-8a39-58bd4d2f9d01';

function clientOf(status: number, body: unknown) {
  const answer = { status, header: () => null, text: JSON.stringify(body) };
  return createClient({
    clock: fakeClock(),
    onCall: () => {},
    region: 'cn-north-4',
    projectId: 'p',
    mutationTimeoutMs: 1000,
    http: async () => answer,
    rateLimiter: { run: (_operation, call) => call() },
    keys: lasting({ id: 'a', secret: 's', token: undefined }),
    endpointOf: () => 'http://localhost',
  });
}

const read = { service: 'eip', path: `/v3/{project}/eip/publicips/${id}` } as const;

describe('a read of one resource of Huawei Cloud', () => {
  it('finds nothing where the service says so of that resource', async () => {
    for (const body of [
      { error_code: 'ELB.8904', error_msg: `loadbalancer ${id} could not be found.` },
      { code: 'VPC.0504', message: 'Floating IP could not be found.' },
      { error_code: 'EIP.7904', error_msg: 'publicip does not exist' },
    ])
      assert.equal(await clientOf(404, body).get(read), undefined);
  });

  it('fails where a 404 is about something else, or of something else', async () => {
    for (const body of [
      { code: 'VPC.0003', message: 'VPC does not exist.' },
      { error_code: 'ELB.8904', error_msg: 'project 0605767c6e80d5762fd6c00d5b6a3b4a could not be found.' },
      { error_code: 'ELB.8904', error_msg: 'subnet 11111111-2222-4333-8444-555555555555 could not be found.' },
      { itemNotFound: { message: 'The resource could not be found.', code: 404 } },
    ])
      await assert.rejects(clientOf(404, body).get(read), { kind: 'Unavailable' });
  });
});
