import { Progress, Tooltip } from '@patternfly/react-core';
import { Table, Tbody, Th, Thead, Tr } from '@patternfly/react-table';
import { useVirtualizer } from '@tanstack/react-virtual';
import { memo, useRef, type ReactNode, type RefObject } from 'react';
import { Link } from 'react-router';
import { pageOf } from '../api/client';
import type { Job } from '../api/types';
import { LightState, Text } from '../parts/parts';
import { clock, shown, since } from '../words/format';
import { help, type Term } from '../words/help';
import { frameworkOf, ownerOf, sortKeys, type View } from './filter';

const headings: Term[] = ['Name', 'State', 'Progress', 'Ready', 'Slots', 'Runtime', 'Queue', 'Owner', 'Namespace',
  'Duration', 'Age'];

interface Props { jobs: Job[]; view: View; now: number; set: (change: Partial<View>) => void }

// JobsTable is drawn again when jobs change. While it is scrolled, only Rows is.
export function JobsTable({ jobs, view, now, set }: Props) {
  const box = useRef<HTMLDivElement>(null);
  return (
    <div className="table-box" ref={box} tabIndex={0} role="region" aria-label="Table of jobs">
      <Table aria-label="Jobs" variant="compact" isStickyHeader gridBreakPoint="grid-lg"
        aria-rowcount={jobs.length + 1}>
        <Head sort={view.sort} down={view.down} set={set} />
        <Rows jobs={jobs} now={now} box={box} />
      </Table>
    </div>
  );
}

// Rows draws only the rows in sight: 1,000 jobs cost as much as 30.
function Rows({ jobs, now, box }: Pick<Props, 'jobs' | 'now'> & { box: RefObject<HTMLDivElement | null> }) {
  const rows = useVirtualizer({
    count: jobs.length, getScrollElement: () => box.current, estimateSize: () => 45, overscan: 6,
    getItemKey: (i) => jobs[i]?.uid ?? i,
  });
  const items = rows.getVirtualItems();
  const before = items[0]?.start ?? 0;
  const after = rows.getTotalSize() - (items.at(-1)?.end ?? 0);
  return (
    <Tbody>
      {before > 0 && <tr aria-hidden="true" className="gap"><td colSpan={11} style={{ height: before }} /></tr>}
      {items.map(({ index, key }) => {
        const job = jobs[index];
        return job && <Row key={key} job={job} index={index} now={tick(job, now)} measure={rows.measureElement} />;
      })}
      {after > 0 && <tr aria-hidden="true" className="gap"><td colSpan={11} style={{ height: after }} /></tr>}
    </Tbody>
  );
}

// Head is drawn again only if the order changes, not while the table is scrolled.
const Head = memo(function Head({ sort, down, set }: Pick<View, 'sort' | 'down'> & Pick<Props, 'set'>) {
  return (
    <Thead>
      <Tr aria-rowindex={1}>
        {headings.map((term, i) => (
          <Th key={term} className={`col-${term}`} tooltip={null}
            sort={{
              columnIndex: i,
              sortBy: { index: sortKeys.indexOf(sort), direction: down ? 'desc' : 'asc' },
              onSort: (_, __, direction) => set({ sort: sortKeys[i], down: direction === 'desc' }),
            }}>
            <Tooltip content={help[term]}><span className="word">{term}</span></Tooltip>
          </Th>
        ))}
      </Tr>
    </Thead>
  );
});

// tick lets old rows be drawn again once a minute, not each second.
function tick(job: Job, now: number): number {
  const young = now - Date.parse(job.times?.created ?? '') < 3_600_000;
  const runs = !!job.times?.started && !job.times.ended;
  return young || runs ? now : Math.floor(now / 60_000) * 60_000;
}

interface RowProps { job: Job; index: number; now: number; measure: (e: Element | null) => void }

const Row = memo(function Row({ job, index, now, measure }: RowProps) {
  const percent = job.progress?.percent;
  // Plain elements with PatternFly's classes: its own cells cost too much while the table is scrolled.
  const cell = (label: string, children: ReactNode, kind = '') =>
    <td data-label={label} className={`pf-v6-c-table__td ${kind}`}>{children}</td>;
  const cut = 'pf-m-truncate';
  return (
    <tr ref={measure} data-index={index} aria-rowindex={index + 2} className="pf-v6-c-table__tr">
      {cell('Name', <Link to={pageOf(job.namespace, job.name)}><Text most={300}>{job.name}</Text></Link>,
        `col-Name ${cut}`)}
      {cell('State', (
        <>
          <LightState phase={job.phase} />
          {job.cause && (
            <Link to={pageOf(job.namespace, job.name)} className="reason"
              title={shown(job.cause.message || job.cause.text, 600)}><Text most={60}>{job.cause.reason}</Text></Link>
          )}
        </>
      ), 'col-State')}
      {cell('Progress', percent === undefined ? '–'
        : <Progress value={percent} size="sm" aria-label={`Progress of ${job.name}`} className="progress" />)}
      {cell('Ready', job.pods ? `${job.pods.ready}/${job.pods.want}` : '–', 'number')}
      {cell('Slots', job.world?.slots ?? '–', 'number')}
      {cell('Runtime', (
        <>
          <Text most={100}>{job.runtime?.name}</Text>
          {frameworkOf(job) && <span className="framework">{frameworkOf(job).slice(0, 20)}</span>}
        </>
      ), cut)}
      {cell('Queue', (
        <>
          <Text most={80}>{job.queue?.name}</Text>
          {!!job.queue?.position && <strong className="position">#{job.queue.position}</strong>}
        </>
      ), cut)}
      {cell('Owner', <Text most={80}>{ownerOf(job)}</Text>, cut)}
      {cell('Namespace', <Text most={80}>{job.namespace}</Text>, cut)}
      {cell('Duration', since(job.times?.started, job.times?.ended, now), 'number')}
      {cell('Age', (
        <time dateTime={job.times?.created} title={`${clock(job.times?.created)} UTC`}>
          {since(job.times?.created, undefined, now)}
        </time>
      ), 'number')}
    </tr>
  );
});
