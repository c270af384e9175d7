import assert from 'node:assert/strict';
import { once } from 'node:events';
import { connect as connectPlain } from 'node:net';
import { Duplex } from 'node:stream';
import { afterEach, before, beforeEach, describe, it } from 'node:test';
import { connect } from 'node:tls';
import fc from 'fast-check';
import { systemClock } from '../../../common/process/clock.ts';
import { createLog } from '../../../common/process/log.ts';
import { createMetricRegistry, type MetricRegistry } from '../../../common/process/metrics.ts';
import { metricValue } from '../../../common/testing/metric-value.ts';
import { type Authority, issueAuthority, issueServing } from '../../reports/certificates/ca.ts';
import { ask } from '../../reports/testing/https-client.ts';
import type { AdmissionDecision, AdmissionRequest } from './admission-review.ts';
import type { ServingCredentials } from './credentials.ts';
import { webhookMetrics } from './webhook-metrics.ts';
import { createWebhookServer, saysUntrusted, type WebhookServer } from './webhook-server.ts';

const hour = 3_600_000;
const validity = { notBefore: Date.now() - hour, notAfter: Date.now() + hour };
const asked = {
  uid: '7f0b2891-916f-4ed6-b7cd-27bff1815a8c',
  operation: 'CREATE',
  resource: { group: '', version: 'v1', resource: 'persistentvolumes' },
  object: { metadata: { name: 'a' } },
};
const review = (request: unknown = asked) => ({ apiVersion: 'admission.k8s.io/v1', kind: 'AdmissionReview', request });

describe('the server of webhooks', () => {
  let authority: Authority;
  let credentials: ServingCredentials;
  let registry: MetricRegistry;
  let server: WebhookServer;
  let port: number;
  let seen: AdmissionRequest[];
  let decide: () => Promise<AdmissionDecision>;
  let lines: string[];

  before(async () => {
    authority = await issueAuthority(validity);
    credentials = await issueServing(authority, ['localhost'], validity);
  });
  beforeEach(async () => {
    [seen, lines] = [[], []];
    decide = async () => ({ allowed: true });
    registry = createMetricRegistry();
    const clock = systemClock();
    server = createWebhookServer({
      clock,
      log: createLog({ clock, level: 'info', format: 'json', write: (line) => void lines.push(line) }),
      credentials,
      metrics: registry.define(webhookMetrics),
      webhooks: [
        {
          name: 'some',
          path: '/some',
          admit(request) {
            seen.push(request);
            return decide();
          },
        },
      ],
    });
    port = await server.listen({ host: '127.0.0.1', port: 0 });
  });
  afterEach(() => server.close());

  interface Changes {
    readonly path?: string;
    readonly method?: string;
    readonly type?: string;
  }

  const post = (body: string, { path = '/some', method = 'POST', type = 'application/json' }: Changes = {}) =>
    ask({
      port,
      ca: authority.cert,
      servername: 'localhost',
      path,
      method,
      headers: { 'content-type': type, 'content-length': String(Buffer.byteLength(body)) },
      body,
    });
  const counted = (code: number) =>
    metricValue(registry, 'cloud_provider_webhook_request_total', `{code="${code}",webhook="some"}`);

  it('answers the review of the request with its uid, and counts that', async () => {
    const { status, json } = await post(JSON.stringify(review()), { path: '/some?timeout=10s' });
    assert.equal(status, 200);
    const { request: _, ...frame } = review();
    assert.deepEqual(json, { ...frame, response: { uid: asked.uid, allowed: true } });
    const { uid, operation, object } = asked;
    assert.deepEqual(seen, [{ uid, operation, group: '', resource: 'persistentvolumes', object }]);
    assert.equal(await counted(200), 1);
  });

  it('sends a patch in base64, and warnings of a length that the API server takes', async () => {
    const patch = [{ op: 'add', path: '/metadata/labels', value: { a: 'b' } }];
    decide = async () => ({ allowed: true, patch, warnings: ['w'.repeat(500)] });
    const { json } = await post(JSON.stringify(review()));
    const { response } = json as { response: { patchType: string; patch: string; warnings: string[] } };
    assert.equal(response.patchType, 'JSONPatch');
    assert.deepEqual(JSON.parse(Buffer.from(response.patch, 'base64').toString()), patch);
    assert.deepEqual(response.warnings, ['w'.repeat(256)]);
  });

  it('tells why an object is refused, in the answer, the log and a metric', async () => {
    decide = async () => ({ allowed: false, code: 403, reason: 'Forbidden', message: 'no such volume' });
    const { status, json } = await post(JSON.stringify(review()));
    const refused = { status: 'Failure', code: 403, reason: 'Forbidden', message: 'no such volume' };
    assert.equal(status, 200);
    assert.deepEqual((json as { response: unknown }).response, { uid: asked.uid, allowed: false, status: refused });
    assert.match(lines.join(), /no such volume/);
    assert.equal(await metricValue(registry, 'mooring_webhook_refused_total', '{code="403",webhook="some"}'), 1);
  });

  it('hides what failed in an answer of 500', async () => {
    decide = () => Promise.reject(new Error('secret of the inside'));
    const { status, text } = await post(JSON.stringify(review()));
    assert.equal(status, 500);
    assert.doesNotMatch(text, /secret/);
    assert.match(lines.join(), /secret of the inside/);
    assert.equal(await counted(500), 1);
  });

  for (const [what, expected, body, changes] of [
    ['another path', 404, '{}', { path: '/' }],
    ['another method', 405, '', { method: 'GET' }],
    ['another content type', 400, JSON.stringify(review()), { type: 'text/plain' }],
    ['an empty body', 400, '', {}],
    ['what is no JSON', 400, '{"kind":', {}],
    ['what is no object', 400, '[1]', {}],
    ['another kind', 400, JSON.stringify({ ...review(), kind: 'Pod' }), {}],
    ['another version', 400, JSON.stringify({ ...review(), apiVersion: 'admission.k8s.io/v1beta1' }), {}],
    ['a review without a request', 400, JSON.stringify(review(null)), {}],
    ['a request without a uid', 400, JSON.stringify(review({ ...asked, uid: '' })), {}],
    ['a request without a resource', 400, JSON.stringify(review({ ...asked, resource: null })), {}],
    ['a body that is announced too large', 413, ' '.repeat(3 * 1024 * 1024 + 1), {}],
  ] as const)
    it(`refuses ${what} with ${expected}`, async () => {
      assert.equal((await post(body, changes)).status, expected);
      assert.deepEqual(seen, []);
      if (expected !== 404) assert.equal(await counted(expected), 1);
    });

  it('refuses a body that grows too large without saying so', async () => {
    const answer = await new Promise<string>((resolve, reject) => {
      const socket = connect({ host: '127.0.0.1', port, ca: authority.cert, servername: 'localhost' });
      let text = '';
      socket.setEncoding('utf8');
      socket.on('data', (chunk) => {
        text += chunk;
      });
      socket.on('close', () => resolve(text));
      socket.on('error', (error: NodeJS.ErrnoException) => (error.code === 'EPIPE' ? undefined : reject(error)));
      socket.write('POST /some HTTP/1.1\r\nhost: a\r\ncontent-type: application/json\r\n');
      socket.write('transfer-encoding: chunked\r\n\r\n');
      const chunk = `${(1024 * 1024).toString(16)}\r\n${' '.repeat(1024 * 1024)}\r\n`;
      for (let count = 0; count < 4; count += 1) socket.write(chunk);
    });
    assert.match(answer, /^HTTP\/1\.1 413 /);
  });

  it('counts and logs a client that does not trust the certificate', async () => {
    const unknownAuthority = Buffer.from([21, 3, 3, 0, 2, 2, 48]);
    const wire = connectPlain({ host: '127.0.0.1', port });
    const socket = new Duplex({ read() {}, write: (chunk, _, done) => void wire.write(chunk, () => done()) });
    const client = connect({ socket, servername: 'localhost', maxVersion: 'TLSv1.2' });
    wire.once('data', () => wire.end(unknownAuthority));
    await once(wire, 'close');
    client.destroy();
    assert.equal(await metricValue(registry, 'mooring_webhook_untrusted_total'), 1);
    assert.match(lines.join(), /is the caBundle of the configuration current/);
  });

  it('refuses what exceeds its number of requests at once, and serves again afterwards', async () => {
    const held = Promise.withResolvers<AdmissionDecision>();
    decide = () => held.promise;
    const waiting = Array.from({ length: 64 }, () => post(JSON.stringify(review())));
    while (seen.length < 64) await new Promise((resolve) => setImmediate(resolve));
    const refused = await post(JSON.stringify(review()));
    held.resolve({ allowed: true });
    assert.deepEqual(new Set((await Promise.all(waiting)).map(({ status }) => status)), new Set([200]));
    assert.deepEqual([refused.status, refused.headers['retry-after']], [429, '1']);
    assert.equal((await post(JSON.stringify(review()))).status, 200);
  });

  it('never fails for a body of any kind', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.oneof(
          fc.string(),
          fc.json(),
          fc.jsonValue().map((one) => JSON.stringify(review(one))),
        ),
        async (body) => {
          const { status } = await post(body);
          assert.ok(status === 400 || status === 200, `${status} for ${body}`);
        },
      ),
      { numRuns: 60 },
    );
  });
});

describe('the certificate of the webhooks', () => {
  for (const [client, code] of [
    ['curl', 'ERR_SSL_TLSV1_ALERT_UNKNOWN_CA'],
    ['a program in Go', 'ERR_SSL_SSL/TLS_ALERT_BAD_CERTIFICATE'],
  ] as const)
    it(`recognises the alert of ${client} as distrust of the certificate`, () => {
      assert.ok(saysUntrusted(Object.assign(new Error('alert'), { code })));
    });

  it('takes a connection that was cut for no distrust of the certificate', () => {
    assert.ok(!saysUntrusted(Object.assign(new Error('socket hang up'), { code: 'ECONNRESET' })));
  });
});
