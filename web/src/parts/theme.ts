export type Theme = 'system' | 'light' | 'dark';
const key = 'lockstep.theme';
const wantsDark = () => window.matchMedia('(prefers-color-scheme: dark)').matches;

// readTheme returns the chosen theme: the only value that the page keeps in web storage.
export function readTheme(): Theme {
  const value = window.localStorage.getItem(key);
  return value === 'light' || value === 'dark' ? value : 'system';
}

export function applyTheme(theme = readTheme()) {
  const dark = theme === 'dark' || (theme === 'system' && wantsDark());
  document.documentElement.classList.toggle('pf-v6-theme-dark', dark);
}

export function chooseTheme(theme: Theme) {
  if (theme === 'system') window.localStorage.removeItem(key);
  else window.localStorage.setItem(key, theme);
  applyTheme(theme);
}

if (typeof window !== 'undefined' && window.matchMedia) {
  window.matchMedia('(prefers-color-scheme: dark)').addEventListener('change', () => applyTheme());
}
