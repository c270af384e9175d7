import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { exampleReport } from './testing/example-report.ts';
import { codeOf, reportServerHarness, wholeReport } from './testing/report-server-harness.ts';

describe('the report API with malformed requests', () => {
  const start = reportServerHarness();

  it('answers invalid HTTP with 400, and headers beyond the limit with 431', async () => {
    const { raw } = await start();
    assert.match(await raw(['NONSENSE\r\n\r\n']), /^HTTP\/1.1 400 [\s\S]*"MalformedRequest"/);
    assert.match(await raw([`GET / HTTP/1.1\r\nx: ${'y'.repeat(30_000)}\r\n\r\n`]), /^HTTP\/1.1 431 /);
  });

  it('refuses a body that is no UTF-8 rather than keep another text than was sent', async () => {
    const { reviewer, store, raw } = await start();
    const token = reviewer.issue({ node: 'a' });
    const bytes = Buffer.from(JSON.stringify(exampleReport({ agentVersion: 'v@1' })));
    bytes[bytes.indexOf('@')] = 0xff;
    const head =
      `POST /v1/report HTTP/1.1\r\nhost: x\r\nauthorization: Bearer ${token}\r\ncontent-type: ` +
      `application/json\r\n`;
    const text = await raw([`${head}content-length: ${bytes.length}\r\n\r\n`, bytes]);
    assert.match(text, /^HTTP\/1.1 400 [\s\S]*"NotJson"/);
    assert.equal(store.size, 0);
  });

  const malformed: readonly [what: string, request: string][] = [
    ['a path that does not decode', 'POST /%c0%af-secret HTTP/1.1\r\nhost: x\r\n\r\n'],
    ['an absolute URL that is none', 'POST http://[::1-secret HTTP/1.1\r\nhost: x\r\n\r\n'],
    ['no Host', 'POST /v1/report HTTP/1.1\r\ncontent-type: application/json\r\ncontent-length: 2\r\n\r\n{}'],
  ];
  for (const [what, request] of malformed) {
    it(`answers ${what} in the words of the report API, and repeats none of it`, async () => {
      const { registry, raw } = await start();
      const text = await raw([request]);
      assert.match(text, /^HTTP\/1.1 400 [\s\S]*"MalformedRequest"/);
      assert.ok(!text.includes('secret'), text);
      assert.match(await registry.text(), /mooring_reports_total\{outcome="MalformedRequest"\} 1/);
    });
  }

  it('answers CONNECT, an unknown method and an expectation like any other request', async () => {
    const { raw } = await start();
    assert.match(await raw(['CONNECT x:1 HTTP/1.1\r\nhost: x\r\n\r\n']), /^HTTP\/1.1 404 [\s\S]*"UnknownPath"/);
    assert.match(await raw(['PROPFIND /v1/report HTTP/1.1\r\nhost: x\r\n\r\n']), /^HTTP\/1.1 404 [\s\S]*"UnknownPath"/);
    const odd = 'POST /v1/report HTTP/1.1\r\nhost: x\r\nexpect: 200-ok\r\ncontent-length: 0\r\n\r\n';
    assert.match(await raw([odd]), /^HTTP\/1.1 4\d\d [\s\S]*"error":\{"code":/);
  });

  it('gives one answer, whatever comes after the request', async () => {
    const { raw } = await start();
    for (const rest of ['GARBAGE\r\n\r\n', '\u0000', 'GET']) {
      const text = await raw([`M-SEARCH /v1/report HTTP/1.1\r\nhost: x\r\n\r\n${rest}`], true);
      assert.equal(text.match(/HTTP\/1.1/g)?.length, 1, text);
    }
    const cut = await raw(['M-SEARCH /v1/report HTTP/1.1\r\nhost: x\r\ncontent-length: 519\r\n\r\n{'], true);
    assert.equal(cut.match(/HTTP\/1.1/g)?.length, 1, cut);
  });

  it('reads the body before it refuses its type, so that the answer arrives', async () => {
    const { post, raw } = await start();
    for (const type of ['nonsense', '', '/']) {
      const head = `POST /v1/report HTTP/1.1\r\nhost: x\r\ncontent-type: ${type}\r\ncontent-length: 50\r\n\r\n`;
      assert.match(await raw([head], true), /^HTTP\/1.1 400 [\s\S]*"MalformedRequest"/, 'half a request');
      assert.equal(codeOf(await post(undefined, wholeReport, { 'content-type': type })), 'TokenMissing');
    }
  });
});
