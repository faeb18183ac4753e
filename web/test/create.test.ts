import type { Page } from 'playwright-core';
import { beforeAll, describe, expect, test } from 'vitest';
import { emptyJob, write, type Form } from '../src/create/form';
import { problemsOf } from '../src/create/rules';
import { random, someForm } from '../src/create/some';
import { textOf } from '../src/create/text';
import { jobPage, look, mpi, open, withBrowser, world } from './world';

withBrowser();

const script = `import os, time
rank = int(os.environ["OMPI_COMM_WORLD_RANK"])
for step in range(1, 6):
    if rank == 0: print(f"lockstep: progress {step * 20}% loss={1 / step:.3f}", flush=True)
    time.sleep(1)
print(f"done by rank {rank}", flush=True)
`;

beforeAll(() => mpi('delete', 'by-form', 'by-form-2', 'by-keys', '--wait').catch(() => ''));

const next = (page: Page) => page.getByRole('button', { name: /^Next/ }).click();
const yaml = (page: Page) => page.locator('.cm-content').innerText();
const outlook = (page: Page) => page.getByRole('region', { name: 'What would become of it' });

describe('UC1a: a new user, without YAML', () => {
  test('creates a job by the form, watches it to its end, and repeats it', async () => {
    const page = await open('editor', '/jobs');
    await page.getByRole('link', { name: 'Create a job' }).first().click();
    await page.getByLabel('Name', { exact: true }).fill('by-form');
    const card = page.locator('.runtime', { hasText: 'openmpi5-cpu' });
    await card.getByRole('radio').check();
    await look(page, 'create-runtime');
    await next(page);
    await page.getByLabel('Nodes', { exact: true }).fill('2');
    await page.getByLabel('Slots per node', { exact: true }).fill('2');
    await page.getByText('4 slots').waitFor();
    await page.getByRole('button', { name: 'Add a resource' }).click();
    await page.getByLabel('Amount 1', { exact: true }).fill('100m');
    await look(page, 'create-size');
    await next(page);
    await page.getByLabel('Command', { exact: true }).fill('mpirun --output tag python3 train.py');
    await page.locator('input[type=file]').setInputFiles({ name: 'train.py', mimeType: 'text/plain',
      buffer: Buffer.from(script) });
    await page.getByText('1 file,').waitFor();
    await page.getByRole('button', { name: 'Add a variable' }).click();
    await page.getByLabel('Variable 1', { exact: true }).fill('LR');
    await page.getByLabel('Value 1', { exact: true }).fill('0.1');
    await look(page, 'create-program');
    await next(page);
    await look(page, 'create-data');
    await next(page);
    await outlook(page).getByText('fits now').waitFor();
    await page.getByText('kubectl mpi submit by-form --namespace').waitFor();
    await look(page, 'create');
    await page.getByRole('button', { name: 'Create by-form' }).click();
    await page.getByRole('heading', { name: 'by-form' }).waitFor();
    await page.getByText('Complete', { exact: true }).first().waitFor({ timeout: 120_000 });
    expect(await mpi('logs', 'by-form')).toContain('done by rank 3');

    await page.getByRole('link', { name: 'Repeat' }).click();
    await page.getByRole('heading', { name: 'Repeat by-form' }).waitFor();
    await expect.poll(() => page.getByLabel('Name', { exact: true }).inputValue()).toBe('by-form-2');
    await page.getByRole('button', { name: '3 Program' }).click();
    await page.getByLabel('Value 1', { exact: true }).fill('0.2');
    await page.getByRole('button', { name: '5 Review' }).click();
    await outlook(page).getByText('fits now').waitFor();
    await look(page, 'repeat');
    await page.getByRole('button', { name: 'Create by-form-2' }).click();
    await page.getByText('Complete', { exact: true }).first().waitFor({ timeout: 120_000 });
  });

  test('the lines of the last step make the same job', async () => {
    const page = await open('editor', `/create?from=${world.namespace}/by-form`);
    await page.getByRole('button', { name: '5 Review' }).click();
    const line = await page.locator('.code.same').innerText();
    expect(line).toContain('--env LR=0.1 --files . -- mpirun');
    await page.getByRole('button', { name: 'Python', exact: true }).click();
    expect(await page.locator('.code.same').innerText()).toContain('env={"LR": "0.1"}');
    await page.close();
  });
});

test('two runs are compared', async () => {
  const page = await open('editor', jobPage('by-form'));
  await page.getByRole('link', { name: 'Compare' }).click();
  await page.getByText('Choose two runs or more').waitFor();
  await page.getByLabel('Job to compare').fill('by-form-2');
  await page.keyboard.press('Enter');
  const row = page.getByRole('row', { name: /env LR/ }).first();
  await row.waitFor();
  expect(await row.innerText()).toMatch(/0\.1\s+0\.2/);
  await page.getByRole('row', { name: /^loss/ }).waitFor();
  await page.getByRole('row', { name: /^Running/ }).waitFor();
  await look(page, 'compare');
  const words = await mpi('diff', 'by-form', 'by-form-2', '-o', 'json');
  for (const { what } of (JSON.parse(words) as { differences: { what: string }[] }).differences) {
    await page.getByRole('rowheader', { name: what, exact: true }).first().waitFor();
  }
  await page.setViewportSize({ width: 320, height: 800 });
  await look(page, 'compare-narrow');
});

describe('the form and the YAML', () => {
  test('are one job: comments and unknown fields stay, mistakes are marked', async () => {
    const page = await open('editor', '/create');
    await page.getByLabel('Name', { exact: true }).waitFor();
    await page.locator('.cm-content').click();
    await page.keyboard.press('Control+End');
    await page.keyboard.type('# my comment\n');
    await page.getByLabel('Name', { exact: true }).fill('of-both');
    await expect.poll(() => yaml(page)).toMatch(/name: of-both[^]*# my comment/);
    await page.locator('.cm-content').click();
    await page.keyboard.press('Control+End');
    await page.getByRole('button', { name: '3 Program' }).click();
    await page.getByLabel('Command', { exact: true }).fill('mpirun true');
    await page.getByRole('button', { name: '1 Runtime' }).click();
    await page.locator('.runtime', { hasText: 'openmpi5-cpu' }).getByRole('radio').check();
    await page.locator('.cm-line', { hasText: 'command:' }).click();
    await page.keyboard.press('Home');
    await page.keyboard.type('numNode: 3\n');
    await outlook(page).getByText(/has no field .numNode/).waitFor();
    await look(page, 'create-mistake');
    await page.getByRole('button', { name: '5 Review' }).click();
    expect(await page.getByRole('button', { name: 'Create of-both' }).getAttribute('aria-disabled')).toBe('true');
    await page.locator('.cm-content').click();
    await page.keyboard.press('Control+a');
    await page.keyboard.type('a: [');
    await page.getByText('The form waits until the YAML can be read').waitFor();
    await look(page, 'create-no-yaml');
  });

  test('what can never run is named, with the largest that can', async () => {
    const page = await open('editor', '/create');
    await page.getByLabel('Name', { exact: true }).fill('too-large');
    await page.locator('.runtime', { hasText: 'openmpi5-cpu' }).getByRole('radio').check();
    await page.getByRole('button', { name: '3 Program' }).click();
    await page.getByLabel('Command', { exact: true }).fill('mpirun true');
    await page.getByRole('button', { name: '2 Size' }).click();
    await page.getByLabel('Nodes', { exact: true }).fill('99');
    await page.getByText('This runtime takes 1 to 8 nodes.').first().waitFor();
    await page.getByRole('button', { name: 'Add a resource' }).click();
    await page.getByLabel('Amount 1', { exact: true }).fill('64');
    await page.getByText('A node of this runtime has at most 1500m cpu.').first().waitFor();
    await page.getByLabel('Amount 1', { exact: true }).fill('1500m');
    await page.getByLabel('Nodes', { exact: true }).fill('8');
    await outlook(page).getByText(/^(never|waits).*the largest that fits now has/).waitFor();
    await look(page, 'create-never');
  });
});

test('a right that is missing is shown before anything is typed', async () => {
  const page = await open('viewer', '/create');
  await page.getByText(`You may not create jobs in namespace ${world.namespace}`).waitFor();
  expect(await page.getByLabel('Name', { exact: true }).count()).toBe(0);
  await look(page, 'create-viewer');
});

test('keys alone create a job', async () => {
  const page = await open('editor', '/create');
  await page.getByLabel('Name', { exact: true }).waitFor();
  const walk = async (name: RegExp) => {
    for (let i = 0; i < 80; i++) {
      const at = await page.evaluate(() => {
        const e = document.activeElement as HTMLInputElement | null;
        const label = e?.labels?.[0]?.textContent ?? e?.getAttribute('aria-label') ?? e?.textContent;
        return `${e?.tagName} ${label}`;
      });
      if (name.test(at)) return;
      await page.keyboard.press('Tab');
    }
    throw new Error(`no way to ${name} by keyboard`);
  };
  const forward = async () => { await walk(/^BUTTON Next/); await page.keyboard.press('Enter'); };
  await walk(/^INPUT Name/);
  await page.keyboard.press('Control+a');
  await page.keyboard.type('by-keys');
  await walk(/^INPUT .*-cpu/);
  for (let i = 0; i < 5 && !(await page.locator('.runtime.chosen', { hasText: 'openmpi5-cpu' }).count()); i++) {
    await page.keyboard.press('ArrowDown');
  }
  await forward();
  await walk(/^BUTTON Add a resource/);
  await page.keyboard.press('Enter');
  await walk(/^INPUT Amount 1/);
  await page.keyboard.press('Control+a');
  await page.keyboard.type('100m');
  await forward();
  await walk(/^INPUT Command/);
  await page.keyboard.type('mpirun mpi-hello');
  await forward();
  await forward();
  await outlook(page).getByText('fits now').waitFor();
  await walk(/^BUTTON Create by-keys/);
  await page.keyboard.press('Enter');
  await page.getByRole('heading', { name: 'by-keys' }).waitFor();
  await page.getByText('Complete', { exact: true }).first().waitFor({ timeout: 120_000 });
});

test.each([['light', 320], ['dark', 320], ['dark', 1440]] as const)('looks %s at %i px', async (colorScheme, width) => {
  const page = await open('editor', '/create', { colorScheme, viewport: { width, height: 800 } });
  await page.getByLabel('Name', { exact: true }).waitFor();
  await page.locator('.cm-content').waitFor();
  for (const step of ['1 Runtime', '2 Size', '3 Program', '4 Data', '5 Review']) {
    await page.getByRole('button', { name: step }).click();
    const needed = await page.evaluate(() => Math.max(document.documentElement.scrollWidth,
      document.querySelector('main')?.scrollWidth ?? 0));
    expect(needed, step).toBeLessThanOrEqual(width);
    await look(page, `create-${width}-${colorScheme}-${step[0]}`);
  }
});

test('what the form lets through, `kubectl mpi validate` does not refuse: 1,200 jobs', async () => {
  const runtime = { kind: 'ClusterTrainingRuntime', name: 'openmpi5-cpu', minNodes: 1, maxNodes: 8, slotsPerNode: 2,
    most: 'cpu 1500m, memory 3Gi' };
  const texts: string[] = [];
  let refused = 0;
  for (let seed = 0; texts.length < 1_200; seed++) {
    const r = random(seed);
    const some = someForm(r);
    // The API server judges how many slots a machine has room for.
    const form: Form = { ...some, slots: Math.min(some.slots ?? 2, 2), runtime: runtime.name, queue: '', ...odder(r) };
    if (Object.keys(problemsOf(form, runtime)).length > 0) refused++;
    else texts.push(textOf(write(emptyJob('', world.namespace), form)));
  }
  expect(refused).toBeGreaterThan(100);
  for (let i = 0; i < texts.length; i += 200) {
    const told = await validate(texts.slice(i, i + 200));
    expect(told).toContain('200 TrainJobs, no mistakes found');
  }
});

// odder changes one field to what people type by mistake, so that the rules of the form have to refuse some.
function odder(r: ReturnType<typeof random>): Partial<Form> {
  return r.pick<Partial<Form>>([
    {}, {}, {}, { name: r.pick(['Train', 'a_b', 'a'.repeat(44), 'a'.repeat(45), '-a', '1a', 'a.b', 'ä', '']) },
    { nodes: r.pick([0, 8, 9, 5_000]) }, { slots: r.pick([0, 1, 4_097]) },
    { image: r.pick(['a b', 'x', 'registry.example/a@sha256:abc', ' ', 'a:b:c', 'A/B']) },
    { env: [{ name: r.pick(['A', '1A', 'A B', '', 'A-B', 'OMPI_X', 'ä', 'A=B', '.']), value: r.pick(['', 'x',
      '\u2028', '\x07']) }] },
    { env: [{ name: 'A', value: '1' }, { name: r.pick(['A', 'B']), value: '2' }] },
    { resources: [{ name: r.pick(['cpu', 'memory', 'gpu', 'nvidia.com/gpu', 'hugepages-2Mi', '']),
      amount: r.pick(['1', '0', '-1', '1.5', '4 Gi', '4GB', '1e3', '100m', '8Mi', '', '1Ki']) }] },
    { claims: [{ name: r.pick(['a', 'A', 'a_b', '']), readOnly: false,
      path: r.pick(['/data', 'data', '/', '/a/../b', '/etc', '/a:b', '/opt', '/workspace', '/a//b', '/a/',
        '/proc/x']) }] },
    { files: [{ path: r.pick(['a', 'a/b', '../a', '/a', 'a//b', 'ä b']), text: r.pick(['', 'x\r\ny', '\ufeffx',
      '\x00', 'é\t']) }] },
  ]);
}

async function validate(texts: string[]): Promise<string> {
  const { writeFileSync } = await import('node:fs');
  const file = `${world.pictures}/.jobs.yaml`;
  writeFileSync(file, texts.join('---\n'));
  return mpi('validate', '-f', file);
}

test('a job that does not exist cannot be repeated, and is named', async () => {
  const page = await open('editor', `/create?from=${world.namespace}/no-such-job`, { expected: /404/ });
  await page.getByText(/there is no/i).first().waitFor();
  await look(page, 'repeat-none');
});
