/**
 * The writes of a store as plain data, since they may cross to the thread that does them, and what each does in
 * its transaction. Proven by the store suite.
 */
import { emptyRoot } from '../../core/merkle.ts';
import type { LeafDraft } from '../../core/record.ts';
import type {
  ApiKeyRow,
  AppendOutcome,
  AppendRequest,
  ClaimedJob,
  GraphPart,
  Project,
  StoredJob,
} from '../port.ts';
import type { JobFailure, JobMoves } from './jobs.ts';
import type { CommitSequencer } from './sequencer.ts';
import type { Note, TaskStatements } from './tasks.ts';
import type { Work } from './writer.ts';

interface Lease {
  readonly token: string;
  readonly untilMs: number;
}

/** Projects are named by number but where there may be none yet. */
interface Inputs {
  append: { readonly request: AppendRequest };
  createProject: { readonly project: Project; readonly genesis: LeafDraft };
  stageGraphPart: { readonly project: number; readonly graphId: string; readonly part: GraphPart };
  saveNote: { readonly project: number; readonly note: Note };
  claimJob: { readonly nowMs: number; readonly lease: Lease };
  renewJob: { readonly project: number; readonly jobId: string; readonly lease: Lease };
  failJob: { readonly project: number; readonly jobId: string; readonly failure: JobFailure };
  retryJob: { readonly project: number; readonly jobId: string; readonly atMs: number };
  saveApiKey: { readonly project: number; readonly key: ApiKeyRow };
  sweepRequests: { readonly nowMs: number };
  sweepAnswers: { readonly nowMs: number };
}

interface Results extends Record<keyof Inputs, unknown> {
  append: AppendOutcome;
  createProject: void;
  stageGraphPart: void;
  saveNote: void;
  claimJob: ClaimedJob | null;
  renewJob: boolean;
  failJob: void;
  retryJob: StoredJob;
  saveApiKey: void;
  sweepRequests: void;
  sweepAnswers: boolean;
}

export type Verb = keyof Inputs;
export type WriteOf<Name extends Verb> = { readonly verb: Name } & Inputs[Name];
export type Write = { [Name in Verb]: WriteOf<Name> }[Verb];
export type ResultOf<Name extends Verb> = Results[Name];

export interface WriteStatements {
  readonly sequencer: CommitSequencer;
  readonly tasks: TaskStatements;
  readonly jobs: JobMoves;
}

/** The write as the writer takes it; its result is `ResultOf` its verb. */
export const workOf = (write: Write, statements: WriteStatements): Work<unknown> => ({
  bytes: bytesOf(write),
  isolated: write.verb !== 'append' || isIsolated(write.request),
  run: () => perform(write, statements),
});

function perform(write: Write, { sequencer, tasks, jobs }: WriteStatements): Results[Verb] {
  switch (write.verb) {
    case 'append':
      return sequencer.append(write.request);
    case 'createProject': {
      tasks.createProject(write.project, emptyRoot);
      const { projectId } = write.project;
      sequencer.append({ projectId, leaves: [write.genesis], meter: { op: 'none', units: 0 } });
      return undefined;
    }
    case 'stageGraphPart':
      return tasks.stageGraphPart(write.project, write.graphId, write.part);
    case 'saveNote':
      return tasks.saveNote(write.project, write.note);
    case 'claimJob':
      return jobs.claim(write.nowMs, write.lease);
    case 'renewJob':
      return jobs.renew(write.project, write.jobId, write.lease);
    case 'failJob':
      return jobs.fail(write.project, write.jobId, write.failure);
    case 'retryJob':
      return jobs.retry(write.project, write.jobId, write.atMs);
    case 'saveApiKey':
      return tasks.saveApiKey(write.project, write.key);
    case 'sweepRequests':
      return tasks.sweepRequests(write.nowMs);
    case 'sweepAnswers':
      return tasks.sweepAnswers(write.nowMs);
  }
}

/** A request of one event can be refused only before it wrote anything. */
const isIsolated = ({ effects, idempotency, whole, leaves }: AppendRequest): boolean =>
  effects !== undefined || idempotency !== undefined || (whole === true && leaves.length > 1);

/** What a write takes in a commit: UTF-16 units, near enough to bytes. */
export function bytesOf(write: Write): number {
  switch (write.verb) {
    case 'append':
      return requestBytes(write.request);
    case 'createProject':
      return draftBytes(write.genesis);
    case 'stageGraphPart':
      return write.part.items.length;
    case 'saveNote':
      return write.note.note.length;
    case 'sweepRequests':
    case 'sweepAnswers':
      return 0;
    default:
      return 256;
  }
}

const draftBytes = (draft: LeafDraft): number =>
  (draft.kind === 'event' ? draft.head.length + 300 : draft.record.length) + (draft.disclosures?.length ?? 0);

function requestBytes({ leaves }: AppendRequest): number {
  let bytes = 0;
  for (const draft of leaves) bytes += draftBytes(draft);
  return bytes;
}
