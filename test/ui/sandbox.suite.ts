import assert from 'node:assert/strict';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import type { Browser, Page } from 'puppeteer-core';
import { type Child, startChild } from '../kit/world/child.ts';
import { until } from '../kit/world/scenario.ts';
import { faultsOfAccess } from './harness/accessibility.ts';
import { keepPicture, openPage, startBrowser } from './harness/browser.ts';

const sandboxMain = join(import.meta.dirname, '../sandbox/main.ts');

describe('the page of the sandbox', () => {
  let folder: string;
  let browser: Browser;
  let sandbox: Child;
  let page: Page;
  let complaints: readonly string[];
  const printed = () => readFile(join(folder, 'output'), 'utf8');

  before(async () => {
    folder = await mkdtemp(join(tmpdir(), 'mooring-ui-'));
    browser = await startBrowser();
    sandbox = startChild([sandboxMain, '--ui', '--scenario=join'], join(folder, 'output'));
    const url = await until('the address is printed', 60_000, async () => /^http:\S+/.exec(await printed())?.[0]);
    ({ page, complaints } = await openPage(browser, url));
  });
  after(async () => {
    await browser?.close();
    await sandbox?.stop();
    await rm(folder, { recursive: true });
  });

  async function press(title: string, node?: string): Promise<void> {
    if (node !== undefined) await page.select('.faults select', node);
    const button = await page.waitForSelector(`.faults button::-p-text(${title})`);
    await button?.click();
  }

  async function says(selector: string, text: RegExp): Promise<void> {
    const read = `document.querySelector(${JSON.stringify(selector)})?.textContent ?? ''`;
    await page.waitForFunction(`new RegExp(${JSON.stringify(text.source)}).test(${read})`, { timeout: 120_000 });
  }

  it('shows the tour from its first second on, and breaks nothing while it goes on', async () => {
    assert.equal((await printed()).split('\n')[0], page.url());
    await page.waitForSelector('.faults', { timeout: 30_000 });
    if (!(await printed()).includes('the page can break things now')) {
      await press('Kill the leader');
      await says('.faults [role=status]', /Not yet: the tour goes on|was killed/);
    }
    await says('#nodes-title', /^Nodes 5$/);
    await until('the tour is over', 120_000, async () => (await printed()).includes('the page can break things now'));
    assert.match(await printed(), /export KUBECONFIG=/);
  });

  it('shows calls, members and routes by the metrics of the leader', async () => {
    await press('Create a Service');
    await says('#services-title ~ section', /default\/shop-.*ensured.*5 serving, 0 draining, 0 refused/);
    await says('[aria-labelledby=clouds-title]', /simulated/);
    await says('[aria-labelledby=members-title]', /serving.*5/);
    await says('[aria-labelledby=routes-title]', /5 RouteCreated.*kept.*5/);
    assert.deepEqual(await faultsOfAccess(page), []);
    await keepPicture(page, 'sandbox');
  });

  it('cuts the power of a VM, and its Node is shown as powered off', async () => {
    await press('Power off', 'node-0002');
    await says('.faults [role=status]', /node-0002 lost its power/);
    await page.waitForSelector('[data-name="node-0002"].is-powered-off', { timeout: 120_000 });
    await says('#services-title ~ section', /4 serving, 0 draining, 1 refused/);
    await keepPicture(page, 'sandbox-powered-off');
    await press('Power on', 'node-0002');
    await page.waitForSelector('[data-name="node-0002"].is-initialized', { timeout: 120_000 });
  });

  it('terminates a VM, and its Node goes', async () => {
    await press('Terminate', 'node-0003');
    await page.waitForSelector('[data-name="node-0003"]', { hidden: true, timeout: 120_000 });
    await says('.events', /DeletingNode/);
  });

  it('throttles the cloud, and the calls show it', async () => {
    await press('Throttle the cloud');
    await press('Create a Service');
    await page.waitForSelector('[aria-labelledby=clouds-title] td.wanting', { timeout: 120_000 });
    await press('Lift the throttle');
  });

  it('gives the controllers a wrong credential, and a Node whose VM is silent stays', async () => {
    await press('Wrong credential');
    await press('Power off', 'node-0004');
    await says('.faults [role=status]', /node-0004 lost its power/);
    await page.waitForSelector('[data-name="node-0004"].is-missing', { timeout: 120_000 });
    await keepPicture(page, 'sandbox-wrong-credential');
    await press('Right credential');
    await press('Power on', 'node-0004');
    await page.waitForSelector('[data-name="node-0004"].is-initialized', { timeout: 120_000 });
  });

  it('kills the leader, and the other replica leads', async () => {
    const leader = "[...document.querySelectorAll('.top dd')][1].textContent.split(',')[0]";
    const before = await page.evaluate(leader);
    await press('Kill the leader');
    await says('.faults [role=status]', /was killed/);
    await page.waitForFunction(`${leader} !== ${JSON.stringify(before)}`, { timeout: 120_000 });
    await press('Start it again');
    await says('.faults [role=status]', /controller-\d started/);
    // The browser reports each refusal of a fault that came too early.
    assert.deepEqual(
      complaints.filter((text) => !text.includes('409')),
      [],
    );
  });
});
