/** Programs that the kernel saw below two clients, in recordings of both, with the calls that their hooks decided. */
import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import type { EventInput } from '../../../src/contract/events.ts';
import { callHash, withCallHash } from '../../../src/core/coverage/call-hash.ts';
import { shellLineOf } from '../../../src/core/coverage/kernel-lines.ts';
import { hookLine, nothing } from '../../../src/cli/agents/setup/edit.ts';
import { cases, hasCases } from '../../paths.ts';
import { CoverageJudge } from '../../../src/core/coverage/judge.ts';
import { asLeaves, judged } from './sessions.ts';

const settings = {
  ...nothing,
  node: '/opt/node',
  entry: '/opt/gov/dist/gov.cjs',
  config: '/h/.config/gov/hook.json',
};

const event = (eventType: string, atMs: number, metadata: Record<string, unknown>): EventInput =>
  withCallHash({
    runId: 'r',
    eventType,
    actor: { name: 'gov-watch' },
    ...(typeof metadata['tool'] === 'string' ? { resource: { name: metadata['tool'], type: 'tool' } } : {}),
    action: 'observe',
    timestamp: new Date(atMs).toISOString(),
    metadata,
  });

/** The service names the key that recorded what a kernel saw. */
const byOperator = { 'gov.statedBy': 'key_operator' };

const exec = (atMs: number, pid: number, ppid: number, argv: readonly string[]): EventInput =>
  event('x.kernel.exec', atMs, { ...byOperator, pid, ppid, path: argv[0] ?? '', argv: [...argv] });

/** What the hook decides before a program. */
function decided(client: string, id: string, atMs: number, command: string, deny = false): EventInput[] {
  const hash = callHash({ client, tool: 'Bash', server: null, arguments: { command } });
  const evaluationId = `pev_${id}`;
  return [
    event('tool.evaluated', atMs, { tool: 'Bash', evaluationId, callHash: hash }),
    event(deny ? 'tool.denied' : 'tool.call', atMs, {
      tool: 'Bash',
      recordedBy: 'hook',
      client,
      toolCallId: id,
      evaluationId,
    }),
  ];
}

interface Watched {
  readonly t?: string;
  readonly ms: number;
  readonly pid: number;
  readonly ppid: number;
  readonly path: string;
  readonly argv: readonly string[];
}

const linesOf = (name: string): unknown[] =>
  readFileSync(cases(`agents/${name}`), 'utf8')
    .trim()
    .split('\n')
    .map((line): unknown => JSON.parse(line));

/** The hooks of the recordings are those of a prototype, with a line of their own. */
const asOurs = (client: 'claude-code' | 'codex', argv: readonly string[]): string[] =>
  argv.map((word) => (word.endsWith('/hook.mjs') ? hookLine(client, settings, true) : word));

function kernelEvents(name: string, client: 'claude-code' | 'codex'): EventInput[] {
  return (linesOf(name) as Watched[])
    .filter(({ t }) => t === 'exec')
    .map(({ ms, pid, ppid, path, argv }) =>
      event('x.kernel.exec', ms, { ...byOperator, pid, ppid, path, argv: asOurs(client, argv) }),
    );
}

const byTime = (events: readonly EventInput[]): EventInput[] =>
  events.toSorted((a, b) => Date.parse(a.timestamp) - Date.parse(b.timestamp));

const shown = (events: readonly EventInput[]) =>
  judged(byTime(events)).calls.map(({ verdict, compared, sources }) => [verdict, compared, sources.join()]);

describe.skipIf(!hasCases)('a recording of the kernel (skipped without the recorded cases)', () => {
  it('of Claude Code confirms four decided calls, and finds the command of a skill', () => {
    interface Hooked {
      readonly ms: number;
      readonly id: string;
      readonly tool: string;
      readonly input: { readonly command?: string };
    }
    const hooks = (linesOf('claude-skill-hook.ndjson') as Hooked[]).flatMap(({ ms, id, tool, input }) =>
      tool === 'Bash' ? decided('claude-code', id, ms, input.command ?? '') : [],
    );
    const found = shown([...hooks, ...kernelEvents('claude-skill-kernel.ndjson', 'claude-code')]);
    const governed = ['governed', 'action', 'hook,kernel'];
    expect(found).toEqual([governed, ['ungoverned', null, 'kernel'], governed, governed, governed]);
  });

  it('of Codex finds the two calls of a session whose hook was switched off', () => {
    const found = shown(kernelEvents('codex-bash-env-kernel.ndjson', 'codex'));
    expect(found).toEqual([
      ['ungoverned', null, 'kernel'],
      ['ungoverned', null, 'kernel'],
    ]);
  });
});

describe('a program that the kernel saw', () => {
  const atMs = Date.parse('2026-01-05T09:00:00Z');
  const client = exec(atMs, 10, 1, ['/usr/bin/claude', '-p', 'go']);

  it('after its denial is a denied call that ran', () => {
    const run = exec(atMs + 100, 11, 10, ['/bin/bash', '-c', 'rm -rf x']);
    expect(shown([client, ...decided('claude-code', 'c', atMs + 50, 'rm -rf x', true), run])).toEqual([
      ['denied_but_ran', 'action', 'hook,kernel'],
    ]);
  });

  it('belongs to the call that started it, and to nobody where no client started it', () => {
    const shell = exec(atMs + 100, 11, 10, ['/bin/bash', '-c', 'make']);
    const inner = exec(atMs + 200, 12, 11, ['sh', '-c', 'cc x.c']);
    const apart = exec(atMs + 300, 20, 2, ['sh', '-c', 'cron']);
    expect(shown([client, ...decided('claude-code', 'c', atMs, 'make'), shell, inner, apart])).toEqual([
      ['governed', 'action', 'hook,kernel'],
    ]);
  });

  it('with words that were cut or joined is unknown: nobody can compare its line', () => {
    const cut = exec(atMs, 11, 10, ['/bin/bash', '-c', 'ls']);
    const found = shown([client, { ...cut, metadata: { ...cut.metadata, cut: true } }]);
    expect(found).toEqual([['unknown', null, 'kernel']]);
    const { argv: _words, ...joined } = cut.metadata ?? {};
    expect(shown([client, { ...cut, metadata: joined }])).toEqual([['unknown', null, 'kernel']]);
  });

  it('is unknown where the agent has a run of its own, with the decisions about its calls', () => {
    const linked = event('run.linked', atMs, { run: 's' });
    const shells = ['ls', 'rm x', 'touch y'].map((line, at) =>
      exec(atMs + 1 + at, 11 + at, 10, ['/bin/bash', '-c', line]),
    );
    const unknown = ['unknown', null, 'kernel'];
    expect(shown([client, linked, ...shells])).toEqual([unknown, unknown, unknown]);
    const judge = new CoverageJudge();
    for (const leaf of asLeaves([client, linked, ...shells])) judge.add(leaf);
    expect(judge.linkedRuns).toEqual(['s']);
    const decisions = [
      ...decided('claude-code', 'a', atMs, 'ls'),
      ...decided('claude-code', 'b', atMs, 'rm x', true),
    ];
    for (const leaf of asLeaves(decisions)) judge.addLinked(leaf);
    expect(judge.finish().calls).toMatchObject([
      { callId: 'a', verdict: 'governed', compared: 'action', sources: ['hook', 'kernel'] },
      { callId: 'b', verdict: 'denied_but_ran' },
      { callId: null, verdict: 'ungoverned', sources: ['kernel'] },
    ]);
  });

  it('is nothing where the event does not name the key that recorded it: an agent may have written it', () => {
    const shell = exec(atMs + 1, 11, 10, ['/bin/bash', '-c', 'ls']);
    const { 'gov.statedBy': _key, ...forged } = shell.metadata ?? {};
    const calls = decided('claude-code', 'a', atMs, 'ls');
    expect(shown([client, ...calls, { ...shell, metadata: forged }])).toEqual([
      ['single_source', null, 'hook'],
    ]);
    expect(shown([client, ...calls, shell])).toEqual([['governed', 'action', 'hook,kernel']]);
  });

  it('without a shell, which no table knows, is unknown', () => {
    expect(shown([client, exec(atMs, 11, 10, ['/opt/helper', 'serve'])])).toEqual([
      ['unknown', null, 'kernel'],
    ]);
  });

  it('of git that Claude Code 2.1.332 and Codex 0.171.0 start for themselves is no call', () => {
    const refs = `core.alternateRefsCommand=f() { git --git-dir="$1" for-each-ref --format='%(objectname)'; }; f`;
    const off = ['-c', 'core.hooksPath=/dev/null', '-c'];
    const claude = [
      ['-c', 'core.fsmonitor=', ...off, 'core.askPass=', 'config', '--get', '--path', 'core.excludesFile'],
      ['-c', 'protocol.ext.allow=never', '-c', refs, '-c', 'submodule.recurse=false', 'write-tree'],
      ['-c', 'protocol.ext.allow=never', '-c', 'core.alternateRefsCommand=touch x', 'fetch'],
      ['-c', 'core.fsmonitor=touch x', ...off, 'core.askPass=', 'status'],
    ];
    const own = ['-c', 'safe.bareRepository=explicit'];
    const codex = [
      [...own, ...off, 'core.fsmonitor=false', 'rev-parse', 'HEAD'],
      [...own, 'config', '--null', '--get', 'core.fsmonitor'],
      [...own, ...off, 'core.fsmonitor=touch x', 'status'],
    ];
    const parent = exec(atMs, 10, 1, ['/usr/bin/codex', 'exec', 'go']);
    const unknown = [['unknown', null, 'kernel']];
    const found = (start: EventInput) => (words: string[]) =>
      shown([start, exec(atMs, 11, 10, ['git', ...words])]);
    expect(claude.map(found(client))).toEqual([[], [], unknown, unknown]);
    expect(codex.map(found(parent))).toEqual([[], [], unknown]);
  });

  it('is one of the client itself only by its exact line', () => {
    const lines = [
      ['/bin/sh', '-c', hookLine('claude-code', settings, true)],
      ['/bin/sh', '-c', hookLine('claude-code', settings, false)],
      ['git', '-c', 'core.askPass=', 'status'],
      ['/bin/sh', '-c', `${hookLine('claude-code', settings, true)}; touch x`],
      ['/bin/sh', '-c', 'git -c core.askPass= status'],
      ['/bin/sh', 'script.sh'],
    ];
    const replaced = [
      exec(atMs, 11, 10, ['/bin/sh', '-c', 'touch x; exec git']),
      exec(atMs, 11, 10, lines[2]!),
    ];
    expect(shown([client, ...replaced])).toEqual([['ungoverned', null, 'kernel']]);
    const found = lines.map((argv) => shown([client, exec(atMs, 11, 10, argv)]));
    const ungoverned = [['ungoverned', null, 'kernel']];
    expect(found).toEqual([[], [], [], ungoverned, ungoverned, ungoverned]);
  });
});

describe('the line of a shell', () => {
  it.each([
    [['bash', '-c', 'ls -l'], 'ls -l'],
    [['/bin/bash', '-lc', "echo 'x'"], "echo 'x'"],
    [['bash', '-c', '-l', 'ls'], 'ls'],
    [
      [
        '/bin/bash',
        '-c',
        `source /h/.claude/shell-snapshots/snapshot-bash-1-a.sh 2>/dev/null || true && eval 'echo '"'"'a b'"'"' | wc' < /dev/null && pwd -P >| /tmp/claude-1-cwd`,
      ],
      "echo 'a b' | wc",
    ],
    [['ls', '-l'], null],
    [['bash', 'script.sh'], null],
  ] as const)('of %j is %j', (argv, line) => {
    expect(shellLineOf(argv)).toBe(line);
  });
});
