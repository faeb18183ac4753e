import { Tooltip } from '@patternfly/react-core';
import { Table, Th, Thead, Tr } from '@patternfly/react-table';
import { useVirtualizer } from '@tanstack/react-virtual';
import { memo, useCallback, useRef, useSyncExternalStore, type ReactNode, type RefObject } from 'react';
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
      <Table aria-label="Jobs" variant="compact" isStickyHeader gridBreakPoint=""
        aria-rowcount={jobs.length + 1}>
        <Head sort={view.sort} down={view.down} set={set} />
        <Rows jobs={jobs} now={now} box={box} />
      </Table>
    </div>
  );
}

// Rows draws only the rows in sight: 1,000 jobs cost as much as 30. On a wide page all rows have one height, which
// nothing has to measure; on a narrow one they are cards.
function Rows({ jobs, now, box }: Pick<Props, 'jobs' | 'now'> & { box: RefObject<HTMLDivElement | null> }) {
  const wide = useWide();
  // A new function would make it measure all rows again.
  const getItemKey = useCallback((i: number) => jobs[i]?.uid ?? i, [jobs]);
  const rows = useVirtualizer({
    count: jobs.length, getScrollElement: () => box.current, estimateSize: () => (wide ? 45 : 340), overscan: 4,
    getItemKey,
  });
  return (
    <tbody className="rows" role="rowgroup" style={{ height: rows.getTotalSize() }}>
      {rows.getVirtualItems().map(({ index, key, start }) => {
        const job = jobs[index];
        return job && (
          <Row key={key} job={job} index={index} now={tick(job, now)} start={start}
            measure={wide ? undefined : rows.measureElement} />
        );
      })}
    </tbody>
  );
}

const width = window.matchMedia('(min-width: 62rem)');
const onWidth = (changed: () => void) => {
  width.addEventListener('change', changed);
  return () => width.removeEventListener('change', changed);
};
const useWide = () => useSyncExternalStore(onWidth, () => width.matches);

// Head is drawn again only if the order changes, not while the table is scrolled.
const Head = memo(function Head({ sort, down, set }: Pick<View, 'sort' | 'down'> & Pick<Props, 'set'>) {
  return (
    <Thead>
      <Tr aria-rowindex={1}>
        {headings.map((term, i) => (
          <Th key={term} tooltip={null}
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

interface RowProps { job: Job; index: number; now: number; start: number; measure?: (e: Element | null) => void }

// A cell is a plain element: PatternFly's own, with their hundreds of variables, cost too much while the table is
// scrolled.
const Row = memo(function Row({ job, index, now, start, measure }: RowProps) {
  const percent = job.progress?.percent;
  const cell = (label: string, children: ReactNode, kind = '') =>
    <td data-label={label} role="gridcell" className={kind}>{children}</td>;
  return (
    <tr ref={measure} role="row" data-index={index} aria-rowindex={index + 2}
      style={{ transform: `translateY(${start}px)` }}>
      {cell('Name', <Link to={pageOf(job.namespace, job.name)}><Text most={300}>{job.name}</Text></Link>)}
      {cell('State', (
        <>
          <LightState phase={job.phase} />
          {job.cause && (
            <Link to={pageOf(job.namespace, job.name)} className="reason"
              title={shown(job.cause.message || job.cause.text, 600)}><Text most={60}>{job.cause.reason}</Text></Link>
          )}
        </>
      ))}
      {cell('Progress', percent === undefined ? '–' : (
        <>
          <progress value={percent} max={100} aria-label={`Progress of ${job.name}`} /> {Math.round(percent)}%
        </>
      ), 'number')}
      {cell('Ready', job.pods ? `${job.pods.ready}/${job.pods.want}` : '–', 'number')}
      {cell('Slots', job.world?.slots ?? '–', 'number')}
      {cell('Runtime', (
        <>
          <Text most={100}>{job.runtime?.name}</Text>
          {frameworkOf(job) && <span className="framework">{frameworkOf(job).slice(0, 20)}</span>}
        </>
      ))}
      {cell('Queue', (
        <>
          <Text most={80}>{job.queue?.name}</Text>
          {!!job.queue?.position && <strong className="position">#{job.queue.position}</strong>}
        </>
      ))}
      {cell('Owner', <Text most={80}>{ownerOf(job)}</Text>)}
      {cell('Namespace', <Text most={80}>{job.namespace}</Text>)}
      {cell('Duration', since(job.times?.started, job.times?.ended, now), 'number')}
      {cell('Age', (
        <time dateTime={job.times?.created} title={`${clock(job.times?.created)} UTC`}>
          {since(job.times?.created, undefined, now)}
        </time>
      ), 'number')}
    </tr>
  );
});
