import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { kubectl, look, mpi, open, submit, withBrowser, world } from './world';

withBrowser();

beforeAll(async () => {
  await mpi('delete', 'holder', '--wait').catch(() => '');
  await submit('holder', ['mpirun', '--output', 'tag', 'mpi-hello', '--sleep', '3600']);
  await mpi('wait', 'holder', '--for=running', '--timeout=2m');
});
afterAll(() => mpi('delete', 'holder').catch(() => ''));

const table = (page: Page, name: string) => page.getByRole('grid', { name, exact: true });
const part = (page: Page, name: string) => page.getByRole('region', { name, exact: true });

// width is the room that the content needs.
const width = (page: Page) => page.evaluate(() =>
  Math.max(document.documentElement.scrollWidth, document.querySelector('main')?.scrollWidth ?? 0));

// fits looks at a page at 320 pixels, and at 200 % zoom of a screen of 1280 pixels, which is 640 pixels of CSS.
async function fits(page: Page, name: string) {
  for (const room of [640, 320]) {
    await page.setViewportSize({ width: room, height: 800 });
    expect(await width(page), `${name} at ${room}`).toBeLessThanOrEqual(room);
    await look(page, `${name}-${room}`);
  }
  await page.setViewportSize({ width: 1440, height: 900 });
}

// explained holds that every heading and term of a page explains itself.
async function explained(page: Page) {
  const count = await page.locator('main :is(th, dt):not(.matrix *)').count();
  expect(count).toBeGreaterThan(0);
  expect(await page.locator('main :is(th, dt):not(.matrix *) .word').count()).toBe(count);
  await page.locator('main :is(th, dt) .word').first().hover();
  expect((await page.getByRole('tooltip').first().textContent())?.length).toBeGreaterThan(15);
  await page.mouse.move(0, 0);
}

describe('the cluster', () => {
  test('shows an admin who holds what, with the numbers of the commands', async () => {
    const page = await open('admin', '/cluster');
    const row = table(page, 'Holders').getByRole('row', { name: /holder/ });
    await row.waitFor();
    const pods = JSON.parse(await mpi('get', 'holder', '-o', 'json')) as { nodes: unknown[]; launcher?: unknown };
    expect(await row.innerText()).toContain(world.namespace);
    expect(pods.nodes.length).toBeGreaterThan(0);
    const cost = await table(page, 'Cost of this month').getByRole('row', { name: world.namespace }).innerText();
    expect(cost).toMatch(/\d+\.\d\d/);
    await part(page, 'Shares of queues').getByText('This cluster has no queues').waitFor();
    await part(page, 'Waits of the last week').getByText('No job that is still here left a queue').waitFor();
    await part(page, 'Failures by cause').waitFor();
    for (const by of ['by tenant', 'by person']) {
      await page.getByRole('button', { name: by }).first().click();
      await table(page, 'In use now').getByRole('row').nth(1).waitFor();
    }
    await page.getByRole('button', { name: 'by profile' }).first().click();
    expect(await table(page, 'In use now').innerText()).toMatch(/\d of \d/);
    await look(page, 'cluster');
    await explained(page);
    await fits(page, 'cluster');
  });

  test('shows an editor the own namespace, and names each right that is missing', async () => {
    const page = await open('editor', '/cluster');
    await table(page, 'Holders').getByRole('row', { name: /holder/ }).waitFor();
    await page.getByText(/jobs of other namespaces/).waitFor();
    await part(page, 'Shares of queues').getByText(/lacks 'list' permission for clusterqueues/).waitFor();
    expect(await table(page, 'Shares of queues').count()).toBe(0);
    await look(page, 'cluster-editor');
  });

  test('shows a stranger the right that is missing', async () => {
    const page = await open('stranger', '/cluster', { expected: /403/ });
    await page.getByText(/lacks 'list' permission for trainjobs/).first().waitFor();
    await look(page, 'cluster-stranger');
  });
});

describe('runtimes', () => {
  test('UC3: a runtime is found, tested by a job of the user, and its result is a matrix', async () => {
    const page = await open('editor', '/runtimes');
    await page.getByRole('link', { name: 'openmpi5-cpu', exact: true }).waitFor();
    await look(page, 'runtimes');
    await explained(page);
    await fits(page, 'runtimes');
    await page.getByRole('link', { name: 'openmpi5-cpu', exact: true }).click();
    await page.getByRole('heading', { name: 'openmpi5-cpu' }).waitFor();
    await table(page, 'Where it ran').getByRole('link', { name: 'holder' }).waitFor();
    await mpi('delete', 'holder', '--wait'); // the machines are small
    await page.getByRole('button', { name: 'Test', exact: true }).click();
    await page.getByText('mpi-agent').first().waitFor();
    await page.getByText('fits now').waitFor();
    await look(page, 'runtime-test');
    await page.getByRole('button', { name: 'Start the test' }).click();
    await page.getByRole('table', { name: /µs/ }).waitFor({ timeout: 120_000 });
    await page.getByText(/Round trip of 4 pairs between hosts in µs: median/).waitFor();
    await page.getByText('fingerprint: sha256:').waitFor();
    await look(page, 'runtime');
    await page.getByRole('button', { name: 'Bandwidth' }).click();
    await page.getByText(/Bandwidth of 4 pairs between hosts in Mbit\/s/).waitFor();
    await explained(page);
    await fits(page, 'runtime');
    const name = new URL(page.url()).searchParams.get('test') ?? '';
    expect(await mpi('logs', name)).toContain('lockstep.dev/probe/v1');
    await page.reload();
    await page.getByRole('link', { name: 'result of the test' }).first().waitFor();
    await mpi('delete', name);
  });

  test('a viewer learns which right a test needs', async () => {
    const page = await open('viewer', '/runtimes/openmpi5-cpu');
    const button = page.getByRole('button', { name: 'Test', exact: true });
    await button.waitFor();
    expect(await button.getAttribute('aria-disabled')).toBe('true');
    await button.hover();
    await page.getByText(`You may not create jobs in namespace ${world.namespace}`).waitFor();
    await look(page, 'runtime-viewer');
  });

  test('a new runtime is a file and the commands of its pull request', async () => {
    const page = await open('editor', '/new-runtime');
    await page.getByRole('button', { name: 'Save the file' }).click();
    await page.getByText('Write a version such as 5.0.7.').waitFor();
    for (const [field, value] of [['Runtime name', 'of-page'], ['MPI version', '5.0.7'],
      ['Runtime image', 'registry.example.com/mpi:5'], ['Profile', 'cpu-ethernet']] as const) {
      await page.getByLabel(field, { exact: true }).fill(value);
    }
    await page.getByText('git add catalog/runtimes/of-page.yaml').waitFor();
    await look(page, 'new-runtime');
    const saved = page.waitForEvent('download');
    await page.getByRole('button', { name: 'Save the file' }).click();
    expect((await saved).suggestedFilename()).toBe('of-page.yaml');
    await fits(page, 'new-runtime');
  });

  test('a runtime of the form has a page once it is compiled, and a test certifies it', async () => {
    const page = await open('admin', '/runtimes/of-page');
    await page.getByRole('heading', { name: 'of-page' }).waitFor();
    const printed = await kubectl('mpi', 'certify', 'of-page', '-n', 'lockstep-own', '--nodes', '2', '--slots', '2',
      '--for', '2s');
    expect(printed).toMatch(/^of-page holds: 4 ranks on 2 nodes[^]*fingerprint: sha256:/);
  });
});

describe('templates', () => {
  const file = join(world.pictures, 'templates.yaml');
  const job = `apiVersion: trainer.kubeflow.org/v1alpha1
kind: TrainJob
metadata: {name: of-template}
spec: # of the team
  runtimeRef: {name: openmpi5-cpu}
  trainer: {command: [mpirun, mpi-hello], numNodes: 2}
`;
  beforeAll(async () => {
    const map = { apiVersion: 'v1', kind: 'ConfigMap', data: { 'hello.yaml': job, 'broken.yaml': 'kind: Pod\n' },
      metadata: { name: 'of-page', namespace: world.namespace, labels: { 'lockstep.dev/templates': '' } } };
    writeFileSync(file, JSON.stringify(map));
    await kubectl('apply', '-f', file);
  });
  afterAll(() => kubectl('delete', '-f', file));

  test('a job begins with a template, and is saved as one', async () => {
    const page = await open('editor', '/create');
    await page.getByText(/template broken/).waitFor();
    await page.getByRole('button', { name: /^Begin with/ }).click();
    await page.getByRole('option', { name: 'Template hello' }).click();
    await expect.poll(() => page.getByLabel('Name', { exact: true }).inputValue()).toBe('of-template');
    await page.getByText('# of the team').waitFor();
    await page.getByRole('button', { name: '5 Review' }).click();
    await page.getByText('fits now').waitFor();
    await look(page, 'template');
    const saved = page.waitForEvent('download');
    await page.getByRole('button', { name: 'Save as template' }).click();
    expect((await saved).suggestedFilename()).toBe('of-template.yaml');
    const text = readFileSync(await (await saved).path(), 'utf8');
    expect(text).toMatch(/^apiVersion: trainer[^]*spec:\s+# of the team/);
    expect(text).not.toContain(world.namespace);
    await fits(page, 'template');
  });

  test('a stranger learns which right templates need', async () => {
    const page = await open('stranger', `/jobs?ns=${world.namespace}`, { expected: /403/ });
    const templates = new URL(`/api/v1/templates?namespace=${world.namespace}`, page.url());
    const answer = await page.request.get(templates.href);
    expect(await answer.text()).toContain("lacks 'list' permission for configmaps");
  });
});

test('the first pages fit at 200 % zoom, too', async () => {
  const page = await open('editor', '/jobs');
  for (const path of ['/jobs', '/create', '/compare']) {
    await page.goto(new URL(path, page.url()).href);
    await page.getByRole('heading', { level: 1 }).waitFor();
    await page.waitForLoadState('networkidle', { timeout: 2_000 }).catch(() => undefined);
    await fits(page, `zoom${path.replace('/', '-')}`);
  }
});
