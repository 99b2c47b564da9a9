/** What was decided, and what each source says of it: one case a row, with the verdict and the color of the run. */
import { describe, expect, it } from 'vitest';
import type { EventInput } from '../../../src/contract/events.ts';
import {
  decided,
  otlp,
  refusedIn,
  transcript,
  after,
  run,
  ok,
  inCodex,
  inGemini,
  pay,
  event,
  own,
} from './said.ts';
import { judged } from './sessions.ts';

const verdicts = (events: readonly EventInput[]) =>
  judged(events).calls.map(({ verdict, compared }) =>
    compared === null ? verdict : `${verdict} by ${compared}`,
  );

const cases: readonly (readonly [name: string, events: readonly EventInput[], wanted: readonly string[]])[] =
  [
    [
      'another tool ran under the id of the decided one',
      [...decided('direct', ['c', 'echo']), ...otlp(['c', 'rm'])],
      ['mismatch'],
    ],
    [
      'the same tool ran another command',
      [
        ...decided('hook', ['c', 'Bash'], run('echo x')),
        ...transcript(['c', 'Bash'], { ...run('rm x'), ...ok }),
      ],
      ['mismatch'],
    ],
    [
      'something changed the arguments between the decision and the call',
      [
        ...decided('hook', ['c', 'bash'], { client: 'opencode', ...run('echo innocent') }),
        after(['c', 'bash'], { client: 'opencode', ...run('touch forbidden') }),
      ],
      ['mismatch'],
    ],
    [
      'nothing changed the arguments, and nobody else reports the call',
      [
        ...decided('hook', ['c', 'bash'], { client: 'opencode', ...run('ls') }),
        after(['c', 'bash'], { client: 'opencode', ...run('ls') }),
      ],
      ['single_source'],
    ],
    [
      'a client describes the command in words of its own',
      [
        ...decided('hook', ['c', 'Bash'], run('ls')),
        ...transcript(['c', 'Bash'], { arguments: { command: 'ls', description: 'List' }, ...ok }),
      ],
      ['governed by action'],
    ],
    [
      'the hook of Codex says Bash, its telemetry exec_command',
      [
        ...decided('hook', ['c', 'Bash'], { ...inCodex, ...run('ls') }),
        ...otlp(['c', 'exec_command'], { ...inCodex, ...ok, arguments: { cmd: 'ls', yield_time_ms: 1000 } }),
      ],
      ['governed by action'],
    ],
    [
      'the telemetry has no arguments',
      [
        ...decided('hook', ['c', 'Bash'], { ...inCodex, ...run('ls') }),
        ...otlp(['c', 'exec_command'], { ...inCodex, ...ok }),
      ],
      ['governed by tool'],
    ],
    [
      'a tool of another kind ran, without arguments',
      [
        ...decided('hook', ['c', 'Bash'], { ...inCodex, ...run('ls') }),
        ...otlp(['c', 'apply_patch'], { ...inCodex, ...ok }),
      ],
      ['mismatch'],
    ],
    [
      'a call in the wrapper of Codex was decided',
      [
        ...decided('hook', ['exec-1', 'Bash'], { ...inCodex, ...run('ls'), afterMs: 100 }),
        ...otlp(['exec-1', 'exec_command'], { ...inCodex, ...ok, arguments: { cmd: 'ls' }, afterMs: 200 }),
        ...otlp(['call_1', 'exec'], { ...inCodex, ...ok, afterMs: 300, durationMs: 250 }),
      ],
      ['governed by action', 'governed'],
    ],
    [
      'nobody decided a call in the wrapper of Codex',
      [
        ...otlp(['exec-1', 'exec_command'], { ...inCodex, ...ok, afterMs: 200 }),
        ...otlp(['call_1', 'exec'], { ...inCodex, ...ok, afterMs: 300, durationMs: 250 }),
        ...otlp(['call_2', 'exec'], { ...inCodex, ...ok, afterMs: 900, durationMs: 250 }),
      ],
      ['ungoverned', 'unknown', 'governed'],
    ],
    [
      'another program has a tool of the name of that wrapper',
      [...otlp(['c', 'exec'], { client: 'app', ...ok })],
      ['ungoverned'],
    ],
    [
      'the client reports a denied call as failed',
      [...decided('hook', ['c', 'Bash'], { deny: true }), ...otlp(['c', 'Bash'], { outcome: 'error' })],
      ['denied by tool'],
    ],
    ['another hook refused a call that nothing decided', [refusedIn(['c', 'Bash'])], ['not_run']],
    [
      'the user refused an allowed call',
      [...decided('hook', ['c', 'Bash']), refusedIn(['c', 'Bash'])],
      ['user_refused by tool'],
    ],
    [
      'a denied call ran',
      [...decided('hook', ['c', 'Bash'], { deny: true }), ...otlp(['c', 'Bash'], ok)],
      ['denied_but_ran by tool'],
    ],
    ['a call ran, and nothing decided', otlp(['c', 'Bash'], ok), ['ungoverned']],
    [
      'the error of an undecided call may be a refusal',
      otlp(['c', 'Bash'], { outcome: 'error' }),
      ['unknown'],
    ],
    [
      'an undecided call of a client that tells refusals apart ended with an error',
      otlp(['c', 'exec_command'], { ...inCodex, outcome: 'error' }),
      ['ungoverned'],
    ],
    [
      'the proxy refused a call that the hook allowed',
      [
        ...decided('hook', ['c', 'pay'], pay),
        ...decided('mcp', ['c', 'pay'], { ...pay, deny: true }),
        ...otlp(['c', 'mcp__till__pay'], { ...pay, ...ok }),
      ],
      ['denied by tool'],
    ],
    [
      'hook, proxy and client name an MCP tool in three ways',
      [
        ...decided('hook', ['c', 'pay'], pay),
        ...decided('mcp', ['c', 'pay'], pay),
        ...otlp(['c', 'mcp__till__pay'], { ...pay, ...ok }),
      ],
      ['governed by tool'],
    ],
    [
      'the telemetry of Claude Code does not name an MCP tool',
      [
        ...decided('hook', ['c', 'pay'], { ...pay, arguments: { amount: 10, currency: 'EUR' } }),
        ...otlp(['c', 'mcp_tool'], { ...pay, ...ok, arguments: { amount: 10, currency: 'EUR' } }),
        ...decided('hook', ['d', 'pay'], { ...pay, arguments: { amount: 10, currency: 'EUR' } }),
        ...otlp(['d', 'mcp_tool'], { ...pay, ...ok, arguments: { amount: 99, currency: 'EUR' } }),
      ],
      ['governed', 'mismatch'],
    ],
    [
      'the hook of Codex joins the namespace of a tool and its name, its other sources do not',
      [
        ...decided('hook', ['c', 'collaborationspawn_agent'], inCodex),
        ...otlp(['c', 'spawn_agent'], { ...inCodex, ...ok, space: 'collaboration' }),
        ...decided('hook', ['d', 'Bash'], inCodex),
        ...otlp(['d', 'exec_command'], { ...inCodex, ...ok, space: 'functions' }),
        ...decided('hook', ['e', 'collaborationwait_agent'], inCodex),
        ...transcript(['e', 'wait_agent'], { ...inCodex, ...ok, space: 'collaboration' }),
      ],
      ['governed by tool', 'governed by tool', 'governed by tool'],
    ],
    [
      'an MCP tool was asked for another amount than was decided',
      [
        ...decided('hook', ['c', 'pay'], { ...pay, arguments: { amount: 10, currency: 'EUR' } }),
        ...otlp(['c', 'mcp__till__pay'], { ...pay, ...ok, arguments: { amount: 10_000, currency: 'EUR' } }),
      ],
      ['mismatch'],
    ],
    ['a tool of the session has no hook', transcript(['c', 'TodoWrite'], ok), ['not_run']],
    ['only the hook reports a call', decided('hook', ['c', 'Bash']), ['single_source']],
    [
      'an allowed call ended with an error',
      [...decided('hook', ['c', 'Bash']), ...otlp(['c', 'Bash'], { outcome: 'error' })],
      ['failed by tool'],
    ],
    [
      'a hook without ids decided the only call of this action within a minute',
      [
        ...decided('hook', [null, 'run_shell_command'], { client: 'gemini', ...run('ls') }),
        ...otlp(['g', 'run_shell_command'], { client: 'gemini', ...run('ls'), ...ok, afterMs: 59_000 }),
      ],
      ['governed by action'],
    ],
    [
      'a hook without ids decided it more than a minute before',
      [
        ...decided('hook', [null, 'run_shell_command'], { client: 'gemini', ...run('ls') }),
        ...otlp(['g', 'run_shell_command'], { client: 'gemini', ...run('ls'), ...ok, afterMs: 60_000 }),
      ],
      ['single_source', 'ungoverned'],
    ],
    [
      'a hook without ids decided two calls of this action, and one ran',
      [
        ...decided('hook', [null, 'run_shell_command'], { client: 'gemini', ...run('ls') }),
        ...decided('hook', [null, 'run_shell_command'], { client: 'gemini', ...run('ls'), afterMs: 1 }),
        ...otlp(['g', 'run_shell_command'], { client: 'gemini', ...run('ls'), ...ok, afterMs: 900 }),
      ],
      ['governed by action', 'single_source'],
    ],
    [
      'a hook without ids decided one call of this action, and two ran',
      [
        ...decided('hook', [null, 'run_shell_command'], { client: 'gemini', ...run('ls') }),
        ...otlp(['g', 'run_shell_command'], { client: 'gemini', ...run('ls'), ...ok, afterMs: 800 }),
        ...otlp(['h', 'run_shell_command'], { client: 'gemini', ...run('ls'), ...ok, afterMs: 900 }),
      ],
      ['governed by action', 'ungoverned'],
    ],
    [
      'a hook made an id, and a recording has that of the client and the time at which the model asked',
      [
        ...decided('hook', ['hook:1', 'run_shell_command'], { ...inGemini, ...run('ls'), afterMs: 900 }),
        ...transcript(['ls__1', 'run_shell_command'], { ...inGemini, ...run('ls'), ...ok }),
      ],
      ['governed by action'],
    ],
    [
      'the id that a hook made is that of two equal calls, and a recording has three',
      [
        ...decided('hook', ['hook:1', 'run_shell_command'], { ...inGemini, ...run('ls') }),
        ...decided('hook', ['hook:1', 'run_shell_command'], { ...inGemini, ...run('ls'), afterMs: 5 }),
        ...transcript(['ls__1', 'run_shell_command'], { ...inGemini, ...run('ls'), ...ok }),
        ...transcript(['ls__2', 'run_shell_command'], { ...inGemini, ...run('ls'), ...ok, afterMs: 6 }),
        ...transcript(['ls__3', 'run_shell_command'], { ...inGemini, ...run('ls'), ...ok, afterMs: 7 }),
      ],
      ['governed by action', 'ungoverned'],
    ],
    [
      'a recording has a denied call as an error',
      [
        ...decided('hook', ['hook:1', 'run_shell_command'], { ...inGemini, ...run('ls'), deny: true }),
        ...transcript(['ls__1', 'run_shell_command'], { ...inGemini, ...run('ls'), outcome: 'error' }),
      ],
      ['denied by action'],
    ],
    [
      'the client completed the arguments after the decision, in a way that changes no action',
      [
        ...decided('hook', ['hook:1', 'grep_search'], { ...inGemini, arguments: { pattern: 'a' } }),
        ...otlp(['hook:2', 'grep_search'], {
          ...inGemini,
          ...ok,
          arguments: { pattern: 'a', context: 50 },
          afterMs: 900,
        }),
        after(['hook:2', 'grep_search'], {
          ...inGemini,
          arguments: { pattern: 'a', context: 50 },
          afterMs: 950,
        }),
      ],
      ['governed by action'],
    ],
    [
      'telemetry that has later calls lacks one',
      [
        ...decided('hook', ['c', 'Bash']),
        ...decided('hook', ['d', 'Bash']),
        ...otlp(['d', 'Bash'], { ...ok, afterMs: 900 }),
      ],
      ['gap', 'governed by tool'],
    ],
    [
      'a recorded result names no call',
      [
        ...transcript(['c', 'Bash']),
        event('tool.result', 'Bash', { afterMs: 1 }, { ...own, outcome: 'ok' }),
        event('agent.step', 'later', { afterMs: 900 }, own),
      ],
      ['unknown'],
    ],
    [
      'a call was asked for, and its recording goes on without a result',
      [...transcript(['c', 'Bash']), event('agent.step', 'later', { afterMs: 900 }, own)],
      ['not_run'],
    ],
    ['a call was asked for, and nothing came yet', transcript(['c', 'Bash']), ['unknown']],
  ];

describe('the verdict where', () => {
  it.each(cases)('%s', (_name, events, wanted) => {
    expect(verdicts(events)).toEqual(wanted);
  });
});

describe('what is compared', () => {
  it('is nothing where two engines read the arguments', () => {
    const [evaluated, call] = decided('hook', ['c', 'Bash'], run('ls'));
    const older = {
      ...evaluated!,
      metadata: { ...evaluated!.metadata, callHash: `gov.action/0 sha256:${'0'.repeat(64)}` },
    };
    const described = { arguments: { command: 'ls', description: 'List' } };
    const told = otlp(['c', 'Bash'], { ...described, ...ok });
    expect(verdicts([older, call!, ...told])).toEqual(['governed by tool']);
    expect(verdicts([...decided('hook', ['c', 'Bash'], run('ls')), ...told])).toEqual(['governed by action']);
  });
});
