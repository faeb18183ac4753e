import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, describe, expect, test } from 'vitest';
import { jobPage, kubectl, look, mpi, open, submit, withBrowser, world } from './world';

withBrowser();

const trains = `
import os, time
rank = int(os.environ["OMPI_COMM_WORLD_RANK"])
for step in range(1, 41):
    if rank == 0: print(f"lockstep: progress {step * 2.5:.0f}% remaining={40 - step}s loss={1 / step:.3f}", flush=True)
    print(f"step {step} of rank {rank} needle-{step}-{rank}", flush=True)
    time.sleep(0.6)
`;

// thirsty asks for GPUs, which no machine has here.
const thirsty = `apiVersion: trainer.kubeflow.org/v1alpha1
kind: TrainJob
metadata: {name: thirsty-page, namespace: ${world.gpuNamespace}}
spec:
  runtimeRef: {name: openmpi4-cpu}
  trainer:
    command: [mpirun, mpi-hello]
    numNodes: 8
    resourcesPerNode:
      requests: {cpu: 50m, memory: 64Mi}
      limits: {nvidia.com/gpu: 4}
`;

interface Why { phase: string; message?: string; cause?: { reason: string; message: string; remedy?: string } }
const why = async (...args: string[]) => JSON.parse(await mpi('why', ...args, '-o', 'json')) as Why;

// sameWords compares the card of a failure with `kubectl mpi why`. Jobs of another namespace are the admin's.
async function sameWords(name: string, reason: RegExp, namespace?: string) {
  const admin = { kubeconfig: world.kubeconfigs.admin };
  const page = await open('editor', namespace ? `/jobs/${namespace}/${name}` : jobPage(name), namespace ? admin : {});
  const card = page.locator('.failure');
  await card.waitFor({ timeout: 90_000 });
  await page.locator('.failure h2', { hasText: reason }).waitFor({ timeout: 90_000 });
  const { cause } = await why(name, ...(namespace ? ['-n', namespace, '--kubeconfig', admin.kubeconfig] : []));
  expect(await card.locator('.message').innerText()).toBe(cause?.message);
  if (cause?.remedy) expect(await card.locator('.remedy').innerText()).toBe(`What to do: ${cause.remedy}`);
  return page;
}

beforeAll(async () => {
  await mpi('delete', 'watched', 'killed', 'no-image', 'held', 'blocked', '--wait').catch(() => '');
  await Promise.all([
    submit('killed', ['mpirun', '--output', 'tag', 'bash', '-c',
      'echo before; sleep 3; [ $OMPI_COMM_WORLD_RANK != 3 ] || { echo cannot read the data >&2; exit 7; }; sleep 60']),
    submit('no-image', ['mpirun', 'true'], '--image', 'localhost:1/nobody/nothing:v1'),
    submit('held', ['mpirun', '--output', 'tag', 'mpi-hello', '--sleep', '3600'], '--suspend'),
  ]);
});

describe('UC1: watch', () => {
  test('a job appears, runs and ends on a page that is never loaded again', async () => {
    const list = await open('editor', '/jobs');
    await list.getByRole('link', { name: 'killed', exact: true }).waitFor();
    await list.evaluate(() => { (window as never as { same: boolean }).same = true; });
    await submit('watched', ['mpirun', '--output', 'tag', 'python3', '-c', trains]);
    const row = list.getByRole('row', { name: /watched/ });
    await row.waitFor();
    await row.getByText('Running').waitFor({ timeout: 60_000 });
    expect(await list.evaluate(() => (window as never as { same: boolean }).same)).toBe(true);
    await look(list, 'jobs');

    await row.getByRole('link', { name: 'watched', exact: true }).click();
    const page = list;
    await page.getByText('rank', { exact: false }).first().waitFor();
    await page.locator('.pod.ready').first().waitFor();
    await expect.poll(() => page.locator('.pod.ready').count()).toBeGreaterThanOrEqual(2);
    await page.getByText('loss', { exact: true }).waitFor();
    await look(page, 'overview');

    await page.getByRole('tab', { name: 'Workers' }).click();
    await page.getByRole('grid', { name: 'Workers' }).or(page.getByRole('table', { name: 'Workers' })).waitFor();
    await page.getByText('Running, ready').first().waitFor();
    await look(page, 'workers');

    await page.getByRole('tab', { name: 'Logs' }).click();
    await page.getByText(/needle-\d+-3/).first().waitFor();
    await page.getByLabel('Search the log by a regular expression').fill('needle-(3|5)-[01]$');
    await page.getByText(/^\d of 4$/).waitFor();
    await page.getByRole('button', { name: 'Next match' }).click();
    await page.getByText('2 of 4').waitFor();
    await look(page, 'logs');

    await page.getByRole('tab', { name: 'Configuration' }).click();
    await page.getByText('runtimeRef').waitFor();
    await look(page, 'configuration');
    await page.getByRole('button', { name: 'As run' }).click();
    await page.getByText('replicatedJobs').first().waitFor();

    await page.getByRole('tab', { name: 'Metrics' }).click();
    await page.getByText(/CPU cores|metrics.k8s.io/).first().waitFor();
    await look(page, 'metrics');
    await page.getByRole('tab', { name: 'Events' }).click();
    await page.getByRole('row', { name: /Running|Created|Scheduled/ }).first().waitFor();
    await look(page, 'events');

    await page.getByRole('tab', { name: 'Overview' }).click();
    await page.getByText('Complete', { exact: true }).first().waitFor({ timeout: 90_000 });
    await page.getByText(/machine-hours/).waitFor();
    await look(page, 'complete');
    await page.getByRole('tab', { name: 'Logs' }).click();
    await page.getByText(/needle-40-\d/).first().waitFor();
    await page.close();
  });
});

describe('UC2: from the link of an alert to the remedy', () => {
  test('a rank that fails (EC-1)', async () => {
    const page = await sameWords('killed', /\w+/);
    await page.getByText('cannot read the data').first().waitFor();
    await look(page, 'failed');
    await page.getByRole('link', { name: /^Log/ }).first().click();
    await page.getByText('cannot read the data').first().waitFor();
    await page.goBack();
    await page.getByRole('link', { name: /^About/ }).click();
    await page.getByRole('heading', { level: 1 }).waitFor();
    await look(page, 'reason');
  });

  test('GPUs that no machine has (EC-2)', async () => {
    const file = join(world.pictures, 'thirsty.yaml');
    writeFileSync(file, thirsty);
    await kubectl('delete', '-f', file, '--ignore-not-found');
    await kubectl('create', '-f', file);
    const page = await sameWords('thirsty-page', /^Unschedulable$/, world.gpuNamespace);
    await page.getByText('Insufficient GPUs: requested 32').first().waitFor();
    await look(page, 'no-gpus');
    await kubectl('delete', '-f', file);
  });

  test('ports of MPI that a NetworkPolicy blocks (EC-3)', async () => {
    // The network takes a moment to learn of new pods.
    await submit('blocked', ['bash', '-c', 'sleep 10; mpirun -n 4 mpi-hello'], '--suspend');
    const policies = () => kubectl('get', 'networkpolicy', '-n', world.namespace, '-l', 'lockstep.dev/trainjob=blocked',
      '-o', 'name');
    await expect.poll(policies, { timeout: 60_000 }).toContain('blocked');
    const onlyAgents = ['ingress', 'egress'].map((way) =>
      ({ op: 'add', path: `/spec/${way}/0/ports`, value: [{ protocol: 'TCP', port: 2222 }] }));
    await kubectl('patch', (await policies()).trim(), '-n', world.namespace, '--type=json', '-p',
      JSON.stringify(onlyAgents));
    await mpi('resume', 'blocked');
    // A network that drops packets shows blocked ports; kube-router refuses them, so that a daemon of MPI ends.
    const page = await sameWords('blocked', /^(MPIPortsBlocked|LaunchDaemonLost)$/);
    await look(page, 'ports-blocked');
    await mpi('delete', 'blocked');
  });

  test('an image that cannot be pulled (EC-4)', async () => {
    const page = await sameWords('no-image', /Image/);
    await look(page, 'no-image');
  });
});

describe('rights', () => {
  test('a viewer reads, and learns which right an action needs', async () => {
    const page = await open('viewer', jobPage('held'));
    const button = page.getByRole('button', { name: 'Resume' });
    await button.waitFor();
    expect(await button.getAttribute('aria-disabled')).toBe('true');
    await button.hover();
    await page.getByText(`You may not resume jobs in namespace ${world.namespace}`).waitFor();
    await look(page, 'viewer');
  });

  test('a stranger learns which right is missing (EC-5)', async () => {
    const page = await open('stranger', `/jobs?ns=${world.namespace}`, { expected: /403/ });
    await page.getByText(/lacks '(list|watch)' permission for trainjobs in namespace/).waitFor();
    expect(await page.locator('tbody tr').count()).toBe(0);
    await look(page, 'stranger');
  });
});

test('an editor resumes and deletes a job', async () => {
  const page = await open('editor', jobPage('held'), { expected: /404/ });
  await page.getByRole('button', { name: 'Resume' }).click();
  await page.getByRole('dialog').getByText(/starts/).waitFor();
  await look(page, 'resume');
  await page.getByRole('dialog').getByRole('button', { name: 'Resume' }).click();
  await page.getByText('Running', { exact: true }).first().waitFor({ timeout: 60_000 });
  await page.getByRole('button', { name: 'Delete' }).click();
  await page.getByRole('dialog').getByText('cannot be undone').waitFor();
  await page.getByRole('dialog').getByRole('button', { name: 'Delete' }).click();
  await page.getByRole('heading', { name: 'Jobs' }).waitFor();
  await expect.poll(() => kubectl('get', 'trainjobs', '-n', world.namespace, '-o', 'name'), { timeout: 60_000 })
    .not.toContain('held');
});
