import { Button } from '@patternfly/react-core';
import { Link } from 'react-router';
import { pageOf, reasonPage } from '../api/client';
import type { Cause, Job } from '../api/types';
import { Text, Word } from '../parts/parts';
import { shown } from '../words/format';
import type { Term } from '../words/help';
import { isFinal, phaseWords } from '../words/phases';
import { podsOf } from './pods';

const classes: Record<string, string> = {
  infrastructure: 'Infrastructure failed: the job may succeed if it runs again.',
  application: 'The program failed: it would fail again.',
  request: 'The job asks for the impossible: it has to change.',
  hand: 'A person or another program ended it.',
};

// Failure is the card of a cause: what happened, what proves it, what to do.
export function Failure({ job }: { job: Job }) {
  const cause = job.cause as Cause;
  const ended = isFinal(job.phase);
  // What a rank printed is in the log of the launcher.
  const pod = cause.rank === undefined ? podsOf(job).find((p) => p.name === cause.pod)?.name : undefined;
  return (
    <section className={`failure ${ended ? 'ended' : 'kept'}`} aria-labelledby="failure-title">
      <header>
        <h2 id="failure-title"><Text most={80}>{cause.reason}</Text></h2>
        {cause.class && classes[cause.class] && <span>{classes[cause.class]}</span>}
      </header>
      <p className="message"><Text most={4_000}>{cause.message || cause.text}</Text></p>
      {cause.remedy && <p className="remedy"><strong>What to do: </strong><Text most={2_000}>{cause.remedy}</Text></p>}
      <Evidence cause={cause} />
      {!!cause.lines?.length && (
        <figure>
          <figcaption>Last lines of the program that failed</figcaption>
          <pre tabIndex={0} role="region" aria-label="Last lines of the program that failed">
            {cause.lines.slice(-40).map((l) => shown(l)).join('\n')}
          </pre>
        </figure>
      )}
      <footer>
        <Button component="a" variant="primary" size="sm" href={reasonPage(cause.reason)}>
          About {shown(cause.reason, 60)}
        </Button>
        <Link to={`${pageOf(job.namespace, job.name, 'logs')}${pod ? `?pod=${encodeURIComponent(pod)}` : ''}`}>
          {pod ? 'Log of the pod that failed' : 'Logs of the job'}
        </Link>
        {!ended && <span className="small">{phaseWords(job.phase).next}</span>}
      </footer>
    </section>
  );
}

function Evidence({ cause }: { cause: Cause }) {
  const facts: [Term, string | undefined][] = [
    ['Rank', cause.rank?.toString()], ['Pod', cause.pod], ['Machine', cause.machine],
    ['Exit code', cause.exitCode ? String(cause.exitCode) : undefined], ['Signal', cause.signal],
    ['Source', cause.source === 'pods' ? 'what the pods show now' : 'a condition of the TrainJob'],
  ];
  return (
    <dl className="evidence" aria-label="Evidence">
      {facts.filter(([, value]) => value).map(([term, value]) => (
        <div key={term}><dt><Word term={term} /></dt><dd><Text most={200}>{value}</Text></dd></div>
      ))}
    </dl>
  );
}
