import assert from 'node:assert/strict';
import { request } from 'node:http';
import { after, before, describe, it } from 'node:test';
import { silentLog } from '../../../common/process/log.ts';
import { KubeError } from '../../kube/api.ts';
import { type Faults, type RunningUi, serveUi, type UiOptions } from './serve-ui.ts';
import type { Update } from './update.ts';

interface Sent {
  readonly method?: string;
  readonly headers?: Record<string, string>;
  readonly body?: string;
}

function ask(url: string, { method = 'GET', headers = {}, body }: Sent = {}) {
  return new Promise<{ status: number; headers: Record<string, unknown>; text: string }>((resolve, reject) => {
    const sent = request(url, { method, headers, agent: false }, (answer) => {
      let text = '';
      answer.setEncoding('utf8');
      answer.on('data', (part: string) => {
        text += part;
        // A stream does not end by itself.
        if (answer.headers['content-type'] === 'text/event-stream' && text.includes('"last"')) answer.destroy();
      });
      answer.on('close', () => resolve({ status: answer.statusCode ?? 0, headers: answer.headers, text }));
    });
    sent.on('error', reject);
    sent.end(body);
  });
}

describe('the server of the page', () => {
  const handlers = new Set<(update: Update) => void>();
  const feed: UiOptions['feed'] = {
    snapshot: () => ({ full: true, goneNodes: ['first'] }),
    subscribe(handler) {
      handlers.add(handler);
      setImmediate(() => handler({ goneNodes: ['last'] }));
      return () => void handlers.delete(handler);
    },
  };
  const caused: string[] = [];
  const faults: Faults = {
    actions: [{ name: 'power-off', title: 'Power off', ofNode: true }],
    async cause(action, node) {
      if (node === 'none') throw new Error('there is no VM none');
      caused.push(`${action} ${node}`);
      return 'done';
    },
  };
  const page = async () => ({ html: '<p>page</p>', script: 'run()', style: 'p{}', icon: '<svg/>' });
  const explained = { state: 'waiting', reason: 'R', why: 'w', remedy: '', facts: [], events: [] };
  const explain = async ({ name }: { readonly name: string }) => {
    if (name === 'gone') throw new KubeError({ status: 404, reason: 'NotFound', message: 'not found' });
    if (name === 'secret') throw new KubeError({ status: 403, reason: 'Forbidden', message: 'forbidden' });
    return explained;
  };
  let ui: RunningUi;
  let sandbox: RunningUi;
  before(async () => {
    const shared = { feed, page, explain, log: silentLog, port: 0 };
    ui = await serveUi(shared);
    sandbox = await serveUi({ ...shared, faults });
  });
  after(() => Promise.all([ui.close(), sandbox.close()]));

  it('serves the page on loopback, below a path that cannot be guessed', async () => {
    const { hostname, pathname } = new URL(ui.url);
    assert.equal(hostname, '127.0.0.1');
    assert.match(pathname, /^\/[\w-]{32}\/$/);
    assert.notEqual(pathname, new URL(sandbox.url).pathname);
    const types = {
      '': 'text/html',
      'main.js': 'text/javascript',
      'page.css': 'text/css',
      'icon.svg': 'image/svg+xml',
    };
    for (const [name, type] of Object.entries(types)) {
      const { status, headers } = await ask(ui.url + name);
      assert.equal(status, 200, name);
      assert.ok(String(headers['content-type']).startsWith(type), name);
    }
  });

  it('allows the browser nothing but what it serves itself, and no other site to frame or read it', async () => {
    for (const path of ['', 'main.js', 'updates', 'explain?node=a', 'nothing']) {
      const { headers } = await ask(ui.url + path);
      const policy = String(headers['content-security-policy']);
      assert.match(policy, /^default-src 'none'; script-src 'self'; style-src 'self';/, path);
      assert.match(policy, /frame-ancestors 'none'; require-trusted-types-for 'script'/, path);
      assert.doesNotMatch(policy, /unsafe|\*|http|data:/, path);
      assert.equal(headers['x-content-type-options'], 'nosniff', path);
      assert.equal(headers['referrer-policy'], 'no-referrer', path);
      assert.equal(headers['cross-origin-resource-policy'], 'same-origin', path);
      assert.equal(headers['cache-control'], 'no-store', path);
      assert.equal(headers['set-cookie'], undefined, path);
      assert.equal(headers['access-control-allow-origin'], undefined, path);
    }
  });

  it('answers 404 to everything without the token', async () => {
    const { origin, pathname } = new URL(ui.url);
    const nearly = `${pathname.slice(0, -2)}${pathname.at(-2) === '-' ? '_' : '-'}/`;
    const others = ['/', '/main.js', `/x${pathname}`, nearly, '/updates', `${pathname}a/b`, '//'];
    for (const path of others) {
      const { status, text } = await ask(origin + path);
      assert.equal(status, 404, path);
      assert.doesNotMatch(text, /page|first/, path);
    }
  });

  it('answers no request for another host, so that no foreign name leads here', async () => {
    const { port } = new URL(ui.url);
    for (const host of ['evil.example', `evil.example:${port}`, '127.0.0.1', '127.0.0.1:1', `[::1]:${port}`]) {
      assert.equal((await ask(ui.url, { headers: { host } })).status, 421, host);
    }
    for (const host of [`127.0.0.1:${port}`, `localhost:${port}`])
      assert.equal((await ask(ui.url, { headers: { host } })).status, 200, host);
  });

  it('refuses every method that writes', async () => {
    for (const method of ['POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS']) {
      for (const path of ['', 'faults', 'explain?node=a', 'updates']) {
        const { status } = await ask(ui.url + path, { method, headers: { origin: new URL(ui.url).origin } });
        assert.equal(status, 405, `${method} ${path}`);
      }
    }
  });

  it('sends everything first and then each change, and forgets a page that left', async () => {
    const { text } = await ask(`${ui.url}updates`);
    assert.equal(text, 'data: {"full":true,"goneNodes":["first"]}\n\ndata: {"goneNodes":["last"]}\n\n');
    for (let tries = 0; handlers.size > 0 && tries < 100; tries += 1) await new Promise((done) => setTimeout(done, 10));
    assert.equal(handlers.size, 0);
  });

  it('sends everything again to a page that reads too slowly, and not ever more changes', async () => {
    const big: Update = { goneNodes: ['x'.repeat(1024 * 1024)] };
    const sent = 100;
    const text = await new Promise<string>((resolve, reject) => {
      request(`${ui.url}updates`, { agent: false }, (answer) => {
        let read = '';
        setTimeout(() => {
          for (let each = 0; each < sent; each += 1) for (const handler of handlers) handler(big);
          answer.on('data', (part: Buffer) => {
            read += part.toString('latin1').replaceAll(/x+/g, 'x');
            const isAnew = read.split('"full":true').length > 2;
            if (isAnew || read.split('data: ').length > sent) answer.destroy();
          });
          answer.on('close', () => resolve(read));
        }, 50);
      })
        .on('error', reject)
        .end();
    });
    assert.ok(text.split('data: ').length < sent / 2, `${text.split('data: ').length} messages`);
    assert.ok(text.lastIndexOf('"full":true') > text.lastIndexOf('"x'), 'everything comes last');
  });

  it('explains a Node or a Service, and says why it cannot', async () => {
    assert.deepEqual(JSON.parse((await ask(`${ui.url}explain?node=a`)).text), explained);
    assert.equal((await ask(`${ui.url}explain?service=shop/web`)).status, 200);
    for (const query of ['', '?service=web', '?service=a/b/c', '?pod=a'])
      assert.equal((await ask(`${ui.url}explain${query}`)).status, 400, query);
    const gone = await ask(`${ui.url}explain?node=gone`);
    assert.deepEqual([gone.status, gone.text], [404, 'it is not there any more\n']);
    const secret = await ask(`${ui.url}explain?node=secret`);
    assert.deepEqual([secret.status, secret.text], [502, 'this credential may not read it: forbidden\n']);
  });

  it('causes faults where the sandbox gave some, for its own page alone', async () => {
    const { origin } = new URL(sandbox.url);
    const cause = (action: string, node: string, headers: Record<string, string> = { origin }) =>
      ask(`${sandbox.url}faults`, { method: 'POST', headers, body: JSON.stringify({ action, node }) });
    assert.deepEqual(JSON.parse((await cause('power-off', 'a')).text), { done: 'done' });
    assert.equal((await cause('power-off', 'a', {})).status, 403);
    assert.equal((await cause('power-off', 'a', { origin: 'http://evil.example' })).status, 403);
    assert.match((await cause('format', 'a')).text, /action: "format", expected power-off/);
    const refused = await cause('power-off', 'none');
    assert.deepEqual([refused.status, refused.text], [409, 'there is no VM none\n']);
    assert.deepEqual(caused, ['power-off a']);
    assert.match((await ask(`${sandbox.url}updates`)).text, /"faults":\[\{"name":"power-off"/);
    assert.equal((await ask(sandbox.url, { method: 'PUT' })).status, 405);
  });
});
