/**
 * Calls of subagents in the `progress` lines of Claude Code's sessions: each line has a whole message of the subagent. The
 * file of the subagent has the same messages and more, so the events say that they are copies (`extra.copiedFrom`), and
 * `reconcile.ts` lets the file's own events complete them. Tested by `test/core/intake/pieces/claude-progress.test.ts`.
 */
import type { Conversation } from '../conversation.ts';
import { isSource, textOf, type Party, type Source } from '../run.ts';
import { readTime } from '../time.ts';
import { readBlocks, writeResults } from './anthropic-blocks.ts';

/** A subagent of Claude Code as the actor of its events. */
export const subagent = (agentId: unknown): Party => ({
  name: `claude-code/${textOf(agentId) ?? 'subagent'}`,
  role: 'agent',
});

const extra = { copiedFrom: 'progress' };

export class ProgressLines {
  readonly #conversation: Conversation;
  /** Ids of messages that the session has in full, or has reported before. */
  readonly #known: Set<string>;
  /** Events of calls, by the id of the call: one of them started a subagent. */
  readonly #calls = new Map<string, string>();

  constructor(conversation: Conversation, lines: readonly Source[]) {
    this.#conversation = conversation;
    const full = lines.filter(({ type }) => type !== 'progress');
    this.#known = new Set(full.flatMap(({ uuid }) => textOf(uuid) ?? []));
  }

  /** Remembers a call, which may start a subagent. */
  started(callId: string | undefined, event: string): void {
    if (callId !== undefined) this.#calls.set(callId, event);
  }

  /** Writes a line with a message of a subagent; returns whether it is one. */
  write(line: Source): boolean {
    const data = isSource(line['data']) ? line['data'] : {};
    const outer = isSource(data['message']) ? data['message'] : {};
    const message = isSource(outer['message']) ? outer['message'] : undefined;
    const role = String(outer['type'] ?? message?.['role']);
    if (line['type'] !== 'progress' || message === undefined || !/^(user|assistant)$/.test(role))
      return false;
    const key = textOf(outer['uuid']) ?? `progress.${String(line['uuid'])}`;
    if (this.#known.has(key)) {
      this.#conversation.run.changes.add('block_repeated');
      return true;
    }
    this.#known.add(key);
    const at = readTime(outer['timestamp'] ?? line['timestamp']);
    const said = { at, actor: subagent(data['agentId']), extra };
    const { content, calls, results, unknown } = readBlocks(message['content'], role);
    const cause = this.#calls.get(String(line['parentToolUseID']));
    for (const [index, call] of calls.entries()) {
      const place = `${key}.call${index === 0 ? '' : index + 1}`;
      this.started(call.sourceId, this.#conversation.called(call, { ...said, key: place }, cause));
    }
    writeResults(results, this.#conversation, { ...said, key, details: outer['toolUseResult'] });
    if (content !== undefined)
      this.#conversation.step('say', { content, extra }, { ...said, key: `${key}.text` });
    for (const [index, part] of unknown.entries())
      this.#conversation.unknown('a content block', part, { ...said, key: `${key}.part${index + 1}` });
    return true;
  }
}
