import { Tooltip } from '@patternfly/react-core';
import type { JobDetail, Pod } from '../api/types';
import { Text } from '../parts/parts';
import { clip, shown } from '../words/format';
import { ranksOf, stateOf } from './pods';

const most = 64;

// Topology draws the launcher above its nodes. The pod of the cause is marked as the first failure.
export function Topology({ detail: { job } }: { detail: JobDetail }) {
  const nodes = job.nodes ?? [];
  if (!job.launcher && !nodes.length) {
    const withheld = job.unknown?.find((u) => u.what === 'pods');
    return (
      <p>{withheld ? <Text>{withheld.why}</Text> : job.times.ended ? 'The pods of the job are gone.'
        : 'The job has no pods now.'}</p>
    );
  }
  const box = (p: Pod) => <PodBox key={p.name} pod={p} failed={job.cause?.pod === p.name} />;
  return (
    <div className="topology">
      {job.launcher && <ul className="launchers" aria-label="Launcher">{box(job.launcher)}</ul>}
      {nodes.length > 0 && <ul className="nodes" aria-label="Nodes">{nodes.slice(0, most).map(box)}</ul>}
      {nodes.length > most && <p className="small">… and {nodes.length - most} more nodes: see Workers</p>}
    </div>
  );
}

function PodBox({ pod, failed }: { pod: Pod; failed: boolean }) {
  const name = pod.role === 'launcher' ? 'Launcher' : `Node ${pod.index}`;
  const state = failed ? 'failed first' : pod.ready ? 'ready' : stateOf(pod);
  return (
    <li className={`pod ${failed ? 'failed' : pod.ready ? 'ready' : ''}`}>
      <Tooltip content={shown(`${pod.name}${pod.problem ? `: ${clip(pod.problem, 400)}` : ''}`)}>
        <strong tabIndex={0}>{name}</strong>
      </Tooltip>
      <span className="pod-state"><Text most={40}>{state}</Text></span>
      <span>{pod.slots ? `ranks ${ranksOf(pod)} · ${pod.slots.last - pod.slots.first + 1} slots` : 'no ranks'}</span>
      <span className="small"><Text most={60}>{pod.machine || 'no machine yet'}</Text>{' '}
        {pod.address && <Text most={50}>{pod.address}</Text>}</span>
    </li>
  );
}
