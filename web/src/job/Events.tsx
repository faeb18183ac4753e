import { Label } from '@patternfly/react-core';
import { Table, Tbody, Td, Th, Thead, Tr } from '@patternfly/react-table';
import { useQuery } from '@tanstack/react-query';
import { get, Problem } from '../api/client';
import type { Event, Items } from '../api/types';
import { Empty, Loading, Text, Trouble, Withheld, Word } from '../parts/parts';
import { clock } from '../words/format';
import type { Term } from '../words/help';

const most = 500;
const headings: Term[] = ['Time (UTC)', 'Type', 'Reason', 'Object', 'Message'];

// Events lists those of job, JobSet, pods and Workload in one order, the latest first.
export function Events({ path, phase }: { path: string; phase: string }) {
  const { data, error } = useQuery({
    queryKey: ['events', path, phase], refetchInterval: 15_000,
    queryFn: ({ signal }) => get<Items<Event>>(`${path}/events`, signal),
  });
  if (error instanceof Problem && !data) return <Trouble problem={error} />;
  if (!data) return <Loading what="events" />;
  const items = data.items.slice(-most).reverse();
  return (
    <>
      <Withheld items={data.withheld} />
      {items.length === 0 && <Empty title="No events">The API server keeps events for an hour by default.</Empty>}
      {items.length > 0 && (
        <Table aria-label="Events" variant="compact" gridBreakPoint="grid-md">
          <Thead><Tr>{headings.map((h) => <Th key={h}><Word term={h} /></Th>)}</Tr></Thead>
          <Tbody>{items.map((e, i) => (
            <Tr key={`${e.at}${e.object}${e.reason}${i}`}>
              <Td dataLabel="Time" className="number">{clock(e.at)}</Td>
              <Td dataLabel="Type"><Label isCompact color={e.type === 'Warning' ? 'orange' : 'grey'}>
                {e.type === 'Warning' ? 'Warning' : 'Normal'}</Label></Td>
              <Td dataLabel="Reason"><Text most={60}>{e.reason}</Text>{e.count > 1 && ` ×${e.count}`}</Td>
              <Td dataLabel="Object"><Text most={120}>{e.object}</Text></Td>
              <Td dataLabel="Message"><Text most={1_500}>{e.message}</Text></Td>
            </Tr>
          ))}</Tbody>
        </Table>
      )}
    </>
  );
}
