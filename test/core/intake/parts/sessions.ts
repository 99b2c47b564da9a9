/** Long sessions for tests, with what makes their parts depend on each other. Equal seeds give equal sessions. */
export type SessionLine = Record<string, unknown>;

/** Mulberry32. */
export function seeded(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

class Clock {
  #ms = Date.UTC(2026, 10, 20, 10);
  next(): string {
    this.#ms += 700;
    return new Date(this.#ms).toISOString();
  }
}

export interface SessionOptions {
  readonly turns: number;
  readonly seed: number;
  /** Characters of each result. */
  readonly resultChars?: number;
}

/** A session of Claude Code: answers in several lines, parallel calls, results that come late or never, a queue. */
export function claudeSession({ turns, seed, resultChars = 40 }: SessionOptions): SessionLine[] {
  const random = seeded(seed);
  const clock = new Clock();
  const lines: SessionLine[] = [];
  let number = 0;
  const bare = (members: SessionLine) =>
    void lines.push({ sessionId: 'session-1', timestamp: clock.next(), ...members });
  const add = (members: SessionLine) =>
    bare({ isSidechain: false, version: '2.1.331', cwd: '/w', uuid: `u${number++}`, ...members });
  const answer = (id: string, content: object, stop: string | null = null) =>
    add({
      type: 'assistant',
      message: { id, role: 'assistant', model: 'm', stop_reason: stop, content: [content] },
    });
  const result = (id: string) =>
    add({
      type: 'user',
      message: {
        role: 'user',
        content: [
          {
            type: 'tool_result',
            tool_use_id: id,
            content: `${id} ${'x'.repeat(resultChars)}`,
            is_error: random() < 0.1,
          },
        ],
      },
    });
  const late: string[] = [];
  for (let turn = 0; turn < turns; turn += 1) {
    const prompt = `Do ${turn % 3}.`; // prompts come again
    if (random() < 0.3) {
      bare({ type: 'queue-operation', operation: 'enqueue', content: prompt });
      bare({ type: 'queue-operation', operation: 'dequeue' });
    }
    add({ type: 'user', message: { role: 'user', content: prompt } });
    if (random() < 0.2) add({ type: 'user', isMeta: true, message: { role: 'user', content: '<reminder>' } });
    for (let step = 0; step < 1 + random() * 4; step += 1) {
      const id = `msg-${turn}-${step}`;
      if (random() < 0.5) answer(id, { type: 'thinking', thinking: `think ${id}`, signature: 's' });
      if (random() < 0.4) answer(id, { type: 'text', text: `say ${id}` });
      const calls = Array.from({ length: 1 + Math.floor(random() * 2) }, (_, at) => `${id}-call-${at}`);
      for (const call of calls) {
        answer(id, { type: 'tool_use', id: call, name: 'Bash', input: { command: call } }, 'tool_use');
        const kind = random();
        if (kind < 0.8) result(call);
        else if (kind < 0.95) late.push(call); // the others are never answered
      }
      const [waiting] = random() < 0.3 ? late.splice(0, 1) : [];
      if (waiting !== undefined) result(waiting);
      bare({ type: 'file-history-snapshot', snapshot: {} });
      if (random() < 0.05) {
        bare({ type: 'queue-operation', operation: 'enqueue', content: `steer ${id}` });
        bare({ type: 'queue-operation', operation: 'remove', content: `steer ${id}`, reason: 'absorbed' });
      }
    }
    answer(`msg-${turn}-last`, { type: 'text', text: `done ${turn}` }, random() < 0.5 ? 'end_turn' : null);
    bare({ type: 'last-prompt', leafUuid: 'x', lastPrompt: prompt });
    if (random() < 0.05) add({ type: 'news', value: turn });
  }
  return lines;
}

/** A rollout of Codex: messages in two lines, calls with an end of their own, late outputs. */
export function codexSession({ turns, seed, resultChars = 40 }: SessionOptions): SessionLine[] {
  const random = seeded(seed);
  const clock = new Clock();
  const lines: SessionLine[] = [];
  const add = (type: string, payload: object) => void lines.push({ timestamp: clock.next(), type, payload });
  const event = (type: string, members: object) => add('event_msg', { type, ...members });
  const item = (type: string, members: object) => add('response_item', { type, ...members });
  const message = (role: string, text: string) =>
    item('message', { role, content: [{ type: role === 'user' ? 'input_text' : 'output_text', text }] });
  add('session_meta', { id: 'thread-1', timestamp: '2026-11-20T10:00:00Z', cwd: '/w' });
  const late: string[] = [];
  for (let turn = 0; turn < turns; turn += 1) {
    event('task_started', { turn_id: `turn-${turn}` });
    add('turn_context', { turn_id: `turn-${turn}`, model: 'gpt', cwd: '/w' });
    message('user', `Do ${turn % 3}.`);
    event('user_message', { message: `Do ${turn % 3}.` });
    for (let step = 0; step < 1 + random() * 4; step += 1) {
      const call = `call-${turn}-${step}`;
      if (random() < 0.5) item('reasoning', { summary: [], encrypted_content: `secret ${call}` });
      item('function_call', { call_id: call, name: 'exec_command', arguments: `{"cmd":"${call}"}` });
      const output = (id: string) =>
        item('function_call_output', { call_id: id, output: `${id} ${'x'.repeat(resultChars)}` });
      event('exec_command_end', { call_id: call, exit_code: random() < 0.2 ? 1 : 0 });
      const kind = random();
      if (kind < 0.8) output(call);
      else if (kind < 0.95) late.push(call);
      const [waiting] = random() < 0.3 ? late.splice(0, 1) : [];
      if (waiting !== undefined) output(waiting);
      event('token_count', { info: { total: step } });
      if (random() < 0.03) item('mystery', { value: call });
      if (random() < 0.3) {
        event('agent_message', { message: `say ${call}` });
        message('assistant', `say ${call}`);
      }
      if (random() < 0.1) event('agent_message', { message: `only shown ${call}` });
    }
    event('agent_message', { message: `done ${turn}` });
    message('assistant', `done ${turn}`);
    event('task_complete', { turn_id: `turn-${turn}` });
  }
  return lines;
}

export const textOf = (lines: readonly SessionLine[]): string =>
  lines.map((line) => `${JSON.stringify(line)}\n`).join('');
