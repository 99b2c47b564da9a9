import { describe, expect, it } from 'vitest';
import { otherProgram } from '../../../src/core/intake/other-programs.ts';
import { formats } from '../../../src/core/intake/registry.ts';
import { importText, importValue } from './fits.ts';

const at = '2026-11-20T10:00:00Z';

/** The first object of a recording of each program, as its own samples have it. */
const samples: readonly (readonly [name: string, first: object])[] = [
  ['codex exec --json', { type: 'thread.started', thread_id: 't' }],
  ['codex exec --json', { type: 'item.completed', item: { id: 'i', type: 'agent_message', text: 'Hi' } }],
  ['no uuid', { type: 'system', subtype: 'init', session_id: 's', cwd: '/srv', tools: [], model: 'm' }],
  ['no uuid', { type: 'assistant', session_id: 's', message: { id: 'm', role: 'assistant', content: [] } }],
  ['agent of Cursor', { type: 'system', session_id: 's', apiKeySource: 'login', permissionMode: 'default' }],
  ['agent of Cursor', { type: 'user', session_id: 's', message: { role: 'user', content: [] } }],
  ['agent of Cursor', { type: 'tool_call', subtype: 'started', call_id: 'c', tool_call: { a: {} } }],
  ['gemini -o', { type: 'init', timestamp: at, session_id: 's', model: 'gemini-2.5-flash' }],
  ['gemini -o', { type: 'message', timestamp: at, role: 'user', content: 'Hi' }],
  ['gemini -o', { type: 'tool_use', timestamp: at, tool_name: 'ls', tool_id: 't', parameters: {} }],
  ['gemini -o', { session_id: 's', response: 'Hi', stats: {} }],
  ['OpenCode', { id: 'p', sessionID: 's', messageID: 'm', type: 'tool', callID: 'c', tool: 'bash' }],
  ['OpenCode', { id: 's', projectID: 'p', directory: '/srv', title: 't', time: { created: 1 } }],
  ['Cursor', { role: 'user', message: { content: [{ type: 'text', text: 'Hi' }] } }],
  ['Cline shows', { ts: 1, type: 'say', say: 'text', text: 'Hi' }],
  ['LangChain', { lc: 1, type: 'constructor', id: ['langchain'], kwargs: { content: 'Hi' } }],
  ['LangChain', { type: 'human', data: { content: 'Hi', additional_kwargs: {} } }],
  ['Pydantic AI', { kind: 'request', parts: [{ part_kind: 'user-prompt', content: 'Hi', timestamp: at }] }],
  ['AutoGen', { source: 'user', models_usage: null, content: 'Hi', type: 'TextMessage' }],
  ['OpenAI Agents SDK', { object: 'trace', id: 'trace_1', workflow_name: 'w' }],
  ['OpenAI Agents SDK', { object: 'trace.span', id: 'span_1', span_data: { type: 'function' } }],
  ['Kimi Code', { type: 'metadata', protocol_version: '1.4', created_at: 1 }],
  ['Factory Droid', { type: 'session_start', id: 's', title: 't', cwd: '/srv' }],
  ['Factory Droid', { type: 'message', session_id: 's', role: 'user', text: 'Hi' }],
  ['Google Antigravity', { step_index: 0, source: 'USER_EXPLICIT', type: 'USER_INPUT', created_at: at }],
  ['Pi or OpenClaw', { type: 'session', version: 3, id: 's', timestamp: at, cwd: '/srv' }],
  ['Hermes', { session_id: 's', session_start: at, platform: 'cli', messages: [] }],
];

describe('recordings of programs that gov does not read', () => {
  it.each(samples)('one of %s is refused by name, alone, in a list and as a line', (name, first) => {
    for (const given of [first, [first]]) {
      expect(otherProgram(given)).toContain(name);
      expect(() => importValue(given)).toThrow(/^source\.json:1: looks like .*; gov does not read it$/);
    }
    const lines = `${JSON.stringify(first)}\n${JSON.stringify(first)}\n`;
    expect(() => importText(lines, { sourceName: 's.jsonl' })).toThrow(name);
  });

  it('a chat history of Aider is refused by name, and other text is no JSON', () => {
    const text = '\n# aider chat started at 2026-11-20 10:00:00\n\n#### pay\n';
    expect(() => importText(text, { sourceName: 'h.md' })).toThrow(
      'h.md:1: looks like a chat history of Aider',
    );
    expect(() => importText('# notes', { sourceName: 'n.md' })).toThrow(/^n\.md:1: /);
  });

  it('the example of no format looks like another program', () => {
    for (const { name, example } of formats)
      for (const each of [example, ...(Array.isArray(example) ? example : [])])
        expect([name, otherProgram(each)]).toEqual([name, undefined]);
  });

  it('values of any kind look like none', () => {
    for (const value of [
      null,
      1,
      'x',
      [],
      [1],
      {},
      { type: 5 },
      { info: 1, messages: 1 },
      { parts: 'x', kind: 1 },
    ])
      expect(otherProgram(value)).toBeUndefined();
  });
});
