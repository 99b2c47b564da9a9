/**
 * Importer `swe-agent`: `.traj` files of SWE-agent (`{trajectory, history, info}`, or a history alone) and `.traj.json`
 * files of mini-swe-agent (a list of messages, or `{messages, info}`). Each step gives model.invoked, tool.call with the
 * command, and tool.result with the observation. Tested by `test/core/intake/formats/swe-agent.test.ts`.
 *
 * Trajectory and history describe the same run, with differences: histories lack steps, and texts were edited. The events
 * of a step name their history messages (`historyIndex`) and keep texts that differ. Each message without a step gives an
 * event of its own.
 */
import { alignHistory, type HistoryAlignment } from '../pieces/swe-align.ts';
import { opening, readCalls } from '../pieces/chat-messages.ts';
import { CallIds } from '../call-ids.ts';
import type { Ending } from '../../../contract/endings.ts';
import { endingOf } from '../ending.ts';
import { digest } from '../fit.ts';
import type { Format } from '../format.ts';
import type { Json } from '../../json/canonical.ts';
import {
  isSource,
  RunBuilder,
  textOf,
  type Identity,
  type ImportContext,
  type ImportedRun,
  type Party,
  type Source,
} from '../run.ts';

const name = 'swe-agent';

const hasRoles = (value: unknown): value is readonly Source[] =>
  Array.isArray(value) &&
  value.length > 0 &&
  value.every((item) => isSource(item) && typeof item['role'] === 'string');

/** Messages of other programs have parts in place of a content. */
const isHistory = (value: unknown): boolean =>
  hasRoles(value) && !value.some((message) => Array.isArray(message['parts']));

const isTrajectory = (value: unknown): value is Source =>
  isSource(value) && (Array.isArray(value['trajectory']) || isHistory(value['history']));

/** mini-swe-agent marks the commands in its messages, or its file. */
const isMini = (value: unknown): boolean => {
  if (hasRoles(value))
    return value.some((message) => commandIn(message['content'], 'mswea_bash_command') !== undefined);
  if (!isSource(value) || !hasRoles(value['messages'])) return false;
  return String(value['trajectory_format']).startsWith('mini-swe-agent') || isMini(value['messages']);
};

function detect(document: unknown): string | undefined {
  if (isSource(document) && Array.isArray(document['trajectory'])) return 'a trajectory of steps';
  if (isTrajectory(document)) return 'a history of messages with roles';
  return isMini(document) ? 'messages with commands of mini-swe-agent' : undefined;
}

/** Also a list of messages without mini-swe-agent's mark. */
const accepts = (document: unknown): boolean =>
  detect(document) !== undefined ||
  hasRoles(document) ||
  (isSource(document) && hasRoles(document['messages']));

/** Yields the one run of a document that `accepts` accepts. The source controls its content. */
function* runs(document: unknown, context: ImportContext): Generator<ImportedRun> {
  const record: Source = isSource(document) ? document : { messages: document };
  const { trajectory, history, messages, info, replay_config: replayConfig, ...rest } = record;
  const steps = Array.isArray(trajectory) ? trajectory.filter(isStep) : [];
  const told = [history, messages].find(hasRoles) ?? [];
  const run = new RunBuilder(name, identityOf(rest, { steps, told, context }), context);
  const writer = new StepWriter(run, told);
  const facts = isSource(info) ? info : {};
  run.add({
    eventType: 'run.started',
    actor: writer.agent,
    action: 'start',
    key: 'start',
    metadata: {
      importer: name,
      replayConfig,
      source: Object.keys(rest).length === 0 ? undefined : rest,
    },
  });
  if (steps.length > 0) writer.writeSteps(steps);
  else writer.writeMessages();
  const others = [trajectory, history, messages].filter((list) => list !== told && list !== null);
  for (const [at, part] of others.flatMap((list) => notRead(list, trajectory)).entries())
    run.unknown('a list of steps or messages that has other items', part, {
      actor: writer.agent,
      at: undefined,
      key: `other${at}`,
    });
  const { exit_status: exitStatus, submission, model_stats: modelStats, ...more } = facts;
  // a trajectory is written after each step; only the last one says how the run ended
  if ((exitStatus ?? null) !== null) {
    run.add({
      eventType: 'run.ended',
      actor: writer.agent,
      action: 'end',
      key: 'end',
      metadata: {
        steps: steps.length,
        messages: told.length,
        exitStatus,
        submission,
        modelStats,
        info: Object.keys(more).length === 0 ? undefined : more,
      },
    });
  }
  yield run.finish(steps.length > 0 ? steps.length : told.length);
}

/** Returns what a list has that is no step; of another than the trajectory, the list. */
function notRead(list: unknown, trajectory: unknown): readonly unknown[] {
  if (list === undefined || (Array.isArray(list) && list.length === 0)) return [];
  return list === trajectory && Array.isArray(list) ? list.filter((step) => !isStep(step)) : [list];
}

const isStep = (value: unknown): value is Source =>
  isSource(value) && ['action', 'observation', 'response', 'thought'].some((name) => name in value);

/** A trajectory names its instance, or is known by its file and its opening. */
function identityOf(
  rest: Source,
  { steps, told, context }: { steps: readonly Source[]; told: readonly Source[]; context: ImportContext },
): Identity {
  const instance = textOf(rest['instance_id']);
  if (instance !== undefined) return { id: `swe-${instance}` };
  const file = context.sourceName.replace(/(\.(traj|json))+$/i, '');
  const first = told.length > 0 ? opening(told) : [steps[0]?.['response'], steps[0]?.['action']];
  return { opening: first, name: `swe-${file || 'import'}` };
}

/** Returns the only command in a message's fenced blocks with this label; undefined for none or several. */
function commandIn(content: unknown, label: string): string | undefined {
  if (typeof content !== 'string') return undefined;
  const blocks = [...content.matchAll(/^```(\w+)\s*\n([^]*?)\n?^```/gm)].filter(
    (block) => block[1] === label,
  );
  return blocks.length === 1 ? blocks[0]?.[2] : undefined;
}

/** Returns the tool of a command line: its first word, because SWE-agent's tools are shell commands. */
const toolOf = (command: string): string => /^[A-Za-z_][\w.-]*/.exec(command.trim())?.[0] ?? 'shell';

/** mini-swe-agent writes the exit code into the text for the model; SWE-agent records none, but says a timeout. */
const outcomeOf = (content: unknown): Ending =>
  // what a command printed may hold an error of something else
  endingOf({ results: [isSource(content) ? undefined : content] });

/** Returns the members of a message other than the known ones. */
const aside = (message: Source, known: readonly string[]): Source | undefined => {
  const members = Object.entries(message).filter(([name, value]) => !known.includes(name) && value !== null);
  return members.length === 0 ? undefined : Object.fromEntries(members);
};

class StepWriter {
  readonly agent: Party;
  readonly #run: RunBuilder;
  readonly #history: readonly Source[];
  readonly #callIds: CallIds;
  #unread: string[] = [];
  /** The step or message that is being written: ids of events come from the source's order. */
  #key = '';
  /** The calls of the last assistant message, and how many of them messages have still to answer. */
  #asked: readonly WrittenCall[] = [];
  #left = 0;

  constructor(run: RunBuilder, history: readonly Source[]) {
    this.#run = run;
    this.#history = history;
    this.#callIds = new CallIds(run.changes);
    const named = history.map((message) => textOf(message['agent'])).find((name) => name !== undefined);
    this.agent = { name: named ?? name, role: 'agent' };
  }

  writeSteps(steps: readonly Source[]): void {
    const aligned = alignHistory(steps, this.#history);
    for (const index of aligned.before) this.#writeContext(index);
    for (const [index, step] of steps.entries()) this.#writeStep(step, { index, aligned });
    for (const index of aligned.after) this.#writeMessage(index);
  }

  writeMessages(): void {
    for (const index of this.#history.keys()) this.#writeMessage(index);
  }

  #writeStep(step: Source, { index, aligned }: { index: number; aligned: HistoryAlignment }): void {
    const { action, observation, response, thought, messages, query, ...rest } = step;
    const saidAt = aligned.said[index];
    const said = saidAt === undefined ? undefined : this.#history[saidAt];
    const text = textOf(response) ?? textOf(thought);
    const command = textOf(action);
    const calls = this.#calls(said, command);
    const given = (messages ?? query) as Json | undefined;
    this.#key = `step${index}`;
    this.#modelInvoked(calls, {
      stepIndex: index,
      historyIndex: saidAt,
      content: text,
      thought: typeof thought === 'string' && text?.includes(thought) ? undefined : thought,
      // repeats the whole conversation at every step
      inputMessages: given === undefined ? undefined : this.#byHash(given),
      historyContent: said === undefined || said['content'] === text ? undefined : said['content'],
      state: rest['state'],
    });
    for (const [at, call] of calls.entries())
      this.#toolCall(call, { at, metadata: { stepIndex: index, command } });
    const { state: _state, execution_time: executionSeconds, ...others } = rest;
    const shownAt = aligned.shown[index] ?? [];
    const shown = shownAt.map((at) => this.#history[at]?.['content']);
    const metadata = {
      stepIndex: index,
      historyIndex: shownAt.length === 0 ? undefined : shownAt.length === 1 ? shownAt[0] : shownAt,
      content: observation,
      shownToModel: shown.every((content) => content === observation) ? undefined : shown,
      executionSeconds,
      extra: Object.keys(others).length === 0 ? undefined : others,
    };
    if (calls.length === 0) this.#observed(metadata);
    else this.#returned({ sourceId: undefined, own: ownOf(calls) }, metadata);
  }

  /** Writes a message of the history without a step, or any message if there are no steps. */
  #writeMessage(index: number): void {
    const message = this.#history[index] ?? {};
    this.#key = `message${index}`;
    if (message['role'] !== 'assistant') {
      this.#writeContext(index);
      return;
    }
    const content = message['content'];
    const command =
      textOf(message['action']) ?? commandIn(content, 'mswea_bash_command') ?? commandIn(content, 'bash');
    const calls = this.#calls(message, command);
    this.#modelInvoked(calls, {
      historyIndex: index,
      content,
      thought: message['thought'] === content ? undefined : message['thought'],
      extra: aside(message, ['role', 'content', 'thought', 'action', 'tool_calls', 'agent']),
    });
    for (const [at, call] of calls.entries())
      this.#toolCall(call, { at, metadata: { historyIndex: index, command } });
    this.#asked = calls;
    this.#left = calls.length;
  }

  /** Writes a message to the model: the system's, a demonstration, the task, or the output of a command. */
  #writeContext(index: number): void {
    const message = this.#history[index] ?? {};
    this.#key = `message${index}`;
    const ids = Array.isArray(message['tool_call_ids'])
      ? message['tool_call_ids']
      : [message['tool_call_id']];
    const known = ['role', 'content', 'agent', 'tool_call_ids', 'tool_call_id'];
    const metadata = { historyIndex: index, content: message['content'], extra: aside(message, known) };
    if (message['role'] === 'tool' || this.#left > 0) {
      const sourceId = textOf(ids[0]);
      const own = sourceId === undefined && this.#left > 0 ? ownOf(this.#asked) : undefined;
      // messages that name their calls say so themselves
      this.#left = sourceId === undefined ? Math.max(0, this.#left - 1) : 0;
      this.#returned({ sourceId, name: textOf(message['name']), own }, metadata);
      return;
    }
    const captured = message['role'] === 'system' || message['is_demo'] === true;
    this.#run.add({
      key: this.#key,
      eventType: captured ? 'snapshot.captured' : 'prompt.submitted',
      actor: captured ? this.agent : { name: 'user', role: 'user' },
      action: captured ? 'capture' : 'submit',
      ...(captured ? { resource: { name: 'system prompt', type: 'prompt' } } : {}),
      metadata,
    });
  }

  #calls(message: Source | undefined, command: string | undefined): WrittenCall[] {
    const named = message === undefined ? [] : readCalls(message);
    this.#callIds.message();
    const calls =
      named.length > 0 || command === undefined
        ? named
        : [{ sourceId: undefined, name: toolOf(command), arguments: undefined }];
    return calls.map((call) => ({
      id: this.#callIds.called(call.sourceId, call.name),
      sourceId: call.sourceId,
      tool: { name: call.name, type: 'tool' },
      arguments: call.arguments,
    }));
  }

  #modelInvoked(calls: readonly WrittenCall[], metadata: Source): void {
    this.#run.add({
      key: `${this.#key}.model`,
      eventType: 'model.invoked',
      actor: this.agent,
      action: 'inference',
      metadata: {
        ...metadata,
        toolCallIds: calls.length === 0 ? undefined : calls.map((call) => call.id),
        toolResultIds: this.#unread.length === 0 ? undefined : this.#unread,
      },
    });
    this.#unread = [];
  }

  #toolCall(call: WrittenCall, { at, metadata }: { at: number; metadata: Source }): void {
    this.#run.add({
      key: `${this.#key}.call${at === 0 ? '' : at + 1}`,
      eventType: 'tool.call',
      actor: this.agent,
      action: 'execute',
      resource: call.tool,
      metadata: {
        ...metadata,
        toolCallId: call.id,
        sourceToolCallId:
          call.sourceId === undefined || call.sourceId === call.id ? undefined : call.sourceId,
        arguments: call.arguments,
      },
    });
  }

  /** Writes a message to the model that named no command. */
  #observed(metadata: Source): void {
    this.#run.add({
      key: `${this.#key}.result`,
      eventType: 'agent.step',
      actor: this.agent,
      action: 'observe',
      metadata: { ...metadata, outcome: outcomeOf(metadata['content']) },
    });
  }

  #returned(of: Parameters<CallIds['answered']>[0], metadata: Source): void {
    const { id, matched, isGuess } = this.#callIds.answered(of);
    if (id === undefined) {
      this.#observed(metadata);
      return;
    }
    this.#unread.push(id);
    this.#run.add({
      key: `${this.#key}.result`,
      eventType: 'tool.result',
      actor: this.agent,
      action: 'return',
      resource: { name: this.#callIds.nameOf(id) ?? 'unknown', type: 'tool' },
      metadata: {
        ...metadata,
        toolCallId: id,
        matchedBy: matched === 'order' ? matched : undefined,
        // another call may have ended so
        outcome: isGuess ? 'unknown' : outcomeOf(metadata['content']),
      },
    });
  }

  #byHash(value: Json): Json {
    this.#run.changes.add('kept_by_hash');
    return digest(value);
  }
}

/** The id of the only call: a step and a message of SWE-agent have one, and the observation follows it. */
const ownOf = ([call, ...others]: readonly WrittenCall[]): string | undefined =>
  others.length === 0 ? call?.id : undefined;

interface WrittenCall {
  readonly id: string;
  readonly sourceId: string | undefined;
  readonly tool: Party;
  readonly arguments: unknown;
}

export const sweAgent: Format = {
  name,
  about: 'Trajectories of SWE-agent (.traj) and mini-swe-agent (.traj.json)',
  expects: '{trajectory, history, info}, {history} or a list of messages',
  maps: [
    ['system message, demonstration', 'snapshot.captured'],
    ['task', 'prompt.submitted'],
    ['step', 'model.invoked, tool.call with the command, tool.result with the observation'],
    ['info.exit_status', 'run.ended'],
  ],
  example: {
    trajectory: [
      { action: 'ls', observation: 'README.md', response: 'Let me look.', thought: 'Let me look.' },
    ],
    history: [{ role: 'user', content: 'Fix the bug.' }],
    info: { exit_status: 'submitted' },
  },
  detect,
  accepts,
  runs,
};
