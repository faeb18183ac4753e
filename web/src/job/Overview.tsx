import {
  Card, CardBody, CardTitle, DescriptionList, DescriptionListDescription, DescriptionListGroup, DescriptionListTerm,
  Progress,
} from '@patternfly/react-core';
import { type ReactNode } from 'react';
import { Link } from 'react-router';
import { pageOf, reasonPage } from '../api/client';
import type { Job, JobDetail } from '../api/types';
import { frameworkOf, ownerOf } from '../jobs/filter';
import { Help, Text, Word } from '../parts/parts';
import { bytes, clock, shown, since, span } from '../words/format';
import type { Term } from '../words/help';
import { isFinal, phaseWords } from '../words/phases';
import { Failure } from './Failure';
import { timelineOf } from './timeline';
import { Topology } from './Topology';

type Artifacts = NonNullable<Job['artifacts']>;
type Fact = [term: Term, value: ReactNode];

export function Overview({ detail, now }: { detail: JobDetail; now: number }) {
  const { job } = detail;
  const words = phaseWords(job.phase);
  return (
    <div className="overview">
      {job.cause ? <Failure job={job} /> : (
        <p className="phase-line">
          <strong>{words.meaning}</strong>{' '}
          {job.message && !isFinal(job.phase) ? <Text most={1000}>{job.message}</Text>
            : `Usually: ${words.usual} Next: ${words.next}`}
        </p>
      )}
      <Timeline job={job} now={now} />
      <div className="cards">
        <Part title="Job"><Facts facts={jobFacts(job, now)} /></Part>
        {job.queue && <Part title="Queue" term="Gang"><Facts facts={queueFacts(job)} /></Part>}
        <Part title="Progress" term="Progress"><ProgressPart job={job} now={now} /></Part>
        <Part title="Use and cost" term="Use"><Facts facts={useFacts(job, now)} /></Part>
      </div>
      <Part title="Topology" term="Topology"><Topology detail={detail} /></Part>
      {!!job.attempts?.length && <Attempts job={job} />}
      {!!job.unknown?.length && (
        <Part title="Not known">
          <ul className="plain">{job.unknown.map((u) => (
            <li key={u.what}><strong>{shown(u.what, 60)}</strong>: <Text>{u.why}</Text></li>
          ))}</ul>
        </Part>
      )}
    </div>
  );
}

function Part({ title, term, children }: { title: string; term?: Term; children: ReactNode }) {
  return (
    <Card isCompact className="part">
      <CardTitle component="h2">{title}{term && <Help term={term} />}</CardTitle>
      <CardBody>{children}</CardBody>
    </Card>
  );
}

function Facts({ facts }: { facts: Fact[] }) {
  return (
    <DescriptionList isHorizontal isCompact horizontalTermWidthModifier={{ default: '11ch' }}>
      {facts.map(([term, value]) => (
        <DescriptionListGroup key={term}>
          <DescriptionListTerm><Word term={term} /></DescriptionListTerm>
          <DescriptionListDescription>{value}</DescriptionListDescription>
        </DescriptionListGroup>
      ))}
    </DescriptionList>
  );
}

function jobFacts(job: Job, now: number): Fact[] {
  const r = job.runtime;
  const kind = [r.implementation, r.version].filter(Boolean).join(' ') || frameworkOf(job);
  return [
    ['Runtime', <><Text>{r.name}</Text>{kind && ` (${shown(kind, 60)})`}</>],
    ['Run by', <Text>{job.executor}</Text>],
    ['Slots', job.world ? `${job.world.slots} = ${job.world.nodes} nodes × ${job.world.slotsPerNode}` : '–'],
    ['Owner', <Text>{ownerOf(job)}</Text>],
    ['Created', `${clock(job.times.created)} UTC`],
    ['Duration', since(job.times.started, job.times.ended, now)],
    ...(job.artifacts ? [['Artifacts', <Text>{artifactsText(job.artifacts)}</Text>] as Fact] : []),
    ...(job.logsURL && /^https?:\/\//.test(job.logsURL)
      ? [['Kept logs', <a href={job.logsURL} rel="noreferrer noopener" target="_blank">Open the log store</a>] as Fact]
      : []),
  ];
}

function artifactsText({ state, to = '', claim, folder, files = 0, bytes: size = 0, message = '' }: Artifacts) {
  switch (state) {
    case 'Copied': return `${to}: ${files} files, ${bytes(size)}`;
    case 'Copying': return `being copied to ${to}${message && `: ${message}`}`;
    case 'Failed': return `not copied to ${to}: ${message}`;
    default: return `kept on the claim ${claim}, in folder artifacts/${folder}`;
  }
}

function queueFacts({ queue }: Job): Fact[] {
  return [
    ['Queue', <Text>{queue?.name}</Text>],
    ['Position', queue?.position ? `${queue.position}${queue.length ? ` of ${queue.length}` : ''}` : 'does not wait'],
    ...(queue?.text ? [['Waits for', <Text>{queue.text}</Text>] as Fact] : []),
  ];
}

function useFacts({ usage, world, times }: Job, now: number): Fact[] {
  if (!usage) {
    return [['Use', times.started ? 'not recorded for this job' : 'nothing yet: the command has not started']];
  }
  const open = usage.since ? Math.max(0, (now - Date.parse(usage.since)) / 1000) * (world?.nodes ?? 0) : 0;
  const hours = (usage.machineSeconds + open) / 3600;
  return [
    ['Machines', `${hours < 0.1 ? hours.toFixed(4) : hours.toFixed(2)} machine-hours`],
    ['Cost', usage.nodePrice ? `${(hours * usage.nodePrice).toFixed(2)} at ${usage.nodePrice} per node and hour`
      : 'the platform sets no price'],
    ...(usage.pods ? [
      ['Memory', <>{bytes(usage.memoryPeak)}{usage.memoryLimit ? ` of ${bytes(usage.memoryLimit)}` : ''}{' '}
        (<Text most={80}>{usage.memoryPod}</Text>)</>],
      ['CPU', `${usage.cpuPerPod?.toFixed(1) ?? '–'} per pod`], ['Sent', bytes(usage.sentBytes)],
    ] as Fact[] : [['Memory', 'measured at the end of the job'] as Fact]),
  ];
}

function ProgressPart({ job, now }: { job: Job; now: number }) {
  const p = job.progress;
  if (!p) {
    return <p>The program reports none. A line such as <code>lockstep: progress 40% loss=0.31</code> on its output
      is enough.</p>;
  }
  return (
    <>
      {p.percent !== undefined && (
        <Progress value={p.percent} size="sm" aria-label="Progress of the program"
          title={p.remainingSeconds === undefined || job.times.ended
            ? undefined : `${span(p.remainingSeconds)} left`} />
      )}
      <dl className="measures">
        {p.metrics?.slice(0, 16).map((m) => (
          <div key={m.name}>
            <dt><Text most={60}>{m.name}</Text></dt><dd><Text most={40}>{String(m.value)}</Text></dd>
          </div>
        ))}
      </dl>
      {p.updated && <p className="small">Reported {since(p.updated, undefined, now)} ago</p>}
    </>
  );
}

function Timeline({ job, now }: { job: Job; now: number }) {
  const parts = timelineOf(job, now);
  const total = parts.reduce((sum, s) => sum + s.to - s.from, 0);
  if (parts.length === 0) return null;
  return (
    <Part title="Timeline" term="Timeline">
      <div className="timeline" aria-hidden="true">
        {parts.map((s) => (
          <div key={s.name + s.from} className={`stretch ${s.tone} ${s.open ? 'open' : ''}`}
            style={{ flexGrow: Math.max(0.015, total ? (s.to - s.from) / total : 1) }} />
        ))}
      </div>
      <ol className="stretches">
        {parts.map((s) => (
          <li key={s.name + s.from}>
            <span className={`swatch ${s.tone}`} />{shown(s.name, 40)}{' '}
            <strong>{s.to - s.from < 1000 ? '<1s' : span((s.to - s.from) / 1000)}</strong>{s.open && ' so far'}
          </li>
        ))}
        {job.times.ended && <li>{shown(job.phase, 40)} at {clock(job.times.ended).slice(11)} UTC</li>}
      </ol>
    </Part>
  );
}

function Attempts({ job }: { job: Job }) {
  return (
    <Part title={`Restarts: ${job.restarts ?? 0} of ${job.restartsAllowed ?? '?'} allowed`}>
      <ol className="attempts">
        {job.attempts?.map((a) => (
          <li key={a.number}>
            <span className="small">Attempt {a.number + 1}, {clock(a.ended)} UTC</span>{' '}
            <a href={reasonPage(a.reason)}>{shown(a.reason, 60)}</a>: <Text most={800}>{a.message}</Text>
          </li>
        ))}
      </ol>
      <Link to={pageOf(job.namespace, job.name, 'logs')}>Logs of the job</Link>
    </Part>
  );
}
