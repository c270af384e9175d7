import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import type { Browser } from 'puppeteer-core';
import { faultsOfAccess } from './harness/accessibility.ts';
import { keepPicture, openPage, startBrowser } from './harness/browser.ts';
import { addEvent, addService, type NodeLook, type ShownCluster, showCluster } from './harness/cluster.ts';

const nodes = 5000;
const services = 500;
const selector = 'service.beta.kubernetes.io/simulated-load-balancer-node-selector';
const looks: Readonly<Record<number, NodeLook>> = {
  7: 'waiting',
  301: 'missing',
  555: 'off',
  777: 'paused',
  999: 'foreign',
};
const nameOf = (at: number) => `node-${String(at).padStart(4, '0')}`;

describe(`the page of ${nodes} Nodes`, () => {
  let browser: Browser;
  let cluster: ShownCluster;
  before(async () => {
    browser = await startBrowser();
    cluster = await showCluster(({ ask, addNode, renewLease }) => {
      for (let at = 0; at < nodes; at += 1) addNode(nameOf(at), `eu-${1 + (at % 5)}`, looks[at % 1250] ?? 'well');
      for (let at = 1; at < services; at += 1)
        addService(ask, `service-${at}`, at % 60 === 0 ? 'QuotaExceeded' : 'Ensured');
      addService(ask, 'few', 'QuotaExceeded', '', { [selector]: 'role=ingress' });
      for (let at = 0; at < 400; at += 1)
        addEvent(ask, at * 7, nameOf(at), at % 9 === 0 ? 'CloudUnavailable' : 'Synced', 'as the cloud says');
      renewLease('mooring-controller-6d5f_1b9d6bcd');
    });
  });
  after(async () => {
    await browser?.close();
    await cluster?.stop();
  });

  it('draws cells by zone, accessibly, and changes only the cell of a Node that changed', async () => {
    const started = performance.now();
    const { page, complaints } = await openPage(browser, cluster.url);
    await page.waitForFunction(`document.querySelectorAll('.cells > .cell').length === ${nodes}`, { timeout: 120_000 });
    const firstMs = Math.round(performance.now() - started);
    await page.waitForSelector('.events li');
    assert.equal(await page.$$eval('.zone', (all) => all.length), 5);
    assert.equal(await page.$$eval('.events li', (all) => all.length), 200);
    await keepPicture(page, 'large');
    const bytes = await page.evaluate(
      "performance.getEntriesByType('resource').reduce((sum, { encodedBodySize }) => sum + encodedBodySize, 0)",
    );
    const memory = await cluster.memory();
    console.log(`${nodes} Nodes drawn ${firstMs} ms after the address was opened; ${bytes} bytes, ${memory} MiB`);

    await page.evaluate(`{
      globalThis.changed = new Set();
      const note = ({ target }) => target.matches('.cell, .cells') && globalThis.changed.add(target.dataset.name);
      new MutationObserver((all) => void all.forEach(note))
        .observe(document.querySelector('.zones'), { subtree: true, attributes: true, childList: true });
    }`);
    cluster.setCondition('node-0002', 'False', 'AddressConflict', 'two Nodes have this address');
    await page.waitForSelector('[data-name="node-0002"].is-waiting');
    assert.deepEqual(await page.evaluate('[...globalThis.changed]'), ['node-0002']);
    assert.deepEqual(complaints, []);
    assert.deepEqual(await faultsOfAccess(page), []);

    const rows = (text: string) => {
      const found = `[...document.querySelectorAll('tr')].filter((row) => row.textContent.includes('${text}'))`;
      return page.waitForFunction(`${found}.length === 199`, { timeout: 60_000 });
    };
    await rows('4,988 serving, 0 draining, 8 refused');
    await page.evaluate(`{
      globalThis.sent = 0;
      new EventSource('updates').addEventListener('message', ({ data }) => void (globalThis.sent = data.length));
    }`);
    await page.waitForFunction('globalThis.sent > 0');
    const changed = performance.now();
    cluster.exclude('node-0003', true);
    await rows('4,987 serving, 1 draining, 8 refused');
    const changeMs = Math.round(performance.now() - changed);
    const sent = await page.evaluate('globalThis.sent');
    console.log(`members of ${services} Services drawn ${changeMs} ms after a Node was excluded; ${sent} bytes sent`);
    await page.click('button[data-name="default/few"]');
    await page.waitForSelector('.panel ::-p-text(and 4977 more (NotChosen)');
    await keepPicture(page, 'large-members');
    await page.keyboard.press('Escape');

    await page.type('#filter', 'missing');
    await page.waitForFunction("document.querySelectorAll('.card').length === 4");
    await keepPicture(page, 'large-filtered');
    await page.browserContext().close();

    const { page: dark } = await openPage(browser, cluster.url, { scheme: 'dark' });
    await dark.waitForFunction(`document.querySelectorAll('.cells > .cell').length === ${nodes}`, { timeout: 120_000 });
    await keepPicture(dark, 'large-dark');
  });
});
