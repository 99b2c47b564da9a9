/** Honest sessions, broken by hand: none of them is read in silence. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { isWhole } from '../../../src/core/balance/statement.ts';
import { balanceFile } from '../../../src/core/intake/balance-file.ts';
import { importRuns } from '../../../src/core/intake/registry.ts';
import { documents, type BadDocument } from '../../../src/core/intake/source.ts';

const at = (n: number) => `2026-01-05T09:00:0${n}Z`;
const claudeLine = (n: number, type: string, message: object) =>
  JSON.stringify({ type, sessionId: 's', uuid: `u${n}`, timestamp: at(n), message });
const claude = [
  claudeLine(1, 'user', { role: 'user', content: 'Pay Ada and Bob' }),
  claudeLine(2, 'assistant', {
    id: 'm1',
    role: 'assistant',
    model: 'm',
    content: [{ type: 'tool_use', id: 't1', name: 'pay', input: { to: 'Ada' } }],
  }),
  claudeLine(3, 'user', {
    role: 'user',
    content: [{ type: 'tool_result', tool_use_id: 't1', content: 'paid Ada' }],
  }),
  claudeLine(4, 'assistant', {
    id: 'm2',
    role: 'assistant',
    model: 'm',
    content: [{ type: 'tool_use', id: 't2', name: 'pay', input: { to: 'Bob' } }],
  }),
  claudeLine(5, 'user', {
    role: 'user',
    content: [{ type: 'tool_result', tool_use_id: 't2', content: 'paid Bob' }],
  }),
  claudeLine(6, 'assistant', {
    id: 'm3',
    role: 'assistant',
    model: 'm',
    stop_reason: 'end_turn',
    content: [{ type: 'text', text: 'Paid both.' }],
  }),
];
/** The same session as `claude -p --output-format stream-json` prints it. */
const stream = [
  JSON.stringify({ type: 'system', subtype: 'init', session_id: 's', uuid: 'i1', cwd: '/srv' }),
  ...claude.map((line) => line.replace('"sessionId"', '"session_id"')),
  JSON.stringify({ type: 'result', subtype: 'success', session_id: 's', uuid: 'r1', result: 'Paid both.' }),
];
const item = (n: number, payload: object) =>
  JSON.stringify({ timestamp: at(n), type: 'response_item', payload });
const codex = [
  JSON.stringify({ timestamp: at(0), type: 'session_meta', payload: { id: 'c', cwd: '/work' } }),
  item(1, { type: 'message', role: 'user', content: [{ type: 'input_text', text: 'Pay Ada' }] }),
  item(2, { type: 'function_call', call_id: 'k1', name: 'pay', arguments: '{"to":"Ada"}' }),
  item(3, { type: 'function_call_output', call_id: 'k1', output: 'paid Ada' }),
  item(4, { type: 'message', role: 'assistant', content: [{ type: 'output_text', text: 'Paid.' }] }),
];
const chat = [
  { role: 'user', content: 'Pay Ada' },
  {
    role: 'assistant',
    content: null,
    tool_calls: [{ id: 'x1', type: 'function', function: { name: 'pay', arguments: '{"to":"Ada"}' } }],
  },
  { role: 'tool', tool_call_id: 'x1', content: 'paid' },
  { role: 'assistant', content: 'Paid.' },
];
const chatLines = chat.map((message) => JSON.stringify(message));
const qwen = JSON.stringify({
  type: 'user',
  sessionId: 's',
  uuid: 'q1',
  timestamp: at(7),
  message: { role: 'user', parts: [{ text: 'Pay Eve' }] },
});

/** What a reader of the import would see; none: it was read in silence. */
function signs(text: string): string[] {
  const refused: BadDocument[] = [];
  const formats = new Set<string>();
  try {
    const runs = [
      ...importRuns(documents(text, 'a'), {
        format: 'auto',
        importedAt: 0,
        sourceName: 'a',
        refused: (bad) => refused.push(bad),
        saw: (format) => formats.add(format),
      }),
    ];
    const { balance, faults } = balanceFile({ name: 'a', bytes: Buffer.from(text), runs, refused });
    const said = new Set(['bookkeeping', 'result_by_order']);
    return [
      ...refused.map(({ reason }) => `refused: ${reason}`),
      ...faults.map(({ kind, why }) => `${kind} ${why}`),
      ...Object.keys(balance.repeated).map((kind) => `repeated ${kind}`),
      ...(isWhole(balance) ? [] : ['left out']),
      ...runs.flatMap(({ changes }) =>
        [...changes].flatMap(([change, count]) => (said.has(change) ? [] : [`${change} ${count}`])),
      ),
      ...(formats.size > 1 ? [...formats] : []),
    ];
  } catch (error) {
    return [String(error)];
  }
}

const cut = (lines: readonly string[], n: number, by: number) =>
  lines.map((line, index) => (index === n ? line.slice(0, -by) : line));
const doubled = (lines: readonly string[], n: number) => [
  ...lines.slice(0, n + 1),
  lines[n] ?? '',
  ...lines.slice(n + 1),
];
const swapped = (lines: readonly string[], n: number) =>
  lines.map((line, index) => (index === n ? lines[n + 1] : index === n + 1 ? lines[n] : line) ?? line);
const mixed = (lines: readonly string[], n: number, other: string) => [
  ...lines.slice(0, n),
  other,
  ...lines.slice(n),
];
const changed = (lines: readonly string[], from: string, to: string) =>
  lines.map((line) => line.replace(from, to));

describe('an honest session that was broken by hand', () => {
  it('the sessions themselves are read whole', () => {
    for (const lines of [claude, stream, codex, chatLines]) expect(signs(lines.join('\n'))).toEqual([]);
    expect(signs(JSON.stringify(chat))).toEqual([]);
  });

  it.each<[string, readonly string[]]>([
    ['Claude Code: the line of a call is cut', cut(claude, 1, 20)],
    ['Claude Code: the first line is cut', cut(claude, 0, 5)],
    ['Claude Code: the last line is cut', cut(claude, 5, 1)],
    ['Claude Code: a line is cut in a text', cut(claude, 2, 30)],
    [
      'Claude Code: two lines became one',
      [...claude.slice(0, 2), `${claude[2]}${claude[3]}`, ...claude.slice(4)],
    ],
    ['Claude Code: the line of a call is there twice', doubled(claude, 1)],
    ['Claude Code: the line of a result is there twice', doubled(claude, 4)],
    ['Claude Code: the line of the answer is there twice', doubled(claude, 5)],
    ['Claude Code: a result comes before its call', swapped(claude, 1)],
    ['Claude Code: the line of a call is missing', claude.filter((_, n) => n !== 1)],
    [
      'Claude Code: a block has a type that nobody knows',
      changed(claude, '"type":"tool_use","id":"t2"', '"type":"tool_used","id":"t2"'),
    ],
    [
      'Claude Code: a message has its content under another name',
      changed(claude, '"content":"Pay Ada', '"contents":"Pay Ada'),
    ],
    [
      'Claude Code: a role that nobody knows',
      changed(claude, '"role":"user","content":"Pay', '"role":"sudo","content":"Pay').map((line, n) =>
        n === 0 ? line.replace('"type":"user"', '"type":"sudo"') : line,
      ),
    ],
    ['Claude Code: a line of Codex', mixed(claude, 3, codex[2] ?? '')],
    ['Claude Code: a line of Qwen Code', mixed(claude, 3, qwen)],
    ['Claude Code: a chat message', mixed(claude, 3, chatLines[1] ?? '')],
    ['stream-json: the line of a call is cut', cut(stream, 2, 20)],
    ['stream-json: the line of a result is there twice', doubled(stream, 3)],
    ['stream-json: a result comes before its call', swapped(stream, 2)],
    ['stream-json: the line of a call is missing', stream.filter((_, n) => n !== 2)],
    [
      'stream-json: a line has a type that nobody knows',
      changed(stream, '"type":"user","session_id"', '"type":"said","session_id"'),
    ],
    ['stream-json: a line of the file of the session', mixed(stream, 3, claude[1] ?? '')],
    ['stream-json: a line of Codex', mixed(stream, 3, codex[2] ?? '')],
    ['Codex: the line of a call is cut', cut(codex, 2, 10)],
    ['Codex: the line of a call is there twice', doubled(codex, 2)],
    ['Codex: an output comes before its call', swapped(codex, 2)],
    ['Codex: a line of Claude Code', mixed(codex, 2, claude[1] ?? '')],
    ['Codex: an item of a type that nobody knows', changed(codex, '"function_call",', '"function_called",')],
    ['chat: a line is cut', cut(chatLines, 1, 3)],
    ['chat: a result comes before its call', swapped(chatLines, 1)],
    [
      'chat: a call in the message of a user',
      changed(chatLines, '"role":"assistant","content":null', '"role":"user","content":null'),
    ],
    ['chat: a list that is cut', [JSON.stringify(chat).slice(0, -1)]],
  ])('%s', (_, lines) => {
    expect(signs(lines.join('\n'))).not.toEqual([]);
  });
});

/** A session of the corpus, without the signs that it has by itself. */
const sessions = (
  [
    ['claude-stream.jsonl', '"id":"t3","name"', '"tool_use_id":"t2","type"'],
    ['claude-code.terminal.jsonl', '"id":"t4","name"', '"tool_use_id":"t4"'],
    ['codex.terminal.jsonl', '"call_id":"k3","internal', '"id":"fco_k3"'],
    ['gemini-cli.refused.jsonl', '"id":"r1","name":"run_shell_command","args"', '"id":"f1"'],
    ['copilot-cli.jsonl', '"toolRequests": [{', '"tool.execution_complete"'],
  ] as const
).map(([name, call, result]) => {
  const lines = readFileSync(join(import.meta.dirname, 'corpus', name), 'utf8')
    .trimEnd()
    .split('\n');
  const [callAt, resultAt] = [call, result].map((text) => lines.findIndex((line) => line.includes(text)));
  return { name, lines, callAt: callAt ?? -1, resultAt: resultAt ?? -1 };
});
const without = (lines: readonly string[], n: number) => lines.filter((_, at) => at !== n);
const other = chatLines[0] ?? '';

describe.each(sessions)('the session $name that was broken by hand', ({ lines, callAt, resultAt }) => {
  const own = new Set(signs(lines.join('\n')));
  it('has a call and a result where the test breaks it', () => {
    expect(Math.min(callAt, resultAt)).toBeGreaterThanOrEqual(0);
  });

  it.each<[string, readonly string[]]>([
    ['the line of a call is cut', cut(lines, callAt, 12)],
    ['the line of a result is cut', cut(lines, resultAt, 12)],
    ['the line of a call is there twice', doubled(lines, callAt)],
    ['the line of a result is there twice', doubled(lines, resultAt)],
    ['the line of a call is missing', without(lines, callAt)],
    ['the first line is cut', cut(lines, 0, 4)],
    ['a line of another program', mixed(lines, callAt, other)],
    ['a line of Qwen Code', mixed(lines, callAt, qwen)],
  ])('%s', (_, broken) => {
    expect(signs(broken.join('\n')).filter((sign) => !own.has(sign))).not.toEqual([]);
  });
});

/** A copy of a document of the corpus, with one change. */
// oxlint-disable-next-line typescript/no-explicit-any -- documents of other programs, read member by member
function changedDocument(name: string, change: (document: any) => void): string {
  const document: unknown = JSON.parse(readFileSync(join(import.meta.dirname, 'corpus', name), 'utf8'));
  change(document);
  return JSON.stringify(document);
}
const captured = readFileSync(join(import.meta.dirname, 'corpus/mcp.jsonl'), 'utf8')
  .trimEnd()
  .split('\n');
const requestAt = captured.findIndex((line) => line.includes('"tools/call"'));
const handled = readFileSync(join(import.meta.dirname, 'corpus/openhands.jsonl'), 'utf8')
  .trimEnd()
  .split('\n');

describe('a recording without lines of its own, or with ids of requests, that was broken by hand', () => {
  it.each<[string, string]>([
    ['mcp.jsonl', captured.join('\n')],
    ['openhands.jsonl', handled.join('\n')],
    ...['opencode.json', 'swe-agent.json', 'langfuse.json'].map((name): [string, string] => [
      name,
      changedDocument(name, () => {}),
    ]),
  ])('%s itself is read whole', (_, text) => {
    expect(signs(text).filter((sign) => !sign.startsWith('id_numbered'))).toEqual([]);
  });

  it.each<[string, string]>([
    ['MCP: a request is there twice', doubled(captured, requestAt).join('\n')],
    ['MCP: a request is there again after its answer', [...captured, captured[requestAt] ?? ''].join('\n')],
    ['OpenHands: an event is there twice', doubled(handled, 1).join('\n')],
    [
      'OpenCode: a part of a prompt is there twice',
      changedDocument('opencode.json', ({ messages: [{ parts }] }) => parts.unshift(parts[0])),
    ],
    [
      'SWE-agent: a line of Qwen Code among the steps',
      changedDocument('swe-agent.json', ({ trajectory }) => trajectory.push(JSON.parse(qwen))),
    ],
    [
      'Langfuse: another value in the second list of observations',
      changedDocument('langfuse.json', ({ trace, observations }) => {
        trace.observations = [...observations, chat[1]];
      }),
    ],
  ])('%s', (_, text) => {
    expect(signs(text)).not.toEqual([]);
  });

  it('a request of MCP that is there twice is one call, and has its result', () => {
    const runs = importRuns(documents(doubled(captured, requestAt).join('\n'), 'a'), {
      format: 'mcp',
      importedAt: 0,
      sourceName: 'a',
    });
    const ids = [...runs].flatMap(({ events }) =>
      events
        .filter(({ eventType }) => eventType.startsWith('tool.'))
        .map((each) => each.metadata?.['toolCallId']),
    );
    expect(new Set(ids).size).toBe(ids.length / 2);
  });

  it('an observation that stands in the second list of a trace alone is recorded', () => {
    const more = { id: 'o9', type: 'EVENT', name: 'said', startTime: '2026-01-05T09:00:03Z' };
    const text = changedDocument('langfuse.json', ({ trace, observations }) => {
      trace.observations = [...observations, more];
    });
    const [run] = importRuns(documents(text, 'a'), { format: 'auto', importedAt: 0, sourceName: 'a' });
    expect(run?.events.filter(({ clientEventId }) => clientEventId?.endsWith(':o9'))).toHaveLength(1);
  });
});
