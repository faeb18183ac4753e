import type { Phase, Withheld } from '../api/types';

export interface Owner { namespace: string; job: string; tenant: string; person?: string }
export interface Holding extends Owner {
  profile?: string; phase: Phase; since: string; machines: number; pods: number; milliCPU: number; accelerators: number;
}
export interface MachineKind { profile: string; machines: number; milliCPU: number; accelerators: number }
export interface QueueShare {
  profile: string; resource: string; guaranteed: string; used: string; borrowed: string; lent: string;
}
export interface ClusterQueue { name: string; cohort?: string; pending: number; admitted: number; shares: QueueShare[] }
export interface PendingJob extends Owner {
  queue: string; clusterQueue?: string; position?: number; text?: string; since: string;
}
export interface QueueWaits { tenant: string; queue: string; jobs: number; medianSeconds: number; p95Seconds: number }
export interface FailureCount { reason: string; class?: string; count: number; last: string; latest: Owner[] }
export interface BillRow {
  tenant: string; person?: string; runtime?: string; queue?: string; profile?: string; jobs: number;
  machineHours: number; cost: number; priced: boolean;
}
export interface Overview {
  at: string; holdings: Holding[]; machines: MachineKind[]; queues: ClusterQueue[]; pending: PendingJob[];
  waits: QueueWaits[];
  failures: FailureCount[]; bill: { from: string; to: string; rows: BillRow[] }; withheld?: Withheld[];
}

export const groups = ['Profile', 'Tenant', 'Person'] as const;
export type Group = (typeof groups)[number];
const keyOf = (row: { tenant: string; person?: string; profile?: string }, by: Group) =>
  (by === 'Profile' ? row.profile : by === 'Tenant' ? row.tenant : row.person) ?? '';

function sum<R, S>(rows: R[], key: (row: R) => string, first: (key: string) => S, add: (to: S, row: R) => void): S[] {
  const sums = new Map<string, S>();
  for (const row of rows) {
    const k = key(row);
    const s = sums.get(k) ?? first(k);
    sums.set(k, s);
    add(s, row);
  }
  return [...sums].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, s]) => s);
}

export interface Use {
  key: string; jobs: number; milliCPU: number; accelerators: number; ofCPU?: number; ofAccelerators?: number;
}

// usesBy adds up what jobs hold. Profiles show all that their machines have, if that is known, also of idle ones.
export function usesBy(holdings: Holding[], machines: MachineKind[], by: Group): Use[] {
  const uses = sum(holdings, (h) => keyOf(h, by), (key): Use => ({ key, jobs: 0, milliCPU: 0, accelerators: 0 }),
    (use, h) => {
      use.jobs += 1;
      use.milliCPU += h.milliCPU;
      use.accelerators += h.accelerators;
    });
  if (by !== 'Profile') return uses;
  const known = new Map(uses.map((u) => [u.key, u]));
  for (const m of machines) {
    const use = known.get(m.profile) ?? { key: m.profile, jobs: 0, milliCPU: 0, accelerators: 0 };
    known.set(m.profile, { ...use, ofCPU: m.milliCPU, ofAccelerators: m.accelerators });
  }
  return [...known.values()].sort((a, b) => (a.key < b.key ? -1 : 1));
}

export interface Cost { key: string; jobs: number; machineHours: number; cost: number; priced: boolean }

// costsBy adds up a bill. A sum with a part that has no price is at least what it shows.
export const costsBy = (rows: BillRow[], by: Group): Cost[] =>
  sum(rows, (r) => keyOf(r, by), (key): Cost => ({ key, jobs: 0, machineHours: 0, cost: 0, priced: true }), (c, r) => {
    c.jobs += r.jobs;
    c.machineHours += r.machineHours;
    c.cost += r.cost;
    c.priced &&= r.priced;
  });

export const money = (n: number) => n.toFixed(2);
export const costText = (c: Cost) => (c.priced ? money(c.cost) : c.cost > 0 ? `at least ${money(c.cost)}` : 'no price');
const thousandths = (n: number) => String(Math.round(n / 10) / 100);
export const cpuText = (u: Use) =>
  thousandths(u.milliCPU) + (u.ofCPU === undefined ? '' : ` of ${thousandths(u.ofCPU)}`);
export const acceleratorText = (u: Use) =>
  String(u.accelerators) + (u.ofAccelerators === undefined ? '' : ` of ${u.ofAccelerators}`);

// missing is the right without which a part is not known.
export const missing = (withheld: Withheld[] | undefined, ...whats: string[]) =>
  withheld?.find((w) => whats.some((what) => w.what.startsWith(what)));
