// The YAML beside the form: comments, order and unknown fields stay when the form changes a field.
import {
  Document, isMap, isScalar, isSeq, parseDocument, visit, type Node, type Pair, type YAMLMap, type YAMLSeq,
} from 'yaml';
import { equal, isTree, read, write, type Form, type Json, type Read, type Tree } from './form';

// Plain texts are quoted that YAML 1.1 takes for something else: kubectl reads it so.
const options = { compat: 'yaml-1.1', version: '1.2' } as const;
const layout = { lineWidth: 0, indentSeq: false, flowCollectionPadding: false } as const;

// Parsed is a text as the form sees it, or why the form cannot see it.
export type Parsed = Read & { job: Tree; wrong?: undefined } | { wrong: string; line: number };

export function parse(text: string): Parsed {
  const document = parseDocument(text, options);
  const error = document.errors[0];
  if (error) return { wrong: error.message.split('\n')[0] ?? '', line: error.linePos?.[0].line ?? 1 };
  const job = valueOf(document);
  if (!isTree(job)) return { wrong: 'This is no object, but a TrainJob is.', line: 1 };
  return { job, ...read(job) };
}

function valueOf(document: Document): Json {
  try {
    return document.toJS({ maxAliasCount: 1_000 }) as Json;
  } catch {
    return null; // an alias bomb
  }
}

export const textOf = (job: Tree) => stringify(make(new Document(undefined, options), job), options);

// change returns the text with other fields of the form. A text that is no TrainJob stays.
export function change(text: string, fields: Partial<Form>): string {
  const document = parseDocument(text, options);
  const job = document.errors.length > 0 ? null : valueOf(document);
  if (!isTree(job)) return text;
  const after = write(job, fields);
  if (equal(job, after)) return text;
  document.contents = merge(document, document.contents as Node, job, after) as typeof document.contents;
  // A value with an anchor may be another one elsewhere, too.
  if (!equal(valueOf(document), after)) document.contents = make(document, after) as typeof document.contents;
  return String(document.toString(layout));
}

function stringify(node: Node, o: typeof options): string {
  const document = new Document(undefined, o);
  document.contents = node as typeof document.contents;
  return document.toString(layout);
}

// make returns a new node. Texts with control characters get quotes, in which they are escaped.
function make(document: Document, value: Json): Node {
  const node = document.createNode(value, { aliasDuplicateObjects: false }) as Node;
  visit(node, {
    Scalar(_, s) {
      if (typeof s.value === 'string' && /[\x00-\x08\x0b-\x1f]/.test(s.value)) s.type = 'QUOTE_DOUBLE';
    },
  });
  return node;
}

// merge returns a node with a value, which keeps as much of an old node and its comments as stays the same.
function merge(document: Document, node: Node | null | undefined, was: Json | undefined, value: Json): Node {
  if (!node) return make(document, value);
  if (equal(was, value)) return node;
  if (isMap(node) && isTree(was) && isTree(value)) return mergeMap(document, node, was, value);
  if (isSeq(node) && Array.isArray(was) && Array.isArray(value)) return mergeList(document, node, was, value);
  const made = make(document, value);
  made.commentBefore = node.commentBefore;
  made.spaceBefore = node.spaceBefore;
  made.comment = node.comment;
  const type = isScalar(node) && node.value !== '' ? node.type : undefined;
  if (isScalar(made) && typeof made.value === 'string' && !made.type && type?.startsWith('QUOTE')) made.type = type;
  return made;
}

function mergeMap(document: Document, node: YAMLMap, was: Tree, value: Tree): Node {
  const keyOf = (pair: Pair) => String(isScalar(pair.key) ? pair.key.value : pair.key);
  node.items = node.items.filter((pair) => keyOf(pair) in value);
  for (const pair of node.items) {
    const key = keyOf(pair);
    pair.value = merge(document, pair.value as Node | null, was[key], value[key] ?? null);
  }
  const known = new Set(node.items.map(keyOf));
  for (const [key, wanted] of Object.entries(value)) {
    if (!known.has(key)) node.set(key, make(document, wanted));
  }
  return node;
}

function mergeList(document: Document, node: YAMLSeq, was: Json[], value: Json[]): Node {
  const old = (node.items as Node[]).map((item, i) => ({ item, was: was[i], used: false }));
  const nameOf = (v: Json | undefined) => (isTree(v) ? v.name ?? v.manager : undefined);
  const take = (fits: (o: (typeof old)[number], at: number) => boolean) => {
    const found = old.find((o, at) => !o.used && fits(o, at));
    if (found) found.used = true;
    return found;
  };
  const same = value.map((wanted) => take((o) => equal(o.was, wanted)));
  node.items = value.map((wanted, i) => {
    const name = nameOf(wanted);
    const near = same[i] ?? take((o, at) => (name !== undefined ? nameOf(o.was) === name : at === i &&
      !isTree(wanted)));
    return merge(document, near?.item, near?.was, wanted);
  });
  return node;
}
