import { Progress, Tooltip } from '@patternfly/react-core';
import { Table, Tbody, Td, Th, Thead, Tr } from '@patternfly/react-table';
import { useVirtualizer } from '@tanstack/react-virtual';
import { memo, useRef } from 'react';
import { Link } from 'react-router';
import { pageOf } from '../api/client';
import type { Job } from '../api/types';
import { State, Text } from '../parts/parts';
import { clock, since } from '../words/format';
import { help, type Term } from '../words/help';
import { frameworkOf, ownerOf, sortKeys, type View } from './filter';

const headings: Term[] = ['Name', 'State', 'Progress', 'Ready', 'Slots', 'Runtime', 'Queue', 'Owner', 'Namespace',
  'Duration', 'Age'];

interface Props { jobs: Job[]; view: View; now: number; set: (change: Partial<View>) => void }

// JobsTable draws only the rows in sight: 1,000 jobs cost as much as 30.
export function JobsTable({ jobs, view, now, set }: Props) {
  const box = useRef<HTMLDivElement>(null);
  const rows = useVirtualizer({
    count: jobs.length, getScrollElement: () => box.current, estimateSize: () => 45, overscan: 12,
    getItemKey: (i) => jobs[i]?.uid ?? i,
  });
  const items = rows.getVirtualItems();
  const before = items[0]?.start ?? 0;
  const after = rows.getTotalSize() - (items.at(-1)?.end ?? 0);
  return (
    <div className="table-box" ref={box} tabIndex={0} role="region" aria-label="Table of jobs">
      <Table aria-label="Jobs" variant="compact" isStickyHeader gridBreakPoint="grid-lg"
        aria-rowcount={jobs.length + 1}>
        <Head sort={view.sort} down={view.down} set={set} />
        <Tbody>
          {before > 0 && <tr aria-hidden="true" className="gap"><td colSpan={11} style={{ height: before }} /></tr>}
          {items.map(({ index, key }) => {
            const job = jobs[index];
            return job && <Row key={key} job={job} index={index} now={tick(job, now)} measure={rows.measureElement} />;
          })}
          {after > 0 && <tr aria-hidden="true" className="gap"><td colSpan={11} style={{ height: after }} /></tr>}
        </Tbody>
      </Table>
    </div>
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
  return (
    <Tr ref={measure} data-index={index} aria-rowindex={index + 2}>
      <Td dataLabel="Name" className="col-Name" modifier="truncate">
        <Link to={pageOf(job.namespace, job.name)}><Text most={300}>{job.name}</Text></Link>
      </Td>
      <Td dataLabel="State" className="col-State">
        <State phase={job.phase} />
        {job.cause && (
          <Tooltip content={<Text most={600}>{job.cause.message || job.cause.text}</Text>}>
            <Link to={pageOf(job.namespace, job.name)} className="reason">
              <Text most={60}>{job.cause.reason}</Text>
            </Link>
          </Tooltip>
        )}
      </Td>
      <Td dataLabel="Progress">
        {percent === undefined ? '–'
          : <Progress value={percent} size="sm" aria-label={`Progress of ${job.name}`} className="progress" />}
      </Td>
      <Td dataLabel="Ready" className="number">{job.pods ? `${job.pods.ready}/${job.pods.want}` : '–'}</Td>
      <Td dataLabel="Slots" className="number">{job.world?.slots ?? '–'}</Td>
      <Td dataLabel="Runtime" modifier="truncate">
        <Text most={100}>{job.runtime?.name}</Text>
        {frameworkOf(job) && <span className="framework">{frameworkOf(job).slice(0, 20)}</span>}
      </Td>
      <Td dataLabel="Queue" modifier="truncate">
        <Text most={80}>{job.queue?.name}</Text>
        {!!job.queue?.position && <strong className="position">#{job.queue.position}</strong>}
      </Td>
      <Td dataLabel="Owner" modifier="truncate"><Text most={80}>{ownerOf(job)}</Text></Td>
      <Td dataLabel="Namespace" modifier="truncate"><Text most={80}>{job.namespace}</Text></Td>
      <Td dataLabel="Duration" className="number">{since(job.times?.started, job.times?.ended, now)}</Td>
      <Td dataLabel="Age" className="number">
        <time dateTime={job.times?.created} title={`${clock(job.times?.created)} UTC`}>
          {since(job.times?.created, undefined, now)}
        </time>
      </Td>
    </Tr>
  );
});
