import { Alert, Button, ToggleGroup, ToggleGroupItem } from '@patternfly/react-core';
import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { Link } from 'react-router';
import { get, jobPath, pageOf, Problem } from '../api/client';
import type { JobDetail } from '../api/types';
import { OutlookPart } from '../create/OutlookPart';
import { create, useCheck } from '../create/server';
import { Loading, State, Text, Trouble } from '../parts/parts';
import { shown, visible } from '../words/format';
import { isFinal } from '../words/phases';
import { matrixOf, measures, summaryOf, type Measure, type Probe } from './matrix';

interface PreviewProps { path: string; namespace: string; started: (name: string) => void; cancel: () => void }

// Preview shows the job that tests a runtime, what would become of it, and starts it.
export function Preview({ path, namespace, started, cancel }: PreviewProps) {
  const [failed, setFailed] = useState<Problem>();
  const [busy, setBusy] = useState(false);
  const { data, error } = useQuery({ queryKey: ['probe job', path], staleTime: Infinity, gcTime: 0,
    queryFn: ({ signal }) => get<{ name: string; yaml: string }>(path, signal) });
  const live = useCheck(namespace, data?.yaml ?? '', !!data);
  const refused = live?.problem !== undefined || !live?.check || live.check.findings.length > 0 ||
    live.check.outlook?.findings.some((f) => f.about === 'admission' || f.about === 'rights');
  const start = async (yaml: string) => {
    setBusy(true);
    try {
      started((await create(namespace, yaml)).name);
    } catch (reason) {
      setFailed(reason instanceof Problem ? reason : new Problem(0, 'Error', String(reason)));
      setBusy(false);
    }
  };
  if (error instanceof Problem) return <Trouble problem={error} />;
  if (!data) return <Loading what="the job of the test" />;
  return (
    <>
      <p>This job measures round trip and bandwidth of all pairs of ranks. It is yours: delete it when you have read
        its result.</p>
      <pre className="code same" tabIndex={0} role="region" aria-label="The job of the test">
        <code>{visible(data.yaml)}</code></pre>
      <OutlookPart live={live} current={live?.of === data.yaml} waiting="" />
      {failed && <Trouble problem={failed} />}
      <div className="move">
        <Button variant="primary" isAriaDisabled={refused || busy} isLoading={busy}
          onClick={() => { if (!refused && !busy) void start(data.yaml); }}>Start the test</Button>
        <Button variant="secondary" onClick={cancel}>Cancel</Button>
      </div>
    </>
  );
}

// Result follows the job of a test, and shows what it measured.
export function Result({ namespace, name }: { namespace: string; name: string }) {
  const { data, error } = useQuery({
    queryKey: ['test', namespace, name],
    queryFn: ({ signal }) => get<JobDetail>(jobPath(namespace, name), signal),
    refetchInterval: (query) => (query.state.data && isFinal(query.state.data.job.phase) ? false : 3_000),
  });
  if (error instanceof Problem) return <Trouble problem={error} />;
  if (!data) return <Loading what="the test" />;
  const { job } = data;
  return (
    <>
      <p role="status">
        <Link to={pageOf(namespace, name)}><Text most={80}>{name}</Text></Link> <State phase={job.phase} />{' '}
        {job.cause && <Text most={300}>{job.cause.message}</Text>}
      </p>
      {isFinal(job.phase) && <Measured namespace={namespace} name={name} />}
    </>
  );
}

function Measured({ namespace, name }: { namespace: string; name: string }) {
  const [measure, setMeasure] = useState<Measure>('Round trip');
  const { data, error } = useQuery({ queryKey: ['probe', namespace, name],
    queryFn: ({ signal }) => get<Probe>(jobPath(namespace, name, '/probe'), signal) });
  if (error instanceof Problem) return <Trouble problem={error} />;
  if (!data) return <Loading what="the result" />;
  return (
    <>
      {data.problems.length > 0 && (
        <Alert variant="warning" isInline component="p" title="This test certifies nothing">
          <ul className="plain">{data.problems.map((p) => <li key={p}>{shown(p, 500)}</li>)}</ul>
        </Alert>
      )}
      {data.pairs.length > 0 && (
        <>
          <ToggleGroup isCompact aria-label="What the matrix shows">
            {measures.map((m) => (
              <ToggleGroupItem key={m} text={m} isSelected={measure === m} onChange={() => setMeasure(m)} />
            ))}
          </ToggleGroup>
          <p>{summaryOf(data, measure)} From the rank of a row to the rank of a column.</p>
          <Matrix probe={data} measure={measure} />
        </>
      )}
      {data.certified && (
        <>
          <p>Write this into the spec of the cluster, in place of an older entry of the runtime:</p>
          <pre className="code same" tabIndex={0} role="region" aria-label="Certification">
            <code>{visible(data.certified)}</code></pre>
        </>
      )}
    </>
  );
}

function Matrix({ probe, measure }: { probe: Probe; measure: Measure }) {
  const cells = matrixOf(probe, measure);
  return (
    <div className="matrix" tabIndex={0} role="region" aria-label={`${measure} between ranks`}>
      <table>
        <caption className="small">{measure === 'Bandwidth' ? 'Mbit/s' : 'µs'}; slow pairs are bold</caption>
        <thead>
          <tr><th scope="col">Rank</th>{cells.map((_, i) => <th key={i} scope="col">{i}</th>)}</tr>
        </thead>
        <tbody>
          {cells.map((row, from) => (
            <tr key={from}>
              <th scope="row">{from} <span className="small"><Text most={40}>{probe.hosts[from]}</Text></span></th>
              {row.map((cell, to) => (
                <td key={to} title={shown(cell.tip, 200)} className={cell.slow ? 'slow' : undefined}>{cell.text}</td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}
