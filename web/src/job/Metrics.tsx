import { Problem } from '../api/client';
import type { JobDetail } from '../api/types';
import { Empty, Help, Loading, Text, Trouble, Withheld, Word } from '../parts/parts';
import { bytes } from '../words/format';
import { Curves } from './Curves';
import { podsOf } from './pods';
import { cores, useUsage } from './Workers';

// Metrics shows what each pod uses now, and what it used before.
export function Metrics({ detail: { job }, path }: { detail: JobDetail; path: string }) {
  const { data, error } = useUsage(path);
  if (error instanceof Problem && !data) return <Trouble problem={error} />;
  if (!data) return <Loading what="metrics" />;
  const cpu = Math.max(1, ...data.items.map((u) => u.milliCPU));
  const memory = Math.max(1, ...data.items.map((u) => u.memoryBytes));
  const roles = new Map(podsOf(job).map((p) => [p.name, p.role === 'launcher' ? 'Launcher' : `Node ${p.index}`]));
  return (
    <>
      <Withheld items={data.withheld} />
      {data.items.length === 0 && !data.withheld?.length && (
        <Empty title="Nothing is measured now">{job.times.ended
          ? 'The job is over. Overview has its highest memory and its mean CPU.'
          : 'A pod is measured about half a minute after it started, if the cluster serves metrics.k8s.io.'}</Empty>
      )}
      {data.items.length > 0 && (
        <div className="usage">
          <p className="small">Use now, from metrics.k8s.io, asked every 15 s.<Help term="CPU" /></p>
          <table aria-label="Use per pod">
            <thead><tr>{(['Pod', 'CPU cores', 'Memory'] as const).map((h) => (
              <th key={h} scope="col"><Word term={h} /></th>))}</tr></thead>
            <tbody>{data.items.map((u) => (
              <tr key={u.pod}>
                <th scope="row"><Text most={60}>{roles.get(u.pod) ?? u.pod}</Text></th>
                <td><Bar part={u.milliCPU / cpu} text={cores(u)} /></td>
                <td><Bar part={u.memoryBytes / memory} text={u.measured ? bytes(u.memoryBytes) : '–'} /></td>
              </tr>
            ))}</tbody>
          </table>
        </div>
      )}
      <Curves path={path} names={roles} />
    </>
  );
}

const Bar = ({ part, text }: { part: number; text: string }) => (
  <span className="bar"><span className="fill" style={{ width: `${Math.round(part * 100)}%` }} aria-hidden="true" />
    <span>{text}</span></span>
);
