/**
 * Heavy work, done beside the thread that records: each task is a pure function of what a read-only store
 * holds. `src/host/process/thread-work.ts` runs them in a worker thread, tests may run them in place.
 */
import type { ExportFormat, ExportResource } from '../../contract/exports.ts';
import type { GraphDeclaration } from '../../contract/graphs.ts';
import type { LayerName } from '../../contract/proofs.ts';
import type { PolicyAction } from '../../contract/policy-words.ts';
import type { DsseEnvelope } from '../../core/note/dsse.ts';
import type { ReplayRecord } from '../../core/decided/replay.ts';
import type { GraphFacts } from '../../core/graph/rows.ts';
import type { Json } from '../../core/json/parse.ts';
import type { Example, HistoryImpact } from '../../core/policy/impact/history.ts';
import type { Evidence } from '../../core/proof/statement.ts';
import type { GraphPart, StoreReader } from '../../store/port/store.ts';

/** What a task may ask of whoever called it. Each answer is waited for, so nothing piles up. */
export interface TaskHost {
  /** Keeps rows of the graph that is being derived. */
  stage(part: GraphPart): Promise<void>;
  /** Signs the log as it stands; answers the note. */
  sign(): Promise<string>;
  /** Holds back what would be appended to the run until the caller of the task releases it. */
  hold(): Promise<void>;
  /** Takes the next bytes of an artifact, and the memory that they alone lie in; may give that back once they are written. */
  write(bytes: Uint8Array): Promise<Uint8Array | void>;
}

export interface RunOf {
  readonly projectId: string;
  readonly runId: string;
}

export interface LoggedGraph {
  readonly graphId: string;
  readonly leafIndex: number;
  readonly unresolved: number;
  /** Where it was derived just now; otherwise it is judged from its kept rows. */
  readonly facts: GraphFacts | null;
}

export interface LayersInput extends RunOf {
  readonly layers: readonly LayerName[];
  /** S, and where it is recorded. */
  readonly treeSize: number;
  readonly origin: string;
  /** Verifier keys of the log. */
  readonly keys: readonly string[];
  /**
   * Who may have cosigned S: verifier keys of the configured witnesses; or, where this is a recomputation, those that
   * the first statement named, of which only such count as have a line under S.
   */
  readonly witnesses: {
    readonly keys?: readonly string[];
    readonly stated?: readonly string[];
    readonly quorum: number;
  };
  /** By layer: 16 bytes, base64url. */
  readonly nonces: Readonly<Record<string, string>>;
  readonly graph: LoggedGraph | null;
  /** How many events the run has, roughly. */
  readonly events: number;
  /** Timestamp sources that the first statement gave, where this is a recomputation. */
  readonly statedSources?: Readonly<Record<string, number>>;
  /** Where a proof is checked: the leaf that must hold it. */
  readonly proofLeaf?: { readonly index: number; readonly proofId: string; readonly proofHash: string };
}

export interface StatedLayer {
  readonly name: LayerName;
  readonly hash: string;
  readonly verified: boolean;
  readonly statement: string;
}

export interface Layers {
  readonly evidence: Evidence;
  readonly layers: readonly StatedLayer[];
  /** Those of them that read something of which fields were erased. */
  readonly erased: readonly LayerName[];
  /** With `proofLeaf`: why the log itself does not bear the proof out, or null. */
  readonly anchorFault: 'SIGNATURE_INVALID' | 'ROOT_MISMATCH' | 'NOT_INCLUDED' | null;
}

export interface DerivedGraph {
  readonly facts: GraphFacts;
  readonly declarationHash: string | null;
}

/** What a bundle holds of the run's events: nothing, records without bodies, or everything in clear. */
export type EnclosedEvents = 'none' | 'records' | 'disclosed';

/** One version of a policy, its condition in any spelling. */
export interface HistorySide {
  readonly version: number;
  readonly action: PolicyAction;
  readonly condition: Json;
}

export interface HistoryInput {
  readonly projectId: string;
  /** Null where no version is active. */
  readonly before: HistorySide | null;
  /** Proposed; the version is the number that it would get. */
  readonly after: HistorySide;
  /** Inclusive bounds on evaluatedAt, in Unix milliseconds. */
  readonly startMs?: number;
  readonly endMs?: number;
  /** Most evaluations that are looked at. */
  readonly limit: number;
}

export interface PolicyHistory {
  readonly impact: Omit<HistoryImpact, 'examples'> & {
    readonly examples: Readonly<Record<'tightened' | 'loosened', readonly HistoryExample[]>>;
  };
  /** How many were looked at, and whether the period has no more of them. */
  readonly evaluations: number;
  readonly complete: boolean;
}

export type HistoryExample = Pick<Example, 'evaluationId' | 'runId' | 'before' | 'after'> & {
  readonly reasoning: string;
};

export interface ReplayInput extends RunOf {
  readonly replayId: string;
  readonly createdMs: number;
  /** JSON of a `ReplayRequest` or `GraphReplayRequest`, as it was accepted. */
  readonly request: string;
  /** Of a graph that is declared by it. */
  readonly salt: string;
}

export interface ExportInput {
  readonly projectId: string;
  readonly exportId: string;
  readonly resource: ExportResource;
  readonly format: ExportFormat;
  /** Canonical JSON. */
  readonly filters: string;
  readonly treeSize: number;
  /** Of the first `treeSize` leaves, 32 bytes. */
  readonly root: Uint8Array;
  readonly createdMs: number;
  /** Jobs that were made later were not there when it was asked for. */
  readonly jobsUntilMs: number;
  /** Of events that were pruned: those below this leaf; 0 where none were. */
  readonly prunedBelow: number;
  /** Where each row is shown with what proves it: signs the log as it stands. */
  readonly isProved: boolean;
}

export interface ExportOutput {
  readonly rowCount: number;
  readonly sizeBytes: number;
  /** SHA-256, 32 bytes. */
  readonly digest: Uint8Array;
  readonly firstSequence: number | null;
  readonly lastSequence: number | null;
}

export interface Replayed {
  readonly record: Omit<ReplayRecord, 'at'>;
  /** JSON of the `ReplayResult`. */
  readonly result: string;
  /** JSON of what lists show of it. */
  readonly summary: string;
  /** The declaration of the run's graph from now on, or null where it stays as it is. */
  readonly declaration: string | null;
  /** Leaves of the run that are not what was logged. */
  readonly altered: readonly number[];
}

/** Input and output of each task; both cross a thread boundary by structured clone. */
export interface Tasks {
  /** Derives the graph of a run up to its newest event and stages its rows. */
  deriveGraph: {
    /** `judge`: the run is about to be proved, so its events are judged in the same pass. */
    input: RunOf & { readonly graphId: string; readonly hold: boolean; readonly judge: boolean };
    output: DerivedGraph;
  };
  /** Computes layers at a tree size. */
  layers: { input: LayersInput; output: Layers };
  /** The JSON body of `GET /graphs/{runId}`, or null for a run without events and declaration. */
  graphBody: { input: RunOf; output: Uint8Array | null };
  /** The JSON body of a lineage; null as above, `unknown_node` where the graph lacks the node. */
  lineageBody: {
    input: RunOf & { readonly nodeId: string | null };
    output: Uint8Array | 'unknown_node' | null;
  };
  /** The text of the bundle of a stored proof. */
  bundle: {
    input: {
      readonly projectId: string;
      readonly proofId: string;
      readonly events: EnclosedEvents;
      /** About this very proof, where it is wanted. */
      readonly dsse: DsseEnvelope | null;
    };
    output: Uint8Array;
  };
  /** The impact of a proposed version on recorded evaluations, newest first. */
  policyHistory: { input: HistoryInput; output: PolicyHistory };
  /** Replays a run: its decisions, its graph, or its steps against those of another run. */
  replay: { input: ReplayInput; output: Replayed };
  /** Writes the artifact of an export. */
  export: { input: ExportInput; output: ExportOutput };
  /** Checks a declaration against the run and answers the text to store. */
  declaration: { input: RunOf & { readonly graph: GraphDeclaration; readonly salt: string }; output: string };
}

export type TaskName = keyof Tasks;

export type Task<Name extends TaskName> = (
  context: TaskContext,
  input: Tasks[Name]['input'],
) => Promise<Tasks[Name]['output']>;

export interface TaskContext {
  readonly reader: StoreReader;
  readonly host: TaskHost;
  /** Lets other tasks of the thread have a turn; call it between chunks. */
  readonly breathe: () => Promise<void>;
}

export interface TaskOptions {
  /** How many events it reads: large tasks run one at a time, so that memory stays bounded. */
  readonly events: number;
  readonly host?: Partial<TaskHost>;
}

export interface Work {
  /**
   * Runs a task. OVERLOADED where too many wait, SHUTTING_DOWN after `close`, INTERNAL where the thread died
   * (the next task gets a new one), and what the task itself refuses with.
   */
  run<Name extends TaskName>(
    name: Name,
    input: Tasks[Name]['input'],
    options: TaskOptions,
  ): Promise<Tasks[Name]['output']>;
  close(): Promise<void>;
}
