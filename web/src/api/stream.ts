import { useEffect, useState } from 'react';
import { Problem, get } from './client';

// Live is the state of a stream: data is the last known value, also while there is trouble.
export interface Live<T> { data?: T; trouble?: Problem; gone?: boolean }

const longestPause = 15_000;
const wait = new Problem(0, 'Unreachable', 'The connection to the dashboard is lost.',
  'The page shows the last known state and connects again by itself.');

// listen opens a stream and keeps it open. `fail` gets each trouble, and undefined if it is over. A refused stream is
// asked for again, because only an ordinary request shows the reason. A hidden page closes its stream: a
// browser opens only six connections to a host, whatever the number of its tabs. Returns how to close it.
export function listen(
  path: string, on: Record<string, (data: unknown) => void>, fail: (p?: Problem) => void,
): () => void {
  let source: EventSource | undefined;
  let timer: ReturnType<typeof setTimeout> | undefined;
  let pause = 1_000;
  let closed = false;
  let sleep: ReturnType<typeof setTimeout> | undefined;
  const again = () => {
    timer = setTimeout(open, pause * (0.5 + Math.random() / 2));
    pause = Math.min(pause * 2, longestPause);
  };
  const open = () => {
    source = new EventSource(path);
    for (const [name, take] of Object.entries(on)) {
      source.addEventListener(name, (event) => {
        pause = 1_000;
        const value = parse((event as MessageEvent).data);
        if (value !== undefined) take(value);
      });
    }
    source.addEventListener('trouble', (event) => {
      const t = parse((event as MessageEvent).data) as { message?: string; remedy?: string } | undefined;
      fail(new Problem(503, 'Trouble', t?.message ?? 'The API server does not answer.', t?.remedy));
    });
    source.onopen = () => fail();
    source.onerror = () => {
      source?.close();
      source = undefined;
      void refusal(path).then((problem) => {
        if (closed) return;
        fail(problem);
        // The same request would be refused again.
        if (problem.code !== 400 && !document.hidden) again();
      });
    };
  };
  const look = () => {
    clearTimeout(sleep);
    if (document.hidden) {
      sleep = setTimeout(() => {
        source?.close();
        source = undefined;
        fail();
      }, 5_000);
    } else if (!source) {
      clearTimeout(timer);
      open();
    }
  };
  document.addEventListener('visibilitychange', look);
  open();
  return () => {
    closed = true;
    document.removeEventListener('visibilitychange', look);
    clearTimeout(timer);
    clearTimeout(sleep);
    source?.close();
  };
}

// refusal returns why a stream cannot be opened now.
async function refusal(path: string): Promise<Problem> {
  const probe = new AbortController();
  try {
    await get(path, probe.signal, (answer) => { if (answer.ok) probe.abort(); });
  } catch (reason) {
    if (reason instanceof Problem) return reason;
  }
  return wait;
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

// Reducers turn an event of a stream into the next value.
export type Reducers<T> = Record<string, (before: T | undefined, data: never) => T | undefined>;

// useStream follows a stream. `reducers` must not change between renders.
export function useStream<T>(path: string, reducers: Reducers<T>): Live<T> {
  const [state, setState] = useState<Live<T> & { path: string }>({ path });
  useEffect(() => {
    const on: Record<string, (data: unknown) => void> = {};
    for (const [name, reduce] of Object.entries(reducers)) {
      on[name] = (data) => setState((before) => {
        const value = reduce(before.path === path ? before.data : undefined, data as never);
        return value === undefined ? { path, gone: true } : { path, data: value };
      });
    }
    return listen(path, on, (trouble) =>
      setState((before) => ({ ...(before.path === path ? before : {}), path, trouble })));
  }, [path, reducers]);
  // The value of another path is never shown: not even for one frame.
  return state.path === path ? state : {};
}
