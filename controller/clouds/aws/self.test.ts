import assert from 'node:assert/strict';
import { createServer, type IncomingMessage, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { after, before, beforeEach, describe, it } from 'node:test';
import { systemClock } from '../../../common/process/clock.ts';
import { ownInstanceId } from './self.ts';

describe('the id of the instance that this process runs on', () => {
  let server: Server;
  let env: Record<string, string>;
  let answer: (request: IncomingMessage) => { readonly status: number; readonly text: string };
  const asked: string[] = [];
  before(async () => {
    server = createServer((request, response) => {
      asked.push(`${request.method} ${request.url}`);
      const { status, text } = answer(request);
      response.writeHead(status).end(text);
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    env = { AWS_EC2_METADATA_SERVICE_ENDPOINT: `http://127.0.0.1:${(server.address() as AddressInfo).port}/` };
  });
  after(() => {
    server.close();
    server.closeAllConnections();
  });
  beforeEach(() => {
    asked.length = 0;
  });
  const clock = systemClock();

  it('asks for the instance id with a session token', async () => {
    answer = ({ method, headers }) => {
      if (method === 'PUT') {
        assert.equal(headers['x-aws-ec2-metadata-token-ttl-seconds'], '60');
        return { status: 200, text: 'token-1' };
      }
      assert.equal(headers['x-aws-ec2-metadata-token'], 'token-1');
      return { status: 200, text: 'i-0123456789abcdef0' };
    };
    assert.equal(await ownInstanceId({ clock, env }), 'i-0123456789abcdef0');
    assert.deepEqual(asked, ['PUT /latest/api/token', 'GET /latest/meta-data/instance-id']);
  });

  it('returns undefined where the service refuses, answers something else, or is not there', async () => {
    answer = () => ({ status: 403, text: '' });
    assert.equal(await ownInstanceId({ clock, env }), undefined);
    answer = () => ({ status: 200, text: '<html>' });
    assert.equal(await ownInstanceId({ clock, env }), undefined);
    const nowhere = { AWS_EC2_METADATA_SERVICE_ENDPOINT: 'http://127.0.0.1:9' };
    assert.equal(await ownInstanceId({ clock, env: nowhere }), undefined);
  });

  it('sends no request where the metadata service is turned off', async () => {
    assert.equal(await ownInstanceId({ clock, env: { ...env, AWS_EC2_METADATA_DISABLED: 'TRUE' } }), undefined);
    assert.deepEqual(asked, []);
  });
});
