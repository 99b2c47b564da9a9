/**
 * The documentation does what it says: every command in it exists with its flags, every link and name leads
 * somewhere, and README and the pages that run on a plane alone are followed line by line against planes of
 * their own. Other tests follow the rest, such as `test/interop/shell.test.ts` the commands without our software.
 */
import { spawn } from 'node:child_process';
import { copyFileSync, existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { manifest } from '../../src/cli/commands/commands/run.ts';
import { streams } from '../../src/contract/events.ts';
import { receivers } from '../../src/contract/otlp.ts';
import { fieldCodes } from '../../src/contract/field-codes.ts';
import { problems } from '../../src/contract/problems.ts';
import { table } from '../../src/contract/table.ts';
import { verdictCodes } from '../../src/core/proofs/verdict.ts';
import { cleanEnv, ended, gov, shell } from '../cli/support/tool.ts';
import { Reader } from './reader.ts';
import { anchorsOf, blocks, type Command, commandsOf, faultOf, page, pages } from './pages.ts';
import { projectRoot } from '../paths.ts';

describe.each(pages.map((each) => [each.name, each] as const))('%s', (name, each) => {
  it('a page contains no command that the tool does not have', () => {
    const faults = commandsOf(each).flatMap((command) => {
      const fault = faultOf(command);
      return fault === null ? [] : [`${command.where}: ${fault}`];
    });
    expect(faults).toEqual([]);
  });

  it('a page has no broken link', () => {
    const links = [...each.text.matchAll(/\]\((?!https?:)([^)#]*)#?([^)]*)\)/g)];
    const broken = links.filter(([, target = '', anchor = '']) => {
      const file = target === '' ? join(projectRoot, name) : join(projectRoot, dirname(name), target);
      if (!existsSync(file)) return true;
      return anchor !== '' && !anchorsOf(readFileSync(file, 'utf8')).includes(anchor);
    });
    expect(broken.map(([link]) => link)).toEqual([]);
  });

  // design documents also name what was decided against
  it.skipIf(name.startsWith('docs/design/'))(
    'a page names no operation, code or variable that is missing',
    () => {
      const rows = Object.values({ ...table, ...streams, ...receivers }).flatMap(({ method, path }) => [
        `${method} ${path}`,
        // exporters append these paths to the address of the server
        `${method} ${path.replace(/^\/otlp/, '')}`,
      ]);
      const isServed = (text: string): boolean =>
        text.endsWith('…') ? rows.some((row) => row.startsWith(text.slice(0, -1))) : rows.includes(text);
      const operations = [...each.text.matchAll(/`((?:GET|POST|PUT|DELETE|PATCH) \/[^\s`]*)`/g)]
        .map(([, text = '']) => text)
        .filter((text) => !isServed(text) && text !== 'GET /openapi.json');
      const known = [problems, fieldCodes, verdictCodes].flatMap((codes) => Object.keys(codes));
      const constants = [...each.text.matchAll(/`([A-Z]+(?:_[A-Z0-9]+)+)`/g)].map(([, text = '']) => text);
      const variables = Object.keys(manifest().environment);
      const unknown = constants.filter((text) => ![...known, ...variables, ...otherVariables].includes(text));
      expect([...operations, ...unknown]).toEqual([]);
    },
  );
});

/** Read by the plane, by the service, by `gov forward verify`, by bin/gov or install.sh, or by Node; or written by `gov run` for its program, or looked at by `gov doctor`; or closed by `gov agents install`; or set in ci/gitlab. */
const otherVariables = [
  'BASH_ENV',
  'CLAUDE_CODE_SHELL_PREFIX',
  'CLAUDE_ENV_FILE',
  'AWS_SECRET_ACCESS_KEY',
  'AWS_SESSION_TOKEN',
  'GOV_POLICIES',
  'GOV_PROPOSED',
  'GOV_BUNDLES',
  'GOV_LISTEN',
  'GOV_METRICS_LISTEN',
  'GOV_LOG_LEVEL',
  'GOV_TLS_CERT',
  'GOV_TLS_KEY',
  'GOV_TLS_CLIENT_CA',
  'GOV_PUBLIC_URL',
  'GOV_DATABASE',
  'GOV_DATABASE_FILE',
  'GOV_CONNECTIONS',
  'GOV_EXPORTS_KEPT',
  'GOV_EXPORTS_OPEN',
  'GOV_EXPORT_DIR',
  'GOV_EXPORT_HOURS',
  'GOV_EXPORT_MEBIBYTES',
  'GOV_MASTER_KEY',
  'GOV_MASTER_KEY_FILE',
  'GOV_NODE',
  'GOV_HOME',
  'GOV_SCHEDULER',
  'GOV_SMTP_PASSWORD',
  'GOV_SMTP_PASSWORD_FILE',
  'GOV_DELIVERY_DIR',
  'GOV_REPORT_FONTS',
  'GOV_ISSUER_CLIENT_SECRET',
  'GOV_ISSUER_CLIENT_SECRET_FILE',
  'GOV_STRIPE_KEY',
  'GOV_STRIPE_KEY_FILE',
  'HTTPS_PROXY',
  'LD_PRELOAD',
  'NODE_EXTRA_CA_CERTS',
  'NODE_OPTIONS',
  'GOV_RUN',
  'OTEL_EXPORTER_OTLP_ENDPOINT',
  'OTEL_EXPORTER_OTLP_HEADERS',
  'OTEL_EXPORTER_OTLP_PROTOCOL',
  'OTEL_EXPORTER_OTLP_TRACES_ENDPOINT',
  'OTEL_RESOURCE_ATTRIBUTES',
  'OTEL_SDK_DISABLED',
  'OTEL_TRACES_EXPORTER',
  'OTEL_TRACES_SAMPLER',
];

it('the index docs/README.md links every page', () => {
  const index = page('docs/README.md').text;
  const links = [...index.matchAll(/\]\(([^)#]+)\)/g)];
  const linked = new Set(links.map(([, target = '']) => `docs/${target}`));
  // design documents have an index of their own
  const names = pages.map(({ name }) => name).filter((name) => /^docs\/(?!design\/)/.test(name));
  expect(names.filter((name) => name !== 'docs/README.md' && !linked.has(name))).toEqual([]);
});

it('the check of commands recognizes a wrong command', () => {
  const fault = (text: string, complete = true): string | null =>
    faultOf({ words: text.split(' '), complete, where: '' } satisfies Command);
  expect(fault('events push run.ndjson --from openhands')).toBeNull();
  expect(fault('proofs', false)).toBeNull();
  expect(fault('proofs prove')).toBe('there is no such command');
  expect(fault('proofs create')).toBe('--run is required');
  expect(fault('proofs create --runs r')).toBe('there is no flag --runs');
  expect(fault('proofs create --run')).toBe('--run has no value');
  expect(fault('proofs verify')).toBe('expected 1 arguments, got 0');
  expect(fault('events push --from nowhere x')).toBe('--from has no choice nowhere');
});

describe('README, five minutes', () => {
  const reader = new Reader();
  afterAll(() => reader.end());

  it(
    'the five minutes of the README run on the sample file with the exit codes that the page states',
    { timeout: 300_000 },
    async () => {
      mkdirSync(join(reader.folder, 'examples'));
      const sample = 'examples/first-run.ndjson';
      copyFileSync(join(projectRoot, sample), join(reader.folder, sample));
      const said: string[] = [];
      const steps = blocks(page('README.md'), 'sh', 'Five minutes');
      expect(steps.length).toBe(4);
      for (const block of steps) {
        for (const { stdout, stderr } of await reader.follow(block)) said.push(stdout + stderr);
      }
      expect(said.join('\n')).toContain('7 events accepted in 1 run');
      expect(said.join('\n')).toMatch(/\tverified\t/);
      expect(said.join('\n')).toContain('NO POLICY WAS ACTIVE');
    },
  );

  it('the README has a program that type-checks and records an event', { timeout: 300_000 }, async () => {
    const [program = ''] = blocks(page('README.md'), 'ts');
    const file = reader.writeProgram(program);
    writeFileSync(
      join(reader.folder, 'tsconfig.json'),
      JSON.stringify({
        extends: join(projectRoot, 'tsconfig.json'),
        compilerOptions: { noEmit: true, typeRoots: [join(projectRoot, 'node_modules/@types')] },
        include: [file],
      }),
    );
    const tsc = join(projectRoot, 'node_modules/.bin/tsc');
    const checked = await ended(spawn(tsc, ['-p', reader.folder], { env: cleanEnv() }));
    expect(checked.stdout).toBe('');
    const done = await reader.program(program);
    expect(done).toMatchObject({ code: 0, stderr: '' });
    const listed = await gov(['events', 'list', '--run', 'run-1', '-o', 'json'], reader);
    expect(JSON.parse(listed.stdout).events).toMatchObject([{ eventType: 'tool.call', action: 'execute' }]);
  });

  it(
    'the README continues in docs/how-to/verify-a-proof.md, section "Verify offline"',
    { timeout: 300_000 },
    async () => {
      const [block = ''] = blocks(page('docs/how-to/verify-a-proof.md'), 'sh', 'Verify offline');
      const vkey =
        /^log (\S+)$/m.exec(readFileSync(join(reader.folder, 'my-plane/trust'), 'utf8'))?.[1] ?? '';
      reader.fill.set('gov.local/…+…+…', vkey);
      const results = await reader.follow(block);
      expect(results.length).toBe(4);
      expect(results[3]?.stdout).toContain('layer event_integrity');
    },
  );
});

describe.concurrent('docs/tutorials/first-proof.md', () => {
  const reader = new Reader();
  afterAll(() => reader.end());

  it(
    'docs/tutorials/first-proof.md runs line by line with the exit codes that the page states',
    { timeout: 300_000 },
    async () => {
      const of = page('docs/tutorials/first-proof.md');
      const [, events = ''] = /as `run\.ndjson`:\n\n```json\n([^]*?)```/.exec(of.text) ?? [];
      writeFileSync(join(reader.folder, 'run.ndjson'), events);
      const said: string[] = [];
      for (const block of blocks(of, 'sh')) {
        for (const { stdout, stderr } of await reader.follow(block)) said.push(stdout + stderr);
      }
      expect(said.join('\n')).toContain('3 events accepted in 1 run');
      expect(said.join('\n')).toContain('NO POLICY WAS ACTIVE');
    },
  );
});

describe('pages on running a plane', () => {
  const reader = new Reader();
  reader.fill.set('/var/lib/gov', './gov');
  afterAll(() => reader.end());
  const follow = async (name: string): Promise<void> => {
    for (const block of blocks(page(name), 'sh')) await reader.follow(block);
  };

  it('docs/tutorials/plane-in-production.md runs line by line', { timeout: 300_000 }, () =>
    follow('docs/tutorials/plane-in-production.md'),
  );

  it('docs/reference/files.md names the files of the data directory of a plane', () => {
    const [, directory = ''] = page('docs/reference/files.md').text.split('## Directory of a data plane');
    const rows = [...(directory.split(/\n##+ /)[0] ?? '').matchAll(/^\| (`[^|]+) \|/gm)];
    const files = rows.flatMap(([, cell = '']) =>
      [...cell.matchAll(/`([^`]+)`/g)].map(([, name = '']) => name),
    );
    expect(files.length).toBeGreaterThan(8);
    // made by the first approval, and by older releases
    const later = ['approver.sealed', 'approver.key'];
    const missing = files.filter((name) => !existsSync(join(reader.folder, 'gov', name)));
    expect(missing).toEqual(later);
  });

  it('docs/how-to/check-a-log.md runs line by line', { timeout: 300_000 }, () =>
    follow('docs/how-to/check-a-log.md'),
  );

  it('docs/how-to/back-up-and-restore.md runs line by line', { timeout: 300_000 }, async () => {
    // the tutorial made folders of the same names
    for (const name of ['backup-1', 'restored']) rmSync(join(reader.folder, name), { recursive: true });
    await follow('docs/how-to/back-up-and-restore.md');
  });
});

describe.concurrent.each([
  'how-to/write-policies',
  'how-to/gate-ci-on-a-policy',
  'how-to/find-out-why-a-call-was-denied',
  'how-to/put-mcp-servers-under-policy',
  'tutorials/govern-an-agent',
  'how-to/govern-agents',
  'how-to/score-risk',
  'how-to/use-the-library',
  'how-to/replay-a-run',
  'how-to/see-what-ran-ungoverned',
  'how-to/make-a-report',
])('docs/%s.md', (name) => {
  const reader = new Reader();
  const of = page(`docs/${name}.md`);
  afterAll(() => reader.end());

  it(
    'a how-to page runs line by line with the exit codes that the page states',
    { timeout: 300_000 },
    async () => {
      reader.write(of);
      await reader.follow('gov plane init --data ./my-plane\ngov plane serve --data ./my-plane');
      for (const block of blocks(of, 'sh')) await reader.follow(block);
      for (const program of blocks(of, 'ts')) {
        const done = await reader.program(program);
        expect(done, done.stderr).toMatchObject({ code: 0, stderr: '' });
      }
    },
  );
});

describe.concurrent('docs/how-to/erase-a-person.md', () => {
  const reader = new Reader();
  const of = page('docs/how-to/erase-a-person.md');
  afterAll(() => reader.end());

  it(
    'docs/how-to/erase-a-person.md runs line by line, with the plane stopped where the page says so',
    { timeout: 300_000 },
    async () => {
      reader.write(of);
      await reader.follow('gov plane init --data ./my-plane');
      const file = join(reader.folder, 'my-plane/plane.json');
      const [subjects = ''] = blocks(of, 'json');
      const set = { ...JSON.parse(readFileSync(file, 'utf8')), ...JSON.parse(subjects) };
      writeFileSync(file, JSON.stringify(set));
      await reader.follow('gov plane serve --data ./my-plane');
      const [erasing = ''] = blocks(of, 'sh', 'Erase');
      const results = await reader.follow(erasing);
      const said = results.map(({ stdout }) => stdout);
      expect(said[3]).toContain('evt_');
      expect(said[6]).not.toContain('4111');
      expect(said[7]).toContain('leaves\t1');
      await reader.stop();
      const [pruning = ''] = blocks(page('docs/how-to/keep-and-prune.md'), 'sh', 'Prune');
      await reader.follow(pruning);
    },
  );
});

describe.concurrent('docs/how-to/watch-from-the-terminal.md', () => {
  const reader = new Reader();
  const of = page('docs/how-to/watch-from-the-terminal.md');
  afterAll(() => reader.end());

  it(
    'docs/how-to/watch-from-the-terminal.md gives programs the data that its lines take from a pipe',
    { timeout: 300_000 },
    async () => {
      await reader.follow('gov plane init --data ./my-plane\ngov plane serve --data ./my-plane');
      // a minute of samples is a minute of this test
      reader.fill.set('--count 60', '--count 1');
      const [piped = ''] = blocks(of, 'sh', 'Use the same data in a program');
      const [sample, ...rows] = await reader.follow(piped);
      expect(sample?.stdout).toMatch(/^\d{4}-\d\d-\d\dT\S+\t/);
      expect(rows).toHaveLength(2);
      for (const screen of ['gov runs browse', 'gov approvals inbox']) {
        expect(of.text).toContain(`\n${screen}\n`);
        await reader.follow(screen);
      }
    },
  );
});

describe.concurrent('docs/how-to/export-data.md', () => {
  const reader = new Reader();
  const of = page('docs/how-to/export-data.md');
  afterAll(() => reader.end());

  it(
    'docs/how-to/export-data.md runs line by line, and its program makes the same checks as the tool',
    { timeout: 300_000 },
    async () => {
      reader.write(of);
      copyFileSync(join(projectRoot, 'docs/how-to/check-export.py'), join(reader.folder, 'check-export.py'));
      await reader.follow('gov plane init --data ./my-plane\ngov plane serve --data ./my-plane');
      const [asking = '', verifying = '', complete = '', byHand = '', byProgram = ''] = blocks(of, 'sh');
      const asked = await reader.follow(asking);
      expect(asked[5]?.stdout.trim()).toBe('2');
      expect(readFileSync(join(reader.folder, 'first.csv'), 'utf8')).toContain('HYPERLINK');
      await reader.follow(verifying);
      const answered = await reader.follow(complete);
      expect(answered[1]?.stdout).toMatch(/check\tcompleteness\tpassed\t\t1 of 1 rows/);
      expect(answered[2]?.stdout.trim()).toBe('passed');
      const [, hashed, shown] = await reader.follow(byHand);
      expect(`sha256:${hashed?.stdout.slice(0, 64)}`).toBe(shown?.stdout.trim());
      const [checked] = await reader.follow(byProgram);
      expect(checked?.stdout).toMatch(/^5 rows, each what its leaf says/);
      expect(checked?.stdout).toMatch(/^none missing: 5 of 5 rows/m);
      for (const name of ['changed.json', 'shorter.json', 'plain.json']) {
        const refused = await shell(`python3 check-export.py ${name} my-plane/trust`, { cwd: reader.folder });
        expect([name, refused.code]).toEqual([name, 1]);
      }
    },
  );
});
