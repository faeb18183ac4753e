import { defaultKeymap, history, historyKeymap } from '@codemirror/commands';
import { yaml } from '@codemirror/lang-yaml';
import { syntaxHighlighting } from '@codemirror/language';
import { setDiagnostics } from '@codemirror/lint';
import { EditorState } from '@codemirror/state';
import { EditorView, keymap, lineNumbers } from '@codemirror/view';
import { classHighlighter } from '@lezer/highlight';
import { useEffect, useRef } from 'react';
import type { Finding } from './server';

interface Props { text: string; findings: Finding[]; change: (text: string) => void }

// YamlEditor shows the YAML. Tab leaves it, as it leaves every field: a keyboard must not get caught.
export default function YamlEditor({ text, findings, change }: Props) {
  const place = useRef<HTMLDivElement>(null);
  const editor = useRef<EditorView | undefined>(undefined);
  const report = useRef(change);
  useEffect(() => { report.current = change; });
  useEffect(() => {
    if (!place.current) return undefined;
    const view = new EditorView({
      parent: place.current,
      state: EditorState.create({
        extensions: [
          lineNumbers(), history(), yaml(), syntaxHighlighting(classHighlighter), EditorView.lineWrapping,
          keymap.of([...defaultKeymap, ...historyKeymap]),
          EditorView.contentAttributes.of({ 'aria-label': 'YAML of the job', tabindex: '0', spellcheck: 'false' }),
          EditorView.updateListener.of((update) => {
            const typed = update.transactions.some((t) => t.isUserEvent('input') || t.isUserEvent('delete') ||
              t.isUserEvent('undo') || t.isUserEvent('redo') || t.isUserEvent('move'));
            if (update.docChanged && typed) report.current(update.state.doc.toString());
          }),
        ],
      }),
    });
    editor.current = view;
    return () => { view.destroy(); editor.current = undefined; };
  }, []);
  useEffect(() => {
    const view = editor.current;
    const old = view?.state.doc.toString() ?? '';
    if (!view || old === text) return;
    // Only the part that differs, so that the cursor and undo stay.
    let from = 0;
    while (from < old.length && from < text.length && old[from] === text[from]) from++;
    let end = 0;
    while (end < old.length - from && end < text.length - from && old.at(-1 - end) === text.at(-1 - end)) end++;
    view.dispatch({ changes: { from, to: old.length - end, insert: text.slice(from, text.length - end) } });
  }, [text]);
  useEffect(() => {
    const view = editor.current;
    if (!view) return;
    view.dispatch(setDiagnostics(view.state, findings.map((f) => {
      const line = view.state.doc.line(Math.min(Math.max(f.line, 1), view.state.doc.lines));
      const from = Math.min(line.from + Math.max(f.column - 1, 0), line.to);
      return { from, to: line.to, severity: 'error', message: f.help ? `${f.message}. ${f.help}` : f.message };
    })));
  }, [findings, text]);
  return <div ref={place} className="yaml" />;
}
