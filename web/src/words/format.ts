const pictures: Record<string, string> = { '\x7f': '␡' };

// visible makes every character show that could hide, move or reverse text: control characters become their
// pictures, marks of direction and invisible ones their code points. Colours of terminals (SGR) are left out.
export function visible(text: string): string {
  return text
    .replace(/\x1b\[[\d;:]*m/g, '')
    .replace(/[\x00-\x08\x0b-\x1f\x7f]/g, (c) => pictures[c] ?? String.fromCharCode(0x2400 + c.charCodeAt(0)))
    .replace(/[\x80-\x9f\u00ad\u061c\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb]/g, codePoint);
}

const codePoint = (c: string) => `⟨U+${c.charCodeAt(0).toString(16).toUpperCase().padStart(4, '0')}⟩`;

// clip bounds text for display.
export function clip(text: string, most = 2_000): string {
  if (text.length <= most) return text;
  return `${text.slice(0, most)} … ${(text.length - most).toLocaleString('en')} more characters: download the log`;
}

// shown is clipped visible text.
export const shown = (text: string | undefined, most = 2_000) => visible(clip(text ?? '', most));

const units: [string, number][] = [['d', 86_400], ['h', 3_600], ['m', 60], ['s', 1]];

// span formats seconds with two units at most: `2m 5s`, `3d 4h`.
export function span(seconds: number): string {
  let rest = Math.max(0, Math.floor(seconds));
  const parts: string[] = [];
  for (const [name, size] of units) {
    const n = Math.floor(rest / size);
    rest -= n * size;
    if (n > 0) parts.push(`${n}${name}`);
    else if (parts.length > 0) break;
    if (parts.length === 2) break;
  }
  return parts.join(' ') || '0s';
}

// at returns the milliseconds of a date, or undefined for none and for one that is no date.
export function at(date: string | undefined): number | undefined {
  const ms = date ? Date.parse(date) : NaN;
  return Number.isFinite(ms) && ms > 0 ? ms : undefined;
}

// since formats the time between two dates; now if there is no end.
export function since(from: string | undefined, to: string | undefined, now: number): string {
  const began = at(from);
  return began === undefined ? '–' : span(((at(to) ?? now) - began) / 1_000);
}

export const counted = (n: number, what: string) => `${n} ${what}${n === 1 ? '' : 's'}`;

export function bytes(n: number | undefined): string {
  if (n === undefined) return '–';
  const names = ['B', 'KiB', 'MiB', 'GiB', 'TiB'];
  let i = 0;
  while (n >= 1024 && i < names.length - 1) { n /= 1024; i++; }
  return `${i === 0 ? n : n.toPrecision(3)} ${names[i]}`;
}

export const clock = (date: string | undefined) => {
  const ms = at(date);
  return ms === undefined ? '–' : new Date(ms).toISOString().replace('T', ' ').slice(0, 19);
};
