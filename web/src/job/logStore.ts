import type { LogLine } from '../api/types';

// maxLines bounds a log in memory: the oldest lines go first.
export const maxLines = 200_000;
const maxText = 16_384;

export interface Line extends LogLine { id: number; hit?: boolean }

// LogStore holds the lines of a log and those that match a search. It is searched in slices, so that a long log never
// blocks the page; `changed` is called at most ten times a second.
export class LogStore {
  lines: Line[] = [];
  // hits are the ids of lines that match, in order.
  hits: number[] = [];
  dropped = 0;
  note = '';
  ended = false;
  #next = 0;
  #pattern?: RegExp;
  #searched = 0;
  #timer?: ReturnType<typeof setTimeout>;
  #slice?: ReturnType<typeof setTimeout>;

  constructor(private readonly changed: () => void) {}

  add(batch: LogLine[]) {
    for (const line of batch) {
      const text = typeof line.text === 'string' ? line.text : '';
      this.lines.push({ ...line, id: this.#next++, text: text.length > maxText ? text.slice(0, maxText) : text });
    }
    const over = this.lines.length - maxLines;
    if (over > 0) {
      // A tenth at once: to move an array for every line would be slow.
      const cut = Math.min(this.lines.length, over + maxLines / 10);
      this.lines.splice(0, cut);
      this.dropped += cut;
      this.hits = this.hits.filter((id) => id >= this.dropped);
      this.#searched = Math.max(this.#searched, this.dropped);
    }
    this.#search();
    this.#tell();
  }

  set(change: { note?: string; ended?: boolean }) {
    Object.assign(this, change);
    this.#tell();
  }

  // clear forgets all lines: the server starts over.
  clear() {
    this.lines = [];
    this.hits = [];
    this.dropped = this.#searched = this.#next = 0;
  }

  // find searches from the first line on. undefined ends the search.
  find(pattern?: RegExp) {
    this.#pattern = pattern;
    this.hits = [];
    this.#searched = this.dropped;
    this.#search();
    this.#tell();
  }

  close() {
    clearTimeout(this.#timer);
    clearTimeout(this.#slice);
    this.#timer = this.#slice = undefined;
  }

  #search() {
    clearTimeout(this.#slice);
    const pattern = this.#pattern;
    if (!pattern) return;
    const until = performance.now() + 12;
    const end = this.dropped + this.lines.length;
    while (this.#searched < end) {
      const line = this.lines[this.#searched - this.dropped];
      if (line && pattern.test(line.text)) this.hits.push(this.#searched);
      this.#searched++;
      if (this.#searched % 64 === 0 && performance.now() > until) {
        this.#slice = setTimeout(() => { this.#search(); this.#tell(); });
        return;
      }
    }
  }

  #tell() {
    this.#timer ??= setTimeout(() => {
      this.#timer = undefined;
      this.changed();
    }, 100);
  }
}

// patternOf compiles what a person types: a regular expression, without case unless it has capitals.
export function patternOf(text: string): { pattern?: RegExp; wrong?: string } {
  if (!text) return {};
  try {
    return { pattern: new RegExp(text, /[A-Z]/.test(text) ? '' : 'i') };
  } catch (error) {
    return { wrong: error instanceof Error ? error.message.replace(/^.*: /, '') : 'not valid' };
  }
}

// pieces cuts a text at the matches of a pattern. Odd pieces match.
export function pieces(text: string, pattern?: RegExp): string[] {
  if (!pattern) return [text];
  const result: string[] = [];
  let from = 0;
  for (const match of text.matchAll(new RegExp(pattern, `${pattern.flags}g`))) {
    if (match[0] === '' || result.length > 100) continue;
    result.push(text.slice(from, match.index), match[0]);
    from = match.index + match[0].length;
  }
  result.push(text.slice(from));
  return result;
}
