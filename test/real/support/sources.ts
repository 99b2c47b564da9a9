/** The recorded runs read as plain JSON, without the importers: what an import has to agree with. */
import { readdirSync, readFileSync } from 'node:fs';
import { data } from '../../paths.ts';

// oxlint-disable-next-line typescript/no-explicit-any -- documents of other programs, read member by member
type Loose = any;

interface SourceFile {
  readonly path: string;
  readonly documents: readonly Loose[];
}

function files(folder: string, ending: RegExp): SourceFile[] {
  return readdirSync(data(folder))
    .filter((name) => ending.test(name))
    .map((name) => {
      const path = data(`${folder}/${name}`);
      const text = readFileSync(path, 'utf8');
      const documents = name.endsWith('.jsonl')
        ? text
            .trimEnd()
            .split('\n')
            .map((line) => JSON.parse(line))
        : [JSON.parse(text)];
      return { path, documents };
    });
}

/** One format: its files, and what they hold, counted. */
export interface Source {
  readonly format: 'openai-chat' | 'openhands' | 'swe-agent' | 'langfuse';
  readonly files: readonly SourceFile[];
  readonly runs: number;
  /** Messages, steps, events or observations. */
  readonly items: number;
  /** Events that the import makes of them, each counted once. */
  readonly events: number;
}

const sum = (numbers: readonly number[]): number => numbers.reduce((total, each) => total + each, 0);

/** The events run.started and run.ended. */
const frame = 2;

/**
 * Each message is an event; an answer of the model is more, model.invoked and what came of it: the tool calls it
 * asked for, else the delivered text.
 */
function tauBench(): Source & { readonly toolCalls: number } {
  const found = files('tau-bench', /^gpt-4o-airline\.json$/);
  const results = found.flatMap(({ documents }) => documents.flat());
  const messages: Loose[] = results.flatMap(({ traj }) => traj);
  const answers = messages.filter(({ role }) => role === 'assistant');
  const calls = answers.map(({ tool_calls: asked }) => asked?.length ?? 0);
  const delivered = calls.filter((count) => count === 0).length;
  const events = messages.length + sum(calls) + delivered + frame * results.length;
  const counts = { runs: results.length, items: messages.length, events, toolCalls: sum(calls) };
  return { format: 'openai-chat', files: found, ...counts };
}

/** The events of a saved trajectory, or of a record of the benchmarks, where they may come in pairs. */
export const history = (document: Loose): Loose[] =>
  Array.isArray(document) ? document : document.history.flat();

/** Only a record of the benchmarks says that its run ended: it is written afterwards. */
export const eventsOfOpenHands = (document: Loose): number =>
  history(document).length + (Array.isArray(document) ? 1 : frame);

function openHands(): Source {
  const found = files('openhands', /json/);
  const runs = found.flatMap(({ documents }) => documents);
  const items = sum(runs.map((run) => history(run).length));
  const events = sum(runs.map(eventsOfOpenHands));
  return { format: 'openhands', files: found, runs: runs.length, items, events };
}

/** The steps of a trajectory; where there are none, the messages. */
function steps(document: Loose): number {
  if (Array.isArray(document)) return document.length;
  const { trajectory = [], history: told, messages } = document;
  return trajectory.length > 0 ? trajectory.length : (told ?? messages).length;
}

function sweAgent(): Source {
  const found = files('swe-agent', /traj/);
  const runs = found.flatMap(({ documents }) => documents);
  const items = sum(runs.map(steps));
  // 244 steps make three events each, the rest are prompts; three runs have no exit status, and so no run.ended
  return { format: 'swe-agent', files: found, runs: runs.length, items, events: 827 };
}

/** Two of the 20 files hold the same trace, with its observations in another order. */
function langfuse(): Source {
  const found = files('langfuse-framework-traces', /\.json$/);
  const traces = found.flatMap(({ documents }) => documents);
  const runs = new Set(traces.map(({ trace }) => trace.id)).size;
  const items = sum(traces.map(({ observations }) => observations.length));
  return { format: 'langfuse', files: found, runs, items, events: 190 };
}

export const sources = { tauBench, openHands, sweAgent, langfuse };
