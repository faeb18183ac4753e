import { readFileSync, writeFileSync } from 'node:fs';
import { createServer, connect, type Socket } from 'node:net';
import { join } from 'node:path';
import type { Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { jobPage, kubectl, look, mpi, open, submit, withBrowser, world } from './world';

withBrowser();

const evil = '</script><img src=x onerror=alert(1)>\u202etxt.exe\u0007';
const hostile = `
import sys
out = sys.stdout
out.write("\\x1b]8;;https://evil.example\\x07click\\x1b]8;;\\x07 \\x1b[2J\\x1b[31mred\\x1b[0m\\n")
out.write("<img src=x onerror=alert(1)> <script>alert(2)</script>\\n")
out.write("nul \\x00 bidi \\u202etxt.exe lines \\u2028 end\\n")
out.write("lockstep: progress 1e9% <b>loss</b>=<img src=x onerror=alert(3)> loss=NaN\\n")
out.write("long " + "x" * 10_000_000 + "\\n")
out.write("Traceback (most recent call last):\\n<svg onload=alert(4)>\\n")
out.flush()
sys.exit(9)
`;

beforeAll(async () => {
  await mpi('delete', 'hostile', 'quiet', '--wait').catch(() => '');
  await submit('hostile', ['mpirun', '-n', '1', 'env', 'PYTHONIOENCODING=utf-8', 'python3', '-c', hostile]);
  await submit('quiet', ['mpirun', '--output', 'tag', 'mpi-hello', '--sleep', '3600']);
  await kubectl('annotate', 'trainjob', 'hostile', '-n', world.namespace, `example.com/evil=${evil}`);
  await mpi('wait', 'quiet', '--for=running', '--timeout=2m');
});
afterAll(() => mpi('delete', 'hostile', 'quiet'));

test('hostile output is text on every tab', async () => {
  const page = await open('editor', jobPage('hostile'));
  await page.locator('.failure').waitFor({ timeout: 60_000 });
  await page.getByText('<svg onload=alert(4)>').first().waitFor();
  await page.getByRole('tab', { name: 'Logs' }).click();
  await page.getByText('<img src=x onerror=alert(1)> <script>alert(2)</script>').waitFor();
  await page.getByText(/nul ␀ bidi ⟨U\+202E⟩txt\.exe/).waitFor();
  await page.getByText(/␛]8;;https:\/\/evil\.example␇click/).waitFor();
  await look(page, 'hostile');
  await page.getByRole('tab', { name: 'Configuration' }).click();
  await page.getByText('<img src=x onerror=alert(1)>').first().waitFor();
  for (const tab of ['Workers', 'Metrics', 'Events', 'Overview']) {
    await page.getByRole('tab', { name: tab }).click();
    await page.locator('.tab').waitFor();
  }
  expect(await page.locator('img, script:not([src]), svg[onload]').count()).toBe(0);
});

test('a click is not needed: keys alone open a job, its logs, and suspend and resume it', async () => {
  const page = await open('editor', '/jobs?q=quiet');
  await page.getByRole('link', { name: 'quiet', exact: true }).waitFor();
  const walk = async (name: RegExp) => {
    for (let i = 0; i < 60; i++) {
      await page.keyboard.press('Tab');
      const at = await page.evaluate(() => {
        const e = document.activeElement;
        return `${e?.getAttribute('role') ?? e?.tagName} ${e?.getAttribute('aria-label') ?? e?.textContent}`;
      });
      if (name.test(at)) return;
    }
    throw new Error(`no way to ${name} by keyboard`);
  };
  await walk(/^A quiet$/);
  await page.keyboard.press('Enter');
  await page.getByRole('heading', { name: 'quiet' }).waitFor();
  await walk(/Logs$/);
  await page.keyboard.press('Enter');
  await page.getByText('rank=3 size=4').first().waitFor();
  await page.getByRole('heading', { name: 'quiet' }).click();
  await walk(/^BUTTON Suspend$/);
  await page.keyboard.press('Enter');
  await page.getByRole('dialog').waitFor();
  await walk(/^BUTTON Suspend$/);
  await page.keyboard.press('Enter');
  await page.getByText('Suspended', { exact: true }).first().waitFor();
  await page.getByRole('button', { name: 'Resume' }).focus();
  await page.keyboard.press('Enter');
  await walk(/^BUTTON Resume$/);
  await page.keyboard.press('Enter');
  await page.getByText('Running', { exact: true }).first().waitFor({ timeout: 60_000 });
});

// width is the room that the content needs.
const width = (page: Page) => page.evaluate(() =>
  Math.max(document.documentElement.scrollWidth, document.querySelector('main')?.scrollWidth ?? 0));

describe('looks', () => {
  test.each(['light', 'dark'] as const)('%s and narrow', async (colorScheme) => {
    const page = await open('editor', '/jobs', { colorScheme, viewport: { width: 320, height: 700 } });
    await page.getByRole('link', { name: 'quiet', exact: true }).waitFor();
    expect(await width(page)).toBeLessThanOrEqual(320);
    await look(page, `narrow-jobs-${colorScheme}`);
    await page.getByRole('link', { name: 'quiet', exact: true }).click();
    for (const tab of ['Overview', 'Configuration', 'Workers', 'Logs', 'Metrics', 'Events']) {
      await page.goto(new URL(jobPage('quiet', tab.toLowerCase()), page.url()).href);
      await page.locator(`#tab-${tab.toLowerCase()}`).waitFor();
      await page.waitForLoadState('networkidle', { timeout: 1_000 }).catch(() => undefined);
      expect(await width(page), tab).toBeLessThanOrEqual(320);
      await look(page, `narrow-${tab.toLowerCase()}-${colorScheme}`);
    }
  });

  test('dark and wide', async () => {
    const page = await open('editor', '/jobs', { colorScheme: 'dark' });
    await page.getByRole('link', { name: 'quiet', exact: true }).waitFor();
    await look(page, 'jobs-dark');
    await page.goto(new URL(jobPage('hostile'), page.url()).href);
    await page.locator('.failure').waitFor();
    await look(page, 'failed-dark');
    await page.goto(new URL(jobPage('quiet', 'logs'), page.url()).href);
    await page.getByText('rank=3 size=4').first().waitFor();
    await look(page, 'logs-dark');
  });
});

test('every heading, term and filter has an explanation', async () => {
  const page = await open('editor', '/jobs');
  const explained = async (words: string) => {
    for (const word of await page.locator(words).all()) {
      await word.hover();
      const text = await page.getByRole('tooltip').first().textContent();
      expect(text?.length, await word.innerText()).toBeGreaterThan(15);
      await page.mouse.move(0, 0);
      await page.getByRole('tooltip').waitFor({ state: 'detached' });
    }
  };
  await page.getByRole('link', { name: 'quiet', exact: true }).waitFor();
  expect(await page.locator('th').count()).toBe(await page.locator('th .word').count());
  await explained('th .word');
  for (const toggle of await page.locator('.filters .pf-v6-c-menu-toggle').all()) {
    expect((await toggle.getAttribute('title'))?.length).toBeGreaterThan(15);
  }
  for (const tab of ['overview', 'workers', 'events']) {
    await page.goto(new URL(jobPage('hostile', tab), page.url()).href);
    await page.locator('.word').first().waitFor();
    const words = '.tab :is(th, dt):not(.measures dt)';
    expect(await page.locator(words).count(), tab).toBe(await page.locator(`${words} .word`).count());
    await explained(`${words} .word`);
  }
});

test('an empty list, a filter without a match, a job that is not there', async () => {
  const page = await open('editor', '/jobs?q=no-such-job', { expected: /404/ });
  await page.getByText('No job matches').waitFor();
  await look(page, 'no-match');
  await page.getByRole('button', { name: 'Clear filters' }).last().click();
  await page.getByRole('link', { name: 'quiet', exact: true }).waitFor();
  await page.goto(new URL(jobPage('no-such-job'), page.url()).href);
  await page.getByText('There is no such job').waitFor();
  await look(page, 'no-job');
  await page.goto(new URL('/nowhere', page.url()).href);
  await page.getByText('There is no such page').waitFor();
  await look(page, 'no-page');
});

test('an API server that stops is a banner, and the page comes back by itself', async () => {
  const config = readFileSync(world.kubeconfigs.editor, 'utf8');
  const server = new URL(/server: (\S+)/.exec(config)?.[1] ?? '');
  const open_ = new Set<Socket>();
  const proxy = createServer((socket) => {
    const to = connect(Number(server.port), server.hostname);
    for (const s of [socket, to]) {
      open_.add(s);
      s.on('error', () => s.destroy()).on('close', () => { open_.delete(s); socket.destroy(); to.destroy(); });
    }
    socket.pipe(to).pipe(socket);
  });
  const start = (port: number) => new Promise<void>((done) => { proxy.listen(port, '127.0.0.1', done); });
  await start(0);
  const port = (proxy.address() as { port: number }).port;
  const path = join(world.pictures, '.kubeconfig');
  writeFileSync(path, config.replace(server.href.replace(/\/$/, ''),
    `https://127.0.0.1:${port}\n    tls-server-name: ${server.hostname}`), { mode: 0o600 });
  const page = await open('editor', '/jobs', { kubeconfig: path, expected: /50[0-9]/ });
  await page.getByRole('link', { name: 'quiet', exact: true }).waitFor();
  proxy.close();
  for (const s of open_) s.destroy();
  await page.getByText(/cannot be reached|refused|does not answer/).first().waitFor({ timeout: 40_000 });
  await page.getByRole('link', { name: 'quiet', exact: true }).waitFor(); // the last known state stays
  await look(page, 'api-server-gone');
  await start(port);
  await page.getByText('live', { exact: true }).waitFor({ timeout: 40_000 });
  await expect.poll(() => page.getByText(/cannot be reached|refused|does not answer/).count()).toBe(0);
  proxy.close();
  for (const s of open_) s.destroy();
});
