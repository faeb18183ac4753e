import { PageSection, Title, ToggleGroup, ToggleGroupItem } from '@patternfly/react-core';
import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { Link } from 'react-router';
import { get, pageOf, Problem, reasonPage } from '../api/client';
import { Grid, Part } from '../parts/Grid';
import { LightState, Loading, Text, Trouble, useNow, useTitle, Withheld } from '../parts/parts';
import { clock, counted, shown, since, span } from '../words/format';
import type { Term } from '../words/help';
import {
  acceleratorText, costsBy, costText, cpuText, groups, missing, money, usesBy, type Group, type Overview, type Owner,
} from './cluster';

const JobLink = ({ of }: { of: Owner }) => (
  <><Link to={pageOf(of.namespace, of.job)}><Text most={80}>{of.job}</Text></Link>{' '}
    <span className="small">in <Text most={80}>{of.namespace}</Text></span></>
);
const person = { term: 'Person' as Term, cell: (of: Owner) => <Text most={80}>{of.person}</Text> };
const tenant = { term: 'Tenant' as Term, cell: (of: Owner) => <Text most={80}>{of.tenant}</Text> };

const ofParts = ['pods', 'queues of the cluster', 'waits'];
const elsewhere = (withheld: Overview['withheld']) =>
  withheld?.filter((w) => !ofParts.some((what) => w.what.startsWith(what)));

// ClusterPage shows the cluster by the jobs that the user may list.
export function ClusterPage() {
  useTitle('Cluster');
  const { data, error } = useQuery({
    queryKey: ['cluster'], refetchInterval: 15_000,
    queryFn: ({ signal }) => get<Overview>('/api/v1/cluster', signal),
  });
  return (
    <PageSection isFilled className="sheet">
      <div className="heading">
        <Title headingLevel="h1">Cluster</Title>
        <span className="total" role="status">{data && `as of ${clock(data.at)} UTC`}</span>
      </div>
      {error instanceof Problem && <Trouble problem={error} />}
      {!data && !error && <Loading what="the cluster" />}
      {data && <><Withheld items={elsewhere(data.withheld)} /><Parts {...data} /></>}
    </PageSection>
  );
}

function By({ by, set, label }: { by: Group; set: (by: Group) => void; label: string }) {
  return (
    <ToggleGroup isCompact aria-label={label}>
      {groups.map((g) => (
        <ToggleGroupItem key={g} text={`by ${g.toLowerCase()}`} isSelected={by === g} onChange={() => set(g)} />
      ))}
    </ToggleGroup>
  );
}

function Parts({ holdings, machines, queues, pending, waits, failures, bill, withheld }: Overview) {
  const now = useNow(10_000);
  const [by, setBy] = useState<Group>('Profile');
  const [costBy, setCostBy] = useState<Group>('Tenant');
  const key = (of: Group) => ({ term: of as Term, cell: (r: { key: string }) => <Text most={80}>{r.key}</Text> });
  const shares = queues.flatMap((q) => q.shares.map((s, i) => ({ ...s, queue: q, first: i === 0 })));
  const podsMissing = missing(withheld, 'pods');
  const uses = usesBy(holdings, machines, by);
  const costs = costsBy(bill.rows, costBy);
  const [total] = costsBy(bill.rows.map((r) => ({ ...r, tenant: '' })), 'Tenant');
  return (
    <>
      <Part term="In use now" missing={podsMissing} empty={uses.length === 0 && 'No job holds a machine.'}>
        <By by={by} set={setBy} label="Add up what is in use" />
        <Grid label="In use now" rows={uses} keyOf={(u) => u.key} columns={[
          key(by), { term: 'Jobs', cell: (u) => u.jobs, number: true },
          { term: 'CPU requested', cell: cpuText, number: true },
          { term: 'Accelerators', cell: acceleratorText, number: true },
        ]} />
      </Part>
      <Part term="Holders" missing={podsMissing} empty={holdings.length === 0 && 'No job holds a machine.'}>
        <Grid label="Holders" rows={holdings} keyOf={(h) => `${h.namespace}/${h.job}`} columns={[
          { term: 'Name', cell: (h) => <JobLink of={h} /> }, tenant, person,
          { term: 'State', cell: (h) => <LightState phase={h.phase} /> },
          { term: 'Held since', cell: (h) => <span title={clock(h.since)}>{since(h.since, undefined, now)}</span> },
          { term: 'Profile', cell: (h) => <Text most={80}>{h.profile}</Text> },
          { term: 'Machines held', cell: (h) => h.machines, number: true },
          { term: 'CPU requested', cell: (h) => cpuText({ key: '', jobs: 1, ...h }), number: true },
          { term: 'Accelerators', cell: (h) => h.accelerators, number: true },
        ]} />
      </Part>
      <Part term="Waiting" empty={pending.length === 0 && 'No job waits in a queue.'}>
        <Grid label="Waiting" rows={pending} keyOf={(p) => `${p.namespace}/${p.job}`} columns={[
          { term: 'Queue', cell: (p) => <Text most={80}>{p.clusterQueue ?? p.queue}</Text> },
          { term: 'Position', cell: (p) => p.position ?? '–', number: true },
          { term: 'Name', cell: (p) => <JobLink of={p} /> }, person,
          { term: 'Waiting since', cell: (p) => <span title={clock(p.since)}>{since(p.since, undefined, now)}</span> },
          { term: 'Waits for', cell: (p) => <Text most={300}>{p.text}</Text> },
        ]} />
      </Part>
      <Part term="Waits of the last week" missing={missing(withheld, 'waits')}
        empty={waits.length === 0 && 'No job that is still here left a queue in the last seven days.'}>
        <Grid label="Waits of the last week" rows={waits} keyOf={(w) => `${w.queue} ${w.tenant}`} columns={[
          { term: 'Queue', cell: (w) => <Text most={80}>{w.queue}</Text> },
          { term: 'Tenant', cell: (w) => <Text most={80}>{w.tenant}</Text> },
          { term: 'Jobs', cell: (w) => w.jobs, number: true },
          { term: 'Median wait', cell: (w) => span(w.medianSeconds), number: true },
          { term: '95 % waited', cell: (w) => span(w.p95Seconds), number: true },
        ]} />
      </Part>
      <Part term="Shares of queues" missing={missing(withheld, 'queues of the cluster')}
        empty={shares.length === 0 && 'This cluster has no queues: jobs start as soon as there is room.'}>
        <Grid label="Shares of queues" rows={shares} keyOf={(s) => `${s.queue.name} ${s.profile} ${s.resource}`}
          columns={[{ term: 'Queue', cell: (s) => (
            <><Text most={80}>{s.queue.name}</Text>{s.first && (
              <div className="small">{s.queue.admitted} admitted, {s.queue.pending} waiting
                {s.queue.cohort && <>, cohort <Text most={80}>{s.queue.cohort}</Text></>}</div>
            )}</>
          ) },
          { term: 'Profile', cell: (s) => <Text most={80}>{s.profile}</Text> },
          { term: 'Resource', cell: (s) => <Text most={80}>{s.resource}</Text> },
          { term: 'Guaranteed', cell: (s) => s.guaranteed, number: true },
          { term: 'Used', cell: (s) => s.used, number: true },
          { term: 'Borrowed', cell: (s) => s.borrowed, number: true },
          { term: 'Lent', cell: (s) => s.lent, number: true }]} />
      </Part>
      <Part term="Failures by cause" empty={failures.length === 0 && 'No job that is still here has failed.'}>
        <Grid label="Failures by cause" rows={failures} keyOf={(f) => f.reason} columns={[
          { term: 'Reason', cell: (f) => <a href={reasonPage(f.reason)}>{shown(f.reason, 80)}</a> },
          { term: 'Failed jobs', cell: (f) => f.count, number: true },
          { term: 'Last failure', cell: (f) => clock(f.last), number: true },
          { term: 'Latest', cell: (f) => (
            <ul className="plain">{f.latest.map((of) => (
              <li key={`${of.namespace}/${of.job}`}><JobLink of={of} /></li>
            ))}</ul>
          ) },
        ]} />
      </Part>
      <Part term="Cost of this month" empty={costs.length === 0 && 'No job has used a machine this month.'}>
        <By by={costBy} set={setCostBy} label="Add up the cost" />
        <Grid label="Cost of this month" rows={costs} keyOf={(c) => c.key} columns={[
          key(costBy), { term: 'Jobs', cell: (c) => c.jobs, number: true },
          { term: 'Machine-hours', cell: (c) => money(c.machineHours), number: true },
          { term: 'Cost', cell: costText, number: true },
        ]} />
        <p className="small">
          {total && `${counted(total.jobs, 'job')}, ${money(total.machineHours)} machine-hours, ${costText(total)}: `}
          from {clock(bill.from)} to {clock(bill.to)} UTC. Deleted jobs are not in it:
          {' '}runtime-compiler cost bills the audit log.
        </p>
      </Part>
    </>
  );
}
