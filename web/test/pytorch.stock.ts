import { describe, expect, test } from 'vitest';
import { jobPage, look, open, withBrowser } from './world';

const job = process.env.LOCKSTEP_PAGE_STOCK ?? '';

withBrowser();

describe('A PyTorch job of stock Kubeflow Trainer', () => {
  test('has the six tabs, and what cannot be known is named', async () => {
    const page = await open('editor', jobPage(job, 'overview'));
    await page.getByText('PyTorch').first().waitFor();
    await page.getByText('Complete', { exact: true }).first().waitFor();
    await look(page, 'pytorch');
    for (const [tab, seen] of [
      ['Workers', /node-0-0/], ['Logs', /met/], ['Configuration', /runtimeRef/], ['Metrics', /Over time|Nothing is/],
      ['Events', /Complete|Created|Scheduled|No events/],
    ] as const) {
      await page.getByRole('tab', { name: tab }).click();
      await page.getByText(seen).first().waitFor();
      await look(page, `pytorch-${tab.toLowerCase()}`);
    }
    expect(await page.getByText(/undefined|NaN/).count()).toBe(0);
    const list = await open('editor', '/jobs?framework=PyTorch');
    await list.getByRole('link', { name: job, exact: true }).waitFor();
  });
});
