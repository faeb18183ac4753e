import { useQuery } from '@tanstack/react-query';
import { get } from '../api/client';
import type { Curve, Curves as Answer } from '../api/types';
import { Help, Text, Withheld } from '../parts/parts';
import { bytes, clock } from '../words/format';

const charts: [string, string, (n: number) => string][] = [
  ['cpu', 'CPU cores', (n) => n.toFixed(2)], ['memory', 'Memory', (n) => bytes(Math.round(n))],
  ['network', 'Network, both ways, per second', (n) => bytes(Math.round(n))],
  ['gpu', 'GPU', (n) => `${Math.round(n)} %`],
];
const width = 600;
const height = 120;

// Curves draws what each pod used over time, if the dashboard knows a Prometheus.
export function Curves({ path, names }: { path: string; names: Map<string, string> }) {
  const { data } = useQuery({
    queryKey: ['curves', path], queryFn: ({ signal }) => get<Answer>(`${path}/curves`, signal), refetchInterval: 30_000,
  });
  if (!data) return null;
  return (
    <section aria-label="Use over time">
      <h2 className="curves-title">Over time<Help term="Over time" /></h2>
      <Withheld items={data.withheld} />
      {charts.map(([metric, title, format]) => {
        const curves = data.items.filter((c) => c.metric === metric && c.points.length > 1);
        return curves.length > 0 && (
          <Chart key={metric} title={title} curves={curves} from={data.from} to={data.to} format={format}
            names={names} />
        );
      })}
    </section>
  );
}

interface ChartProps {
  title: string; curves: Curve[]; from: string; to: string; names: Map<string, string>; format: (n: number) => string;
}

function Chart({ title, curves, from, to, names, format }: ChartProps) {
  const begin = Date.parse(from) / 1_000;
  const length = Math.max(1, Date.parse(to) / 1_000 - begin);
  const top = Math.max(1e-9, ...curves.flatMap((c) => c.points.map((p) => p.value)));
  const line = (c: Curve) => c.points.map((p, i) => {
    const x = ((p.time - begin) / length) * width;
    return `${i === 0 ? 'M' : 'L'}${x.toFixed(1)} ${(height - (p.value / top) * height).toFixed(1)}`;
  }).join('');
  const last = (c: Curve) => format(c.points[c.points.length - 1]?.value ?? 0);
  return (
    <figure className="curve">
      <figcaption>{title}<span className="small">highest {format(top)}</span></figcaption>
      <svg viewBox={`0 0 ${width} ${height}`} preserveAspectRatio="none" role="img"
        aria-label={`${title} of ${curves.length} pods from ${clock(from)} to ${clock(to)}; highest ${format(top)}`}>
        {curves.map((c, i) => <path key={c.pod} d={line(c)} className={`rank-${i % 8}`} />)}
      </svg>
      <ul className="legend small">{curves.map((c, i) => (
        <li key={c.pod}>
          <span className={`source rank-${i % 8}`}><Text most={60}>{names.get(c.pod) ?? c.pod}</Text></span> {last(c)}
        </li>
      ))}</ul>
    </figure>
  );
}
