import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { importerVersion } from '../../../src/core/intake/run.ts';
import type { JsonObject } from '../../../src/core/json/parse.ts';
import { Folder, push } from './harness.ts';
import { Listing } from './service.ts';

let folder: Folder;
let service: Listing;
beforeEach(() => {
  folder = new Folder();
  service = new Listing();
});
afterEach(() => folder.remove());

const session = 'dddd4444-0000-4000-8000-000000000004';
const main = `${session}.jsonl`;
const sub = `${session}/subagents/agent-a1.jsonl`;

const line = (uuid: string, second: number, members: object) => ({
  uuid,
  sessionId: session,
  isSidechain: false,
  timestamp: `2026-11-20T10:00:0${second}Z`,
  ...members,
});
const said = (id: string, content: unknown[], stop: string | null) => ({
  type: 'assistant',
  message: { id, role: 'assistant', model: 'm', stop_reason: stop, content },
});
const use = (id: string, name: string, input: object) =>
  said(`m-${id}`, [{ type: 'tool_use', id, name, input }], null);
const result = (id: string, content: unknown, more: object = {}) => ({
  type: 'user',
  message: { role: 'user', content: [{ type: 'tool_result', tool_use_id: id, content }] },
  ...more,
});
const prompt = (content: string) => ({ type: 'user', message: { role: 'user', content } });
const text = (value: string) => [{ type: 'text', text: value }];

const mainLines = [
  line('u1', 0, prompt('Clean up.')),
  line('a1', 1, use('t1', 'Agent', { prompt: 'remove tmp' })),
  line('r1', 8, result('t1', text('done'), { toolUseResult: { agentId: 'a1', status: 'completed' } })),
  line('a2', 9, said('m2', text('Cleaned.'), null)),
];
const subLines = [
  line('s1', 2, prompt('remove tmp')),
  line('s2', 3, use('t2', 'Bash', { command: 'ls tmp' })),
  line('s3', 4, result('t2', 'x')),
  line('s4', 5, use('t3', 'Bash', { command: 'rm -rf tmp' })),
  line('s5', 6, result('t3', '')),
  line('s6', 7, said('m5', text('done'), 'end_turn')),
].map((each) => ({ ...each, isSidechain: true, agentId: 'a1' }));

const write = (name: string, lines: readonly object[]) =>
  folder.write(name, lines.map((each) => JSON.stringify(each)).join('\n'));
const importing = async (...files: string[]) => {
  const outcome = await push({ files, from: 'auto' }, { folder, service, output: 'json' });
  return { ...outcome, value: JSON.parse(outcome.stdout) };
};

const nameOf = (party: unknown) => (party as JsonObject | null)?.['name'];
const reports = () =>
  service.recorded
    .filter(({ eventType }) => String(eventType).startsWith('tool.'))
    .map(({ eventType, actor, resource }) => `${eventType} ${nameOf(resource)} by ${nameOf(actor)}`)
    .toSorted();
const expected = [
  'tool.call Agent by claude-code',
  'tool.call Bash by claude-code/a1',
  'tool.call Bash by claude-code/a1',
  'tool.result Agent by claude-code',
  'tool.result Bash by claude-code/a1',
  'tool.result Bash by claude-code/a1',
];
/** What says that the call caused the subagent: the cause of its prompt, or an event that completes the prompt. */
const causes = () =>
  service.recorded
    .filter(({ clientEventId, metadata }) =>
      [clientEventId, (metadata as JsonObject)['completes']].includes(`${session}:s1`),
    )
    .flatMap(({ causedBy }) => (causedBy as string[] | undefined) ?? [])
    .filter((cause) => cause === `${session}:a1.call`);

describe('files of subagents', () => {
  it.each([
    ['the session first', [[main, sub]]],
    ['the subagent first', [[sub, main]]],
    ['one push each, the session first', [[main], [sub]]],
    ['one push each, the subagent first', [[sub], [main]]],
    ['one push each, and again', [[sub], [main], [sub], [main], [sub, main]]],
  ])('the files of a session and its subagent are one run: %s', async (_, pushes) => {
    write(main, mainLines);
    write(sub, subLines);
    for (const files of pushes) expect(await importing(...files)).toMatchObject({ code: 0 });
    expect(new Set(service.recorded.map(({ runId }) => runId))).toEqual(new Set([session]));
    expect(reports()).toEqual(expected);
    expect(causes()).toHaveLength(1);
    expect(service.recorded.filter(({ eventType }) => eventType === 'run.started')).toHaveLength(1);
    expect((await importing(main, sub)).value).toMatchObject({ accepted: 0, rejected: 0 });
  });

  it('one file with the subagent before its session is the same run, with every cause before its effect', async () => {
    write('both.jsonl', [...subLines, ...mainLines]);
    write(main, mainLines);
    expect(await importing('both.jsonl')).toMatchObject({ code: 0 });
    expect(causes()).toHaveLength(1);
    const at = (id: unknown) => service.recorded.findIndex(({ clientEventId }) => clientEventId === id);
    for (const { clientEventId, causedBy } of service.recorded)
      for (const cause of (causedBy as string[] | undefined) ?? [])
        expect(at(cause)).toBeLessThan(at(clientEventId));
    // a file of its own has a balance of its own
    expect((await importing(main)).value).toMatchObject({ accepted: 1, rejected: 0 });
    for (const file of [main, 'both.jsonl'])
      expect((await importing(file)).value).toMatchObject({ accepted: 0, rejected: 0 });
  });

  it.each([
    ['the session first', [[main], [sub]]],
    ['the subagent first', [[sub], [main]]],
    ['both at once', [[main, sub]]],
    ['both at once, the subagent first', [[sub, main]]],
  ])('record a call once that the session reports in progress lines too: %s', async (_, pushes) => {
    const at = (message: { uuid: string; timestamp: string }) =>
      line(`p-${message.uuid}`, 9, {
        type: 'progress',
        parentToolUseID: 't1',
        data: {
          type: 'agent_progress',
          agentId: 'a1',
          message: { ...message, timestamp: '2026-11-20T10:00:07Z' },
        },
      });
    // the program leaves out words between calls, and the first call follows one
    const words = { ...subLines[1]!, ...said('m-t2', text('Let me look.'), null), uuid: 's1a' };
    write(main, [...mainLines.slice(0, 2), ...subLines.slice(1, 5).map(at), ...mainLines.slice(2)]);
    write(sub, [subLines[0]!, words, ...subLines.slice(1)]);
    for (const files of [...pushes, ...pushes]) {
      expect(await importing(...files)).toMatchObject({ code: 0, value: { rejected: 0 } });
    }
    expect(reports()).toEqual(expected);
    expect((await importing(main, sub)).value).toMatchObject({ accepted: 0, rejected: 0 });
  });

  it('the files of a session and its subagent may grow between pushes', async () => {
    write(main, mainLines.slice(0, 2));
    write(sub, subLines.slice(0, 3));
    for (const files of [[sub, main], [main]]) expect(await importing(...files)).toMatchObject({ code: 0 });
    write(main, mainLines);
    write(sub, subLines);
    for (const files of [[main, sub], [sub], [main]])
      expect(await importing(...files)).toMatchObject({ code: 0 });
    expect(reports()).toEqual(expected);
    expect(causes()).toHaveLength(1);
  });
});

describe('files of subagents of Codex', () => {
  const thread = '01a1cccc-0000-7000-8000-000000000003';
  const entry = (second: number, type: string, payload: object) => ({
    timestamp: `2026-11-20T10:00:0${second}Z`,
    type,
    payload,
  });
  const call = (second: number, id: string, tool: string) =>
    entry(second, 'response_item', { type: 'function_call', call_id: id, name: tool, arguments: '{}' });
  const output = (second: number, id: string, value: string) =>
    entry(second, 'response_item', { type: 'function_call_output', call_id: id, output: value });
  const parent = [
    entry(0, 'session_meta', { id: session }),
    call(1, 'c1', 'spawn_agent'),
    output(2, 'c1', JSON.stringify({ agent_id: thread })),
  ];
  const child = [
    entry(3, 'session_meta', { id: thread, session_id: session, parent_thread_id: session }),
    call(4, 'c2', 'shell'),
    output(5, 'c2', 'Process exited with code 0'),
  ];

  it.each([
    ['the session first', [['a.jsonl'], ['b.jsonl']]],
    ['the subagent first', [['b.jsonl'], ['a.jsonl']]],
    [
      'both at once, twice',
      [
        ['b.jsonl', 'a.jsonl'],
        ['a.jsonl', 'b.jsonl'],
      ],
    ],
  ])('are in the run of their session, caused by the call that started them: %s', async (_, pushes) => {
    write('a.jsonl', parent);
    write('b.jsonl', child);
    for (const files of pushes) expect(await importing(...files)).toMatchObject({ code: 0 });
    expect(new Set(service.recorded.map(({ runId }) => runId))).toEqual(new Set([session]));
    expect(reports()).toEqual([
      `tool.call shell by codex/${thread}`,
      'tool.call spawn_agent by codex',
      `tool.result shell by codex/${thread}`,
      'tool.result spawn_agent by codex',
    ]);
    const caused = service.recorded.filter(({ causedBy }) =>
      ((causedBy as string[] | undefined) ?? []).includes(`${session}:line1`),
    );
    expect(caused).toHaveLength(1);
    expect((await importing('a.jsonl', 'b.jsonl')).value).toMatchObject({ accepted: 0, rejected: 0 });
  });
});

describe('files of subagents of Gemini CLI', () => {
  const agent = '99990000-0000-4000-8000-00000000000b';
  const at = (second: number) => `2026-11-20T10:00:0${second}Z`;
  const header = (sessionId: string, kind: string, second: number) => ({
    sessionId,
    projectHash: 'ab12',
    startTime: at(second),
    kind,
  });
  const calls = (id: string, second: number, call: object) => ({
    id,
    timestamp: at(second),
    type: 'gemini',
    content: '',
    toolCalls: [{ args: {}, status: 'success', timestamp: at(second), ...call }],
  });
  const response = (id: string, name: string) => [
    { functionResponse: { id, name, response: { output: 'x' } } },
  ];
  const parent = [
    header(session, 'main', 0),
    { id: 'm1', timestamp: at(1), type: 'user', content: [{ text: 'Look around.' }] },
    calls('m2', 2, {
      id: 'c1',
      name: 'invoke_agent',
      agentId: agent,
      result: response('c1', 'invoke_agent'),
    }),
  ];
  const child = [
    header(agent, 'subagent', 3),
    // each file names its messages
    { id: 'm1', timestamp: at(4), type: 'user', content: [{ text: 'Your task is to look around.' }] },
    calls('m2', 5, { id: `${agent}#0-0`, name: 'read_file', result: response(`${agent}#0-0`, 'read_file') }),
    { $rewindTo: 'm1' },
  ];
  const main = 'chats/session-2026-11-20T10-00-dddd4444.jsonl';
  const sub = `chats/${session}/${agent}.jsonl`;
  const runs = () => [...new Set(service.recorded.map(({ runId }) => runId))];

  it.each([
    ['their folder', [['chats']]],
    ['the session first', [[main], [sub]]],
    ['the subagent first', [[sub], [main]]],
    [
      'both at once, twice',
      [
        [sub, main],
        [main, sub],
      ],
    ],
  ])('are in the run of their session, caused by the call that started them: %s', async (_, pushes) => {
    write(main, parent);
    write(sub, child);
    for (const files of pushes) expect(await importing(...files)).toMatchObject({ code: 0 });
    expect(runs()).toEqual([session]);
    expect(reports()).toEqual([
      'tool.call invoke_agent by gemini-cli',
      `tool.call read_file by gemini-cli/${agent}`,
      'tool.result invoke_agent by gemini-cli',
      `tool.result read_file by gemini-cli/${agent}`,
    ]);
    const caused = service.recorded.filter(({ causedBy, clientEventId, metadata }) => {
      const { completes } = metadata as JsonObject;
      const isStart = [clientEventId, completes].includes(`${session}:${agent}.start`);
      return isStart && ((causedBy as string[] | undefined) ?? []).includes(`${session}:m2.call`);
    });
    expect(caused).toHaveLength(1);
    expect(service.recorded.filter(({ eventType }) => eventType === 'run.started')).toHaveLength(1);
    expect((await importing(main, sub)).value).toMatchObject({ accepted: 0, rejected: 0 });
  });

  it.each([
    ['in a folder that is no session', `chats/${agent}.jsonl`],
    ['under another name', `chats/${session}/copy.jsonl`],
  ])('are alone in a run where nothing names the session: %s', async (_, name) => {
    write(name, child);
    expect(await importing(name)).toMatchObject({ code: 0 });
    expect(runs()).toEqual([agent]);
  });

  it('are in the run that a person names', async () => {
    write('copy.jsonl', child);
    await push({ files: ['copy.jsonl'], from: 'auto', run: session }, { folder, service, output: 'json' });
    write(main, parent);
    write(sub, child);
    expect(await importing('chats')).toMatchObject({ code: 0, value: { rejected: 0 } });
    expect(runs()).toEqual([session]);
    expect(reports()).toHaveLength(4);
  });
});

describe('a session that another version of gov imported', () => {
  /** As an older version read it: without what is read since. Version 1 wrote no version. */
  const age = (version?: number) => {
    for (const event of service.recorded) {
      const metadata = event['metadata'] as JsonObject;
      if (metadata['importerVersion'] !== undefined && version !== undefined)
        metadata['importerVersion'] = version;
      else delete metadata['importerVersion'];
      if (event['eventType'] === 'tool.result') metadata['outcome'] = 'ok';
    }
  };
  const failing = [
    line('u1', 0, prompt('Go.')),
    line('a1', 1, use('t1', 'Bash', { command: 'false' })),
    line('r1', 2, result('t1', 'Exit code 1')),
  ];

  it.each([undefined, 6])(
    'adds what is new, and corrects what version %s read otherwise, once',
    async (version) => {
      write(main, failing);
      await importing(main);
      age(version);
      write(main, [...failing, line('a2', 3, said('m2', text('It failed.'), null))]);
      const again = await importing(main);
      expect(again).toMatchObject({ code: 0, value: { rejected: 0 } });
      expect(again.stderr).toContain('1 events that an older version of gov read otherwise');
      const completed = service.recorded.filter(({ eventType }) => eventType === 'event.completed');
      expect(completed.map(({ metadata }) => (metadata as JsonObject)['added'])).toEqual([
        { importerVersion },
        { outcome: 'error' },
      ]);
      expect((await importing(main)).value).toMatchObject({ accepted: 0, rejected: 0 });
    },
  );

  it('says how it reads an event that has another type now, and goes on', async () => {
    const interrupted = line('u2', 3, prompt('[Request interrupted by user]'));
    write(main, [...failing, interrupted]);
    await importing(main);
    age();
    for (const event of service.recorded)
      if (event['eventType'] === 'agent.step') event['eventType'] = 'prompt.submitted';
    for (const accepted of [3, 0])
      expect(await importing(main)).toMatchObject({ code: 0, value: { accepted, rejected: 0 } });
    expect(service.recorded.map(({ metadata }) => (metadata as JsonObject)['added'])).toContainEqual({
      readAs: 'agent.step',
    });
  });

  it('is refused with a clear word where its events are numbered, and of other types now', async () => {
    const chat = [
      { role: 'user', content: 'go' },
      { role: 'assistant', content: 'done' },
    ];
    folder.write('chat.json', JSON.stringify(chat));
    await importing('chat.json');
    age();
    for (const event of service.recorded)
      if (event['eventType'] === 'prompt.submitted') event['eventType'] = 'output.delivered';
    const again = await importing('chat.json');
    expect(again.code).toBe(9);
    expect(again.stderr).toContain('an older version of gov recorded it, and read this recording otherwise');
  });

  it('is refused where a newer version recorded it, and names that', async () => {
    write(main, failing);
    await importing(main);
    const count = service.recorded.length;
    age(importerVersion + 1);
    write(main, [...failing, line('a2', 3, said('m2', text('It failed.'), null))]);
    const again = await importing(main);
    expect(again.code).toBe(9);
    expect(again.stderr).toContain('a newer version of gov recorded it: use that version to add to it');
    expect(service.recorded).toHaveLength(count);
  });

  it('is refused where the recording has changed since', async () => {
    write(main, failing);
    await importing(main);
    write(main, [...failing.slice(0, 2), line('r1', 2, result('t1', 'fine'))]);
    const again = await importing(main);
    expect(again.code).toBe(9);
    expect(again.stderr).toContain('run_exists');
    expect(again.stderr).not.toContain('older version');
  });
});
