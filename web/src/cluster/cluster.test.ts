import { expect, test } from 'vitest';
import { acceleratorText, costsBy, costText, cpuText, missing, usesBy, type BillRow, type Holding } from './cluster';

const holding = (change: Partial<Holding>): Holding => ({
  namespace: 'a', job: 'j', tenant: 'vision', person: 'jane', profile: 'h100', phase: 'Running', since: '', machines: 1,
  pods: 1, milliCPU: 1500, accelerators: 4, ...change,
});

test('what is in use adds up by profile, tenant and person', () => {
  const held = [holding({}), holding({ job: 'k', person: undefined, milliCPU: 250 }),
    holding({ job: 'l', tenant: 'speech', profile: 'cpu', accelerators: 0 })];
  const machines = [{ profile: 'h100', machines: 2, milliCPU: 64_000, accelerators: 16 },
    { profile: 'idle', machines: 1, milliCPU: 8000, accelerators: 0 }];
  const text = (by: 'Profile' | 'Tenant' | 'Person') => usesBy(held, machines, by)
    .map((u) => `${u.key}: ${u.jobs} ${cpuText(u)} ${acceleratorText(u)}`);
  expect(text('Profile')).toEqual(['cpu: 1 1.5 0', 'h100: 2 1.75 of 64 8 of 16', 'idle: 0 0 of 8 0 of 0']);
  expect(text('Tenant')).toEqual(['speech: 1 1.5 0', 'vision: 2 1.75 8']);
  expect(text('Person')).toEqual([': 1 0.25 4', 'jane: 2 3 4']);
});

test('a sum without a price does not look like a price', () => {
  const row = (change: Partial<BillRow>): BillRow =>
    ({ tenant: 'vision', profile: 'h100', jobs: 1, machineHours: 2, cost: 20, priced: true, ...change });
  const rows = [row({}), row({ profile: 'old', cost: 0, priced: false }), row({ tenant: 'speech', profile: 'h100' })];
  expect(costsBy(rows, 'Tenant').map((c) => `${c.key} ${c.jobs} ${c.machineHours} ${costText(c)}`))
    .toEqual(['speech 1 2 20.00', 'vision 2 4 at least 20.00']);
  expect(costsBy(rows, 'Profile').map(costText)).toEqual(['40.00', 'no price']);
});

test('a part that may not be read is missing, not empty', () => {
  const withheld = [{ what: 'machines (nodes)', why: 'no' }];
  expect(missing(withheld, 'pods')).toBeUndefined();
  expect(missing(withheld, 'pods', 'machines')?.why).toBe('no');
});
