import { Label, Spinner } from '@patternfly/react-core';
import { CheckCircleIcon } from '@patternfly/react-icons/dist/esm/icons/check-circle-icon';
import { ClockIcon } from '@patternfly/react-icons/dist/esm/icons/clock-icon';
import { ExclamationCircleIcon } from '@patternfly/react-icons/dist/esm/icons/exclamation-circle-icon';
import { shown } from '../words/format';
import type { Check, Live } from './server';

const looks = {
  fits: ['green', CheckCircleIcon], waits: ['purple', ClockIcon], never: ['red', ExclamationCircleIcon],
} as const;

// OutlookPart shows what would become of the job now: the answer of `kubectl mpi preflight`.
export function OutlookPart({ live, current, waiting }: { live?: Live; current: boolean; waiting: string }) {
  const check = live?.check;
  const say = waiting || (live?.problem ? live.problem.message : '');
  return (
    <section className="outlook" aria-label="What would become of it">
      <div role="status" className="verdict">
        {say ? <span>{shown(say, 400)}</span> : check ? <Verdict check={check} /> : <span>Checking…</span>}
        {!say && check && !current && <Spinner size="sm" aria-label="Checking again" />}
      </div>
      {!say && check && <Findings check={check} />}
    </section>
  );
}

function Verdict({ check }: { check: Check }) {
  if (check.findings.length > 0) {
    return <Label color="red" icon={<ExclamationCircleIcon />}>{check.findings.length === 1 ? 'a mistake'
      : `${check.findings.length} mistakes`}</Label>;
  }
  const [color, Icon] = looks[check.outlook?.verdict ?? 'fits'];
  return <Label color={color} icon={<Icon />}>{shown(check.summary, 200)}</Label>;
}

function Findings({ check }: { check: Check }) {
  const seen = check.outlook?.findings.filter((f) => f.about !== 'all') ?? [];
  return (
    <>
      <ul className="plain">
        {check.findings.map((f, i) => (
          <li key={i}>Line {f.line}: {shown(f.message, 500)}{f.help && ` (${shown(f.help, 300)})`}</li>
        ))}
        {check.warnings?.map((f) => (
          <li key={f.message}><strong>warning</strong>: {shown(f.message, 500)}
            {f.help && ` (${shown(f.help, 300)})`}</li>
        ))}
        {seen.map((f, i) => <li key={i}><strong>{shown(f.about, 30)}</strong>: {shown(f.text, 500)}</li>)}
      </ul>
      {!!check.outlook?.unseen?.length && (
        <details className="small">
          <summary>Not part of this, because you may not see it: {check.outlook.unseen.length}</summary>
          <ul className="plain">{check.outlook.unseen.map((u) => <li key={u}>{shown(u, 300)}</li>)}</ul>
        </details>
      )}
    </>
  );
}
