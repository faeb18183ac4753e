import { Table, Tbody, Td, Th, Thead, Tr } from '@patternfly/react-table';
import { useQuery } from '@tanstack/react-query';
import { Link } from 'react-router';
import { get, pageOf } from '../api/client';
import type { Items, JobDetail, PodUsage } from '../api/types';
import { Empty, Text, Word } from '../parts/parts';
import { bytes } from '../words/format';
import type { Term } from '../words/help';
import { podsOf, ranksOf, stateOf } from './pods';

const headings: Term[] = ['Pod', 'Role', 'Ranks', 'State of the pod', 'Restarts', 'Machine', 'Address', 'CPU',
  'Memory'];

export const cores = (use?: PodUsage) => (use?.measured ? (use.milliCPU / 1000).toFixed(2) : '–');

export const useUsage = (path: string) => useQuery({
  queryKey: ['usage', path], queryFn: ({ signal }) => get<Items<PodUsage>>(`${path}/usage`, signal),
  refetchInterval: 15_000,
});

export function Workers({ detail: { job }, path }: { detail: JobDetail; path: string }) {
  const usage = useUsage(path).data;
  const pods = podsOf(job);
  if (!pods.length) {
    return <Empty title="No pods">{job.times.ended ? 'The job is over, and its pods are gone.'
      : 'Pods appear here as soon as the job has some.'}</Empty>;
  }
  const of = new Map(usage?.items.filter((u) => u.measured).map((u) => [u.pod, u]));
  return (
    <>
      <Table aria-label="Workers" variant="compact" gridBreakPoint="grid-lg">
        <Thead><Tr>{headings.map((h) => <Th key={h}><Word term={h} /></Th>)}</Tr></Thead>
        <Tbody>{pods.map((p) => (
          <Tr key={p.name} className={job.cause?.pod === p.name ? 'first-failure' : ''}>
            <Td dataLabel="Pod">
              <Link to={`${pageOf(job.namespace, job.name, 'logs')}?pod=${encodeURIComponent(p.name)}`}>
                <Text most={120}>{p.name}</Text></Link>
            </Td>
            <Td dataLabel="Role"><Text most={30}>{p.role}</Text> {p.role === 'launcher' ? '' : p.index}</Td>
            <Td dataLabel="Ranks">{<Text most={30}>{ranksOf(p)}</Text>}</Td>
            <Td dataLabel="State">
              <Text most={40}>{p.ready ? `${stateOf(p)}, ready` : stateOf(p)}</Text>
              {p.problem && <div className="small"><Text most={300}>{p.problem}</Text></div>}
            </Td>
            <Td dataLabel="Restarts" className="number">{p.restarts ?? 0}</Td>
            <Td dataLabel="Machine"><Text most={80}>{p.machine}</Text></Td>
            <Td dataLabel="Address"><Text most={50}>{p.address}</Text></Td>
            <Td dataLabel="CPU" className="number">{cores(of.get(p.name))}</Td>
            <Td dataLabel="Memory" className="number">{bytes(of.get(p.name)?.memoryBytes)}</Td>
          </Tr>
        ))}</Tbody>
      </Table>
    </>
  );
}
