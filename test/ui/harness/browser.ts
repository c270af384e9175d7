import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import puppeteer, { type Browser, type Page } from 'puppeteer-core';

/** One look at a page. */
export interface Look {
  readonly scheme?: 'light' | 'dark';
  readonly width?: number;
  readonly height?: number;
}

export interface OpenedPage {
  readonly page: Page;
  /** What the browser complained about: errors of the script, refused resources, breaches of the policy. */
  readonly complaints: readonly string[];
  /** Every address that the page asked for. */
  readonly requests: readonly string[];
}

/** Starts the Chromium that the run found. */
export async function startBrowser(): Promise<Browser> {
  return puppeteer.launch({
    executablePath: process.env['CHROMIUM_PROGRAM']!,
    env: { ...process.env, LD_LIBRARY_PATH: process.env['CHROMIUM_LIBRARIES'] },
    args: [
      '--no-sandbox',
      '--disable-gpu',
      '--disable-quic',
      '--no-first-run',
      '--disable-dev-shm-usage',
      '--disable-background-networking',
      '--disable-component-update',
      '--disable-sync',
    ],
  });
}

/** Opens an address in a context of its own. */
export async function openPage(browser: Browser, url: string, look: Look = {}): Promise<OpenedPage> {
  const page = await (await browser.createBrowserContext()).newPage();
  const complaints: string[] = [];
  const requests: string[] = [];
  page.on('pageerror', (error) => complaints.push(String(error)));
  page.on('console', (message) => {
    if (['error', 'warn'].includes(message.type())) complaints.push(message.text());
  });
  page.on('request', (request) => requests.push(request.url()));
  await page.setViewport({ width: look.width ?? 1440, height: look.height ?? 900 });
  await page.emulateMediaFeatures([{ name: 'prefers-color-scheme', value: look.scheme ?? 'light' }]);
  await page.goto(url, { waitUntil: 'domcontentloaded' });
  return { page, complaints, requests };
}

/** Keeps a picture where the run said so. */
export async function keepPicture(page: Page, name: string): Promise<void> {
  const folder = process.env['SCREENSHOTS']!;
  await mkdir(folder, { recursive: true });
  await page.screenshot({ path: join(folder, `${name}.png`) as `${string}.png` });
}
