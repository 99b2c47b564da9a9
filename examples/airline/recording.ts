/**
 * The recorded runs: 50 tasks of an airline's customers, each answered four times by an agent (τ-bench, MIT
 * licence; sierra-research/tau-bench, historical trajectories). The program reads them in place and never
 * copies them: from `GOV_DATA`, else from `shared/data` beside the project.
 */
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

/** Arguments and results of a tool: JSON in the airline's own shapes. */
export type Values = Readonly<Record<string, unknown>>;

export interface Message {
  readonly role: 'system' | 'user' | 'assistant' | 'tool';
  readonly content: string | null;
  readonly tool_calls?: readonly {
    readonly function: { readonly name: string; readonly arguments: string };
  }[];
}

/** The correct ending of a task, by its authors: all calls that have to be made, and no others. */
export interface Action {
  readonly name: string;
  readonly kwargs: Values;
}

export interface Run {
  /** The run id that `gov events push --from openai-chat` creates. */
  readonly runId: string;
  readonly taskId: number;
  readonly trial: number;
  /** 1 where the database ended in the correct state and the customer got the requested information. */
  readonly reward: 0 | 1;
  readonly truth: readonly Action[];
  readonly messages: readonly Message[];
}

interface Recorded {
  readonly task_id: number;
  readonly trial: number;
  readonly reward: 0 | 1;
  readonly info: { readonly task: { readonly actions: readonly Action[] } };
  readonly traj: readonly Message[];
}

const root = process.env['GOV_DATA'] ?? join(import.meta.dirname, '../../../shared/data');
export const recordingFile = join(root, 'tau-bench/gpt-4o-airline.json');
export const hasRecording = existsSync(recordingFile);

/** All runs, by task and trial. */
export function readRuns(file = recordingFile): Run[] {
  const recorded = JSON.parse(readFileSync(file, 'utf8')) as readonly Recorded[];
  return recorded
    .map(({ task_id: taskId, trial, reward, info, traj }) => ({
      runId: `tau-airline-${taskId}-${trial}`,
      taskId,
      trial,
      reward,
      truth: info.task.actions,
      messages: traj,
    }))
    .toSorted((a, b) => a.taskId - b.taskId || a.trial - b.trial);
}
