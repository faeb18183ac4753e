import { execFile, spawn, type ChildProcess } from 'node:child_process';
import { mkdirSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { chromium, type Browser, type BrowserContext, type BrowserContextOptions, type Page } from 'playwright-core';
import { afterAll, afterEach, beforeAll, expect } from 'vitest';

export type User = 'editor' | 'viewer' | 'stranger' | 'admin';

// World is the cluster beside the tests. kubectl-mpi stands beside kubectl.
interface World {
  kubeconfigs: Record<User, string>; namespace: string; gpuNamespace: string; kubectl: string;
  browser: string; pictures: string;
}

export const world = JSON.parse(process.env.LOCKSTEP_PAGE_WORLD ?? 'null') as World;
if (!world) throw new Error('these tests need a cluster: run `make test-e2e FOCUS="The page"`');

const run = promisify(execFile);
const as = (kubeconfig: string) => ({
  env: { ...process.env, KUBECONFIG: kubeconfig, PATH: `${dirname(world.kubectl)}:${process.env.PATH}` },
  maxBuffer: 64 << 20,
});

// mpi runs `kubectl mpi` as the editor and returns what it prints. An exit code is no error: `why` has some.
export const mpi = (...args: string[]): Promise<string> =>
  run(world.kubectl, ['mpi', ...args], as(world.kubeconfigs.editor)).then((r) => r.stdout, (e: { stdout?: string }) => {
    if (e.stdout) return e.stdout;
    throw e;
  });

// kubectl runs kubectl as the admin of the cluster.
export const kubectl = (...args: string[]): Promise<string> =>
  run(world.kubectl, args, as(world.kubeconfigs.admin)).then((r) => r.stdout);

// submit starts a job of two nodes with two slots each.
export const submit = (name: string, command: string[], ...options: string[]) =>
  mpi('submit', name, '--runtime', 'openmpi5-cpu', '--nodes', '2', '--slots', '2', '--resources',
    'cpu=100m,memory=512Mi', ...options, '--', ...command);

let browser: Browser;
const faults: string[] = [];
const servers: ChildProcess[] = [];
type State = Awaited<ReturnType<BrowserContext['storageState']>>;
const sessions = new Map<string, Promise<{ origin: string; state: State }>>();

// withBrowser starts a browser for the tests of a file. An error in its console fails them, a request to another host
// too.
export function withBrowser() {
  beforeAll(async () => {
    mkdirSync(world.pictures, { recursive: true });
    browser = await chromium.launch({
      executablePath: world.browser, args: ['--no-sandbox', '--disable-gpu', '--disable-background-networking',
        '--disable-component-update', '--disable-sync'],
    });
  });
  afterEach(async () => {
    for (const context of browser.contexts()) await context.close();
  });
  afterAll(async () => {
    for (const server of servers) server.kill('SIGINT');
    await browser.close();
    expect(faults, 'errors in the console, or requests to other hosts').toEqual([]);
  });
}

// login starts `kubectl mpi dashboard` with a kubeconfig and opens its address, which works once.
function login(kubeconfig: string) {
  const begin = async () => {
    const server = spawn(world.kubectl, ['mpi', 'dashboard', '--no-browser'], {
      ...as(kubeconfig), stdio: ['ignore', 'pipe', 'inherit'],
    });
    servers.push(server);
    const address = await new Promise<string>((done, fail) => {
      server.stdout.once('data', (text) => done(String(text).trim()));
      server.once('exit', (code) => fail(new Error(`kubectl mpi dashboard ended with ${code}`)));
    });
    const context = await browser.newContext();
    await (await context.newPage()).goto(address);
    const state = await context.storageState();
    await context.close();
    return { origin: new URL(address).origin, state };
  };
  const session = sessions.get(kubeconfig) ?? begin();
  sessions.set(kubeconfig, session);
  return session;
}

// open returns a page of a user. Errors that a test provokes itself match `expected`.
interface Options extends BrowserContextOptions { expected?: RegExp; kubeconfig?: string }
export async function open(user: User, path: string, { expected, kubeconfig, ...options }: Options = {}) {
  const { origin, state } = await login(kubeconfig ?? world.kubeconfigs[user]);
  const context = await browser.newContext({
    viewport: { width: 1440, height: 900 }, reducedMotion: 'reduce', ...options, storageState: state,
  });
  const page = await context.newPage();
  page.setDefaultTimeout(45_000); // a busy machine
  const note = (text: string) => { if (!expected?.test(text)) faults.push(text); };
  page.on('pageerror', (error) => note(`${path}: ${error.message}`));
  page.on('console', (m) => { if (m.type() === 'error') note(`${path}: ${m.text()} ${m.location().url}`); });
  page.on('request', (r) => {
    if (!r.url().startsWith(origin) && !/^(data|blob):/.test(r.url())) faults.push(`${path} asks ${r.url()}`);
  });
  page.on('dialog', (d) => { faults.push(`${path}: a dialog: ${d.message()}`); void d.dismiss(); });
  await page.goto(origin + path);
  return page;
}

export const jobPage = (name: string, tab = '') => `/jobs/${world.namespace}/${name}${tab && `/${tab}`}`;

const axe = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');

// look takes a picture of a page and lets axe judge it.
export async function look(page: Page, name: string) {
  await page.screenshot({ path: join(world.pictures, `${name}.png`) });
  await page.evaluate(axe);
  const found = await page.evaluate(async () => {
    const tags = ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'best-practice'];
    const { violations } = await (window as never as { axe: typeof import('axe-core') }).axe.run(
      { exclude: [['.pf-v6-c-tooltip']] }, { runOnly: tags });
    return violations.map((v) => `${v.id}: ${v.help}: ${v.nodes.slice(0, 3).map((n) => n.html).join(' | ')}`);
  });
  expect(found, `axe on ${name}`).toEqual([]);
}
