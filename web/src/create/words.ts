// A command is a list of words, and people write it as a line, with the quotes of a shell. No shell reads it.

const plain = /^[\w@%+=:,./-]+$/;

// lineOf writes words as a line that wordsOf reads again.
export const lineOf = (words: string[]) =>
  words.map((w) => (plain.test(w) ? w : `'${w.replaceAll("'", `'\\''`)}'`)).join(' ');

// wordsOf splits a line into words, or returns nothing if a quote is not closed.
export function wordsOf(line: string): string[] | undefined {
  const words: string[] = [];
  let word = '';
  let begun = false;
  let quote = '';
  for (let i = 0; i < line.length; i++) {
    const c = line[i] ?? '';
    if (quote === "'") {
      if (c === quote) quote = '';
      else word += c;
    } else if (c === '\\' && (quote === '' || '"\\$`'.includes(line[i + 1] ?? ' '))) {
      if (i + 1 === line.length) return undefined;
      word += line[++i];
      begun = true;
    } else if (quote === '"') {
      if (c === quote) quote = '';
      else word += c;
    } else if (c === "'" || c === '"') {
      quote = c;
      begun = true;
    } else if (/\s/.test(c)) {
      if (begun || word) words.push(word);
      word = '';
      begun = false;
    } else {
      word += c;
    }
  }
  if (quote) return undefined;
  if (begun || word) words.push(word);
  return words;
}

// wantsShell reports whether a line has operators or variables that only a shell understands.
export const wantsShell = (words: string[]) => !/^(.*\/)?(ba|da|z)?sh$/.test(words[0] ?? '') &&
  words.some((w) => /^(\||\|\||&&|;|&|[<>]{1,2}|2>&1)$/.test(w) || /^\$\w/.test(w) || /;$/.test(w));
