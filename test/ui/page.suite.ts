import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import type { Browser, Page } from 'puppeteer-core';
import { createKubeRest } from '../kit/world/kube-rest.ts';
import { serviceAccountToken } from '../kit/world/manifests.ts';
import { faultsOfAccess } from './harness/accessibility.ts';
import { keepPicture, openPage, startBrowser } from './harness/browser.ts';
import { addEvent, addService, type ShownCluster, showCluster } from './harness/cluster.ts';

describe('the page in a browser', () => {
  let browser: Browser;
  let cluster: ShownCluster;
  before(async () => {
    browser = await startBrowser();
    cluster = await showCluster(({ ask, addNode, renewLease }) => {
      for (const zone of ['eu-1a', 'eu-1b', 'eu-1c']) {
        for (let each = 1; each <= 4; each += 1) addNode(`worker-${zone.at(-1)}${each}`, zone);
      }
      addNode('worker-a5', 'eu-1a', 'waiting');
      addNode('worker-a6', 'eu-1a', 'draining');
      addNode('worker-b5', 'eu-1b', 'missing');
      addNode('worker-b6', 'eu-1b', 'off');
      addNode('worker-c5', 'eu-1c', 'paused');
      addNode('legacy-1', 'eu-1c', 'foreign');
      addService(ask, 'web', 'Ensured');
      addService(ask, 'shop', 'MembersRefused', 'worker-a2: not in the network of the load balancer');
      addService(ask, 'mail', 'QuotaExceeded', 'the cloud has no room for another load balancer');
      for (let at = 1; at < 20; at += 1) addEvent(ask, at * 40, `worker-a${1 + (at % 4)}`, 'Synced', 'up to date');
      addEvent(ask, 5, 'worker-b5', 'DeletionWithheld', 'the credential does not see the instances that exist');
      renewLease('mooring-controller-6d5f_1b9d6bcd');
    });
  });
  after(async () => {
    await browser?.close();
    await cluster?.stop();
  });

  async function shown(page: Page, selector: string, text: RegExp): Promise<void> {
    const read = `document.querySelector(${JSON.stringify(selector)})?.textContent ?? ''`;
    await page.waitForFunction(`new RegExp(${JSON.stringify(text.source)}).test(${read})`, { timeout: 30_000 });
  }

  async function open(look = {}) {
    const opened = await openPage(browser, cluster.url, look);
    await opened.page.waitForSelector('[data-name="worker-c4"]', { timeout: 30_000 });
    await shown(opened.page, '.top', /mooring-controller-6d5f 1b9d6b/);
    return opened;
  }

  for (const scheme of ['light', 'dark'] as const) {
    it(`shows Nodes by zone, Services and decisions, accessibly and without a complaint (${scheme})`, async () => {
      cluster.renewLease('mooring-controller-6d5f_1b9d6bcd');
      const { page, complaints, requests } = await open({ scheme });
      const zones = await page.$$eval('.zone h3', (heads) => heads.map(({ firstChild }) => firstChild?.textContent));
      assert.deepEqual(zones, ['eu-1a', 'eu-1b', 'eu-1c']);
      const states = await page.$$eval('[data-name]', (all) =>
        all.map((one) => one.getAttribute('title')?.split('\n').slice(0, 2).join(': ')),
      );
      for (const label of [
        'worker-a5: waiting (CloudUnavailable)',
        'worker-b5: missing (CanaryNotFound)',
        'worker-b6: powered off (ShutdownTaintAdded)',
        'worker-c5: paused (Paused)',
        'legacy-1: foreign',
      ])
        assert.ok(states.includes(label), `${label} among ${states}`);
      await shown(page, '#services-title + * + *', /default\/mail.*waiting QuotaExceeded.*default\/web/);
      await shown(page, '.events', /DeletionWithheld worker-b5/);
      await shown(page, '[data-name=worker-a6]', /drains: Excluded/);
      await shown(page, '.row', /unknown: --metrics-url/);
      await shown(page, '#members-title ~ p + p', /Marked to drain:worker-a6/);
      await shown(page, '#members-title ~ p:last-child', /Refused by the cloud.*default\/shop/);
      await keepPicture(page, scheme);
      assert.deepEqual(await faultsOfAccess(page), []);
      assert.deepEqual(complaints, []);
      assert.deepEqual(
        requests.filter((address) => !address.startsWith(cluster.url)),
        [],
      );
      await page.browserContext().close();
    });
  }

  it('explains a Node on a click, follows it, and gives the focus back on Escape', async () => {
    const { page, complaints } = await open();
    await page.click('[data-name="worker-b5"]');
    await shown(page, '.panel', /worker-b5.*missing CanaryNotFound.*Try.*Facts.*simulated:\/\/eu-1\/i-worker-b5/);
    assert.equal(await page.evaluate('document.activeElement?.id'), 'panel-title');
    const { height = 0 } = (await (await page.$('.panel'))?.boundingBox()) ?? {};
    assert.ok(height > 300, `the panel is ${height} pixels high`);
    await keepPicture(page, 'explain');
    assert.deepEqual(await faultsOfAccess(page), []);
    await page.keyboard.press('Escape');
    await page.waitForSelector('.panel', { hidden: true });
    assert.equal(await page.evaluate("document.activeElement?.getAttribute('data-name')"), 'worker-b5');
    await page.click('button[data-name="default/mail"]');
    await shown(page, '.panel', /default\/mail.*waiting QuotaExceeded.*the cloud has no room/);
    assert.deepEqual(complaints, []);
    await page.browserContext().close();
  });

  it('counts the desired members of a Service, and names those that drain or are refused as they change', async () => {
    const { page, complaints } = await open();
    const row = 'tr:has(button[data-name="default/web"])';
    await shown(page, row, /14 serving, 1 draining, 2 refused/);
    await page.click(`${row} button`);
    await shown(page, '.panel', /desired members14 Nodes.*draining1: worker-a6 \(Excluded: a label excludes/);
    await shown(page, '.panel', /refused2: worker-b6 \(PoweredOff:.*worker-a5 \(Uninitialized:.*not known herehealth/);
    await keepPicture(page, 'members');
    assert.deepEqual(await faultsOfAccess(page), []);
    cluster.exclude('worker-c1', true);
    await shown(page, row, /13 serving, 2 draining, 2 refused/);
    await shown(page, '.panel', /desired members13 Nodes.*draining2: worker-a6, worker-c1 \(Excluded/);
    cluster.exclude('worker-c1', false);
    await shown(page, row, /14 serving, 1 draining, 2 refused/);
    assert.deepEqual(complaints, []);
    await page.browserContext().close();
  });

  it('follows the keyboard: arrows between Nodes and zones, Enter explains, / filters, Escape clears', async () => {
    const { page } = await open();
    const focused = () => page.evaluate("document.activeElement?.getAttribute('data-name')");
    await page.focus('[data-name="worker-a1"]');
    await page.keyboard.press('ArrowRight');
    assert.equal(await focused(), 'worker-a2');
    await page.keyboard.press('End');
    assert.equal(await focused(), 'worker-a6');
    await page.keyboard.press('ArrowDown');
    const below = String(await focused());
    assert.match(below, /^worker-(a|b)\d$/);
    await page.keyboard.press('Home');
    await page.keyboard.press('ArrowUp');
    await page.keyboard.press('Home');
    assert.equal(await focused(), 'worker-a1');
    await page.keyboard.press('Enter');
    await shown(page, '.panel', /worker-a1/);
    await page.keyboard.press('Escape');
    await page.keyboard.press('/');
    assert.equal(await page.evaluate('document.activeElement?.id'), 'filter');
    await page.keyboard.type('eu-1b missing');
    await shown(page, '#nodes-title', /1 of 18/);
    assert.deepEqual(await page.$$eval('[data-state]', (all) => all.map((one) => one.getAttribute('data-name'))), [
      'worker-b5',
    ]);
    await page.keyboard.press('Escape');
    await shown(page, '#nodes-title', /^Nodes 18$/);
    const stops = await page.$$eval('[data-state][tabindex="0"]', (all) => all.length);
    assert.equal(stops, 3);
    await page.browserContext().close();
  });

  describe('as soon as the panel is shown', () => {
    /** Opens the panel by a click, and presses keys in the moment in which the panel is there. */
    async function pressAtOnce(page: Page, ...keys: readonly string[]): Promise<void> {
      await page.focus('[data-name="worker-a1"]');
      await page.evaluate(`new Promise((pressed) => {
        new MutationObserver((_, observer) => {
          if (!document.querySelector('.panel')) return;
          observer.disconnect();
          for (const key of ${JSON.stringify(keys)})
            document.activeElement.dispatchEvent(new KeyboardEvent('keydown', { key, bubbles: true }));
          requestAnimationFrame(() => requestAnimationFrame(() => setTimeout(pressed, 200)));
        }).observe(document.body, { childList: true, subtree: true });
        document.activeElement.click();
      })`);
    }

    it('closes it on Escape', async () => {
      const { page } = await open();
      await pressAtOnce(page, 'Escape');
      assert.equal(await page.$('.panel'), null);
      await page.browserContext().close();
    });

    it('leaves the focus in the filter that / has chosen', async () => {
      const { page } = await open();
      await pressAtOnce(page, '/');
      await page.keyboard.type('eu-1b missing');
      await shown(page, '#nodes-title', /1 of 18/);
      assert.notEqual(await page.$('.panel'), null);
      await page.browserContext().close();
    });
  });

  it('narrows to one reason and back', async () => {
    const { page } = await open();
    const chip = await page.waitForSelector('.chip ::-p-text(CloudUnavailable)');
    await chip?.click();
    await shown(page, '#nodes-title', /1 of 18/);
    assert.equal(
      await page.$eval('.chip[aria-pressed="true"]', (one) => one.textContent),
      '1 waiting CloudUnavailable',
    );
    await page.click('.chip[aria-pressed="true"]');
    await shown(page, '#nodes-title', /^Nodes 18$/);
    await page.browserContext().close();
  });

  it('shows a change as it happens, and keeps still for those who ask for it', async () => {
    const { page } = await open();
    cluster.setCondition('worker-a1', 'False', 'AddressConflict', 'two Nodes have this address');
    await page.waitForSelector('[data-name="worker-a1"][title*="waiting (AddressConflict)"]');
    cluster.setCondition('worker-a1', 'True', 'Initialized', 'up to date with the cloud');
    await page.waitForSelector('[data-name="worker-a1"][title*="initialized (Initialized)"]');
    const motion = () => page.evaluate("getComputedStyle(document.querySelector('.card')).transitionDuration");
    assert.notEqual(await motion(), '0s');
    await page.emulateMediaFeatures([{ name: 'prefers-reduced-motion', value: 'reduce' }]);
    assert.equal(await motion(), '0s');
    await page.browserContext().close();
  });

  it('fits a narrow screen without scrolling sideways', async () => {
    const { page } = await open({ width: 420, height: 900 });
    const wider = await page.evaluate('document.documentElement.scrollWidth - document.documentElement.clientWidth');
    assert.equal(wider, 0);
    await keepPicture(page, 'narrow');
    await page.browserContext().close();
  });
});

describe('the page for a credential without rights', () => {
  it('says what is unknown instead of showing nothing', async () => {
    const browser = await startBrowser();
    const cluster = await showCluster(
      () => {},
      async (api) => {
        const rest = createKubeRest(api);
        await rest.must('POST', '/api/v1/namespaces/default/serviceaccounts', { metadata: { name: 'visitor' } });
        const token = await serviceAccountToken(rest, { namespace: 'default', name: 'visitor' });
        rest.close();
        return token;
      },
    );
    const { page, complaints } = await openPage(browser, cluster.url);
    await page.waitForSelector('.notice', { timeout: 30_000 });
    assert.match(
      await page.$eval('[role=status]', (one) => one.textContent),
      /may not list or watch: nodes, services, events/,
    );
    assert.equal(
      await page.$eval('#decisions-title', (one) => one.textContent),
      'Decisions unknown: may not be listed',
    );
    const body = await page.$eval('body', (one) => one.textContent);
    assert.match(body, /Leader ?unknown: may not be read/);
    assert.doesNotMatch(body, /No Service|No decision|holds the Lease/);
    await keepPicture(page, 'without-rights');
    assert.deepEqual(await faultsOfAccess(page), []);
    assert.deepEqual(complaints, []);
    await browser.close();
    await cluster.stop();
  });
});
