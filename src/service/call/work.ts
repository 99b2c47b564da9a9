/**
 * Heavy tasks that run outside the thread that records events. Each task is a pure function of a read-only
 * store. `src/host/process/thread-work.ts` runs them in a worker thread; tests may run them in place. Proven
 * by `test/host/process/thread-work.test.ts`.
 */
import type { CoverageRules } from '../../core/coverage/judge.ts';
import type { ExportFormat, ExportResource } from '../../contract/exports.ts';
import type { RunCoverage } from '../../contract/coverage.ts';
import type { LayerName } from '../../contract/proofs.ts';
import type { PolicyAction } from '../../contract/policy-words.ts';
import type { DsseEnvelope } from '../../core/note/dsse.ts';
import type { ReplayRecord } from '../../core/decided/replay.ts';
import type { GraphFacts } from '../../core/graphs/rows.ts';
import type { Json } from '../../core/json/parse.ts';
import type { Example, HistoryImpact } from '../../core/policies/impact/history.ts';
import type { IntegrityFacts } from '../../core/proofs/integrity.ts';
import type { Evidence } from '../../core/proofs/statement.ts';
import type { AnswerRange } from '../../core/proofs/answer.ts';
import type { ShownList } from '../../core/proofs/completeness.ts';
import type { MapEntry } from '../../core/completeness/entry.ts';
import type { MapKey } from '../../core/completeness/map.ts';
import type { MapFunction } from '../../core/completeness/map-function.ts';
import type { GraphPart, IndexMapStore, StoreReader, TermBlock } from '../../store/port/store.ts';
import type { LocalParts, ReportOutput, ReportTaskInput } from './report-work.ts';

/** What a task may ask of its caller. Each answer is awaited, so nothing accumulates. */
export interface TaskHost {
  /** Stores rows of the graph that the task derives. */
  stage(part: GraphPart): Promise<void>;
  /** Signs the current log and returns the checkpoint note. */
  sign(): Promise<string>;
  /**
   * Takes the next bytes of an artifact, which alone use their buffer. May return the buffer for reuse once
   * the bytes are written.
   */
  write(bytes: Uint8Array): Promise<Uint8Array | void>;
  /** Appends the index leaf of a map, and returns its index; −1 where it is `isExact` and the log has grown. */
  appendIndex(map: MapHead): Promise<number>;
  saveMap(saving: MapSaveOptions): Promise<void>;
  /** Drops a saved map that an older map function made. */
  dropMap(): Promise<void>;
  /** Returns what the index of the log says of lists, in an index leaf that covers S; null where it has none yet. */
  listed(asked: ListQuestion): Promise<ListedKeys | null>;
  /** Starts the next file of a report: `pdf`, `csv`, `json` or `preview`. Later writes go to it. */
  file(name: string): Promise<void>;
  /** The file that answers a question, and its count; null where the log has no index yet, or grows too fast. */
  answer(asked: IndexQuestion): Promise<{ readonly bytes: Uint8Array; readonly count: number } | null>;
  /** The signature of a report by the keys of its log, as a file. Both are `sha256:…`; null without pages. */
  signReport(hashes: {
    readonly dataHash: string;
    readonly presentationHash: string | null;
  }): Promise<Uint8Array>;
  /** The bundle of a stored proof; null where it has more bytes than `most`, or there is none. */
  bundle(of: { readonly proofId: string; readonly most: number }): Promise<Uint8Array | null>;
}

export type ListQuestion = Pick<IndexInput, 'treeSize' | 'lists' | 'keys'>;
/** `entries`: those of `lists`, then those of `keys`. */
export type ListedKeys = Pick<IndexAnswer, 'entries' | 'size' | 'fn'> & { readonly leafIndex: number };

/** What an index leaf says of a map. */
interface MapHead {
  readonly size: number;
  /** 32 bytes. */
  readonly root: Uint8Array;
  readonly keys: number;
  readonly ms: number;
  readonly fn: MapFunction;
  /** The leaf must follow the leaves of the map directly, so that its own time is the end of what it covers. */
  readonly isExact: boolean;
}

/** A question about one key; Unix milliseconds of server time. */
export interface IndexQuestion {
  readonly key: readonly string[];
  readonly sinceMs: number | null;
  readonly untilMs: number | null;
}

type MapSaveOptions = Parameters<IndexMapStore['saveMap']>[1];

export interface IndexInput {
  readonly projectId: string;
  /**
   * `check`: compares lists with the map at S or later. `leaf`: also finds or appends an index leaf that covers S.
   * `due`: appends one where the newest covers too little. `build`: appends one that covers the log, and saves the map.
   */
  readonly mode: 'check' | 'leaf' | 'due' | 'build';
  /** A signed head of at least S leaves. */
  readonly signed: { readonly size: number; readonly root: Uint8Array };
  /** S; 0 without lists. */
  readonly treeSize: number;
  /** The lists of a proof at S. */
  readonly lists: readonly ShownList[];
  /** Keys of which the map says what it has, without a comparison. */
  readonly keys?: readonly MapKey[];
  /** With `leaf`: a question that the map answers. */
  readonly ask?: IndexQuestion;
  /** Whether a question may append an index leaf. */
  readonly mayAppend?: boolean;
}

export interface IndexAnswer {
  /** The index leaf that covers the map; null for `check`, and where the log grew while it was asked. */
  readonly leafIndex: number | null;
  /** How many leaves the map covers, and its function. */
  readonly size: number;
  readonly fn: MapFunction;
  /** Present where the question needs a leaf that it may not append: until when the newest one covers; null without one. */
  readonly coveredMs?: number | null;
  readonly answer?: { readonly entry: MapEntry; readonly range?: AnswerRange };
  /** For each list and then each key, what the map says of it. The inclusion of an item after it in the log is missing. */
  readonly entries: readonly MapEntry[];
}

export interface RunOf {
  readonly projectId: string;
  readonly runId: string;
}

export interface LoggedGraph {
  readonly graphId: string;
  /** Null where the leaf is appended with the proof: the graph is that of the run at S. */
  readonly leafIndex: number | null;
  readonly unresolved: number;
  /** Present where the graph was derived just now; otherwise the task checks the stored rows. */
  readonly facts: GraphFacts | null;
  /** The checks of the events that were read with it; null where the task has to read them. */
  readonly integrity: IntegrityFacts | null;
}

export interface LayersInput extends RunOf {
  readonly layers: readonly LayerName[];
  /** The tree size S of the statement, and the leaf that records the statement. */
  readonly treeSize: number;
  readonly origin: string;
  /** Verifier keys of the log. */
  readonly keys: readonly string[];
  /**
   * Verifier keys of witnesses that may have cosigned S: those of the configuration or, for a recomputation,
   * those that the first statement named. Of the latter, only witnesses with a line under S count.
   */
  readonly witnesses: {
    readonly keys?: readonly string[];
    readonly stated?: readonly string[];
    readonly quorum: number;
  };
  /** A nonce of 16 bytes (base64url) for each layer. */
  readonly nonces: Readonly<Record<string, string>>;
  readonly graph: LoggedGraph | null;
  /** Roughly how many events the run has. */
  readonly events: number;
  /** For a recomputation: the timestamp sources of the first statement. */
  readonly statedSources?: Readonly<Record<string, number>>;
  /** The rules of a stored layer x-coverage. Absent: the newest. */
  readonly coverageRules?: CoverageRules | undefined;
  /** For a check of a proof: the leaf that must contain it. */
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
  /** Layers that read an event with erased fields. */
  readonly erased: readonly LayerName[];
  /** With `proofLeaf`: why the log does not confirm the proof, or null. */
  readonly anchorFault: 'SIGNATURE_INVALID' | 'ROOT_MISMATCH' | 'NOT_INCLUDED' | null;
}

export interface DerivedGraph {
  readonly facts: GraphFacts;
  /** Null where no proof follows. */
  readonly integrity: IntegrityFacts | null;
  readonly declarationHash: string | null;
}

/** The long lists of a bundle: the events of a run, and the graph. */
export interface BundleLists extends RunOf {
  /** As records without bodies, or disclosed in full. */
  readonly events: 'records' | 'disclosed';
  readonly treeSize: number;
  readonly graphId: string | null;
}

/** A bundle that is too large to be in memory. */
export interface BundlePlan {
  /** Its text without the items of the lists. Between text k and k + 1 is list k of events, edges, nodes. */
  readonly texts: readonly Uint8Array[];
  /** Bytes of the whole bundle. */
  readonly bytes: number;
  /** Null where it has none. */
  readonly lists: BundleLists | null;
}

/** One version of a policy; its condition may have any spelling. */
export interface HistorySide {
  readonly version: number;
  readonly action: PolicyAction;
  readonly onIndeterminate: PolicyAction | null;
  readonly condition: Json;
}

export interface HistoryInput {
  readonly projectId: string;
  /** Null where no version is active. */
  readonly before: HistorySide | null;
  /** The proposed version, with the number that it would get. */
  readonly after: HistorySide;
  /** Inclusive bounds on evaluatedAt, in Unix milliseconds. */
  readonly startMs?: number;
  readonly endMs?: number;
  /** The maximum of evaluations that the task reads. */
  readonly limit: number;
}

export interface PolicyHistory {
  readonly impact: Omit<HistoryImpact, 'examples'> & {
    readonly examples: Readonly<Record<'tightened' | 'loosened', readonly HistoryExample[]>>;
  };
  /** How many evaluations the task read, and whether the period has no more. */
  readonly evaluations: number;
  readonly complete: boolean;
}

export type HistoryExample = Pick<Example, 'evaluationId' | 'runId' | 'before' | 'after'> & {
  readonly reasoning: string;
};

export interface ReplayInput extends RunOf {
  readonly replayId: string;
  readonly createdMs: number;
  /** JSON of the accepted `ReplayRequest` or `GraphReplayRequest`. */
  readonly request: string;
  /** The salt of a graph that the request declares. */
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
  /** Root hash of the first `treeSize` leaves, 32 bytes. */
  readonly root: Uint8Array;
  readonly createdMs: number;
  /** Jobs created after this time are not exported. */
  readonly jobsUntilMs: number;
  /** Events below this leaf were pruned; 0 where none were. */
  readonly prunedBelow: number;
  /** Whether each row comes with its proof; the task then signs the current log. */
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

export interface ReplayedRun {
  readonly record: Omit<ReplayRecord, 'at'>;
  /** JSON of the `ReplayResult`. */
  readonly result: string;
  /** JSON of its summary in lists. */
  readonly summary: string;
  /** The new declaration of the run's graph and the hash of the earlier one, or null where it does not change. */
  readonly declaration: { readonly text: string; readonly fromHash: string | null } | null;
  /** Leaves of the run that differ from the log. */
  readonly altered: readonly number[];
}

/** Input and output of each task. Both cross a thread boundary by structured clone. */
export interface Tasks {
  /** Derives the graph of a run and stores its rows. */
  deriveGraph: {
    /** It covers the events below a tree size. `proves`: a proof follows, so the task checks them in the same pass. */
    input: RunOf & { readonly graphId: string; readonly treeSize: number; readonly proves: boolean };
    output: DerivedGraph;
  };
  /** Computes layers at a tree size. */
  layers: { input: LayersInput; output: Layers };
  /** The JSON body of `GET /graphs/{runId}`. Null for a run without events and declaration. */
  graphBody: { input: RunOf; output: Uint8Array | null };
  /**
   * The JSON body of a lineage. Null for a run without events and declaration, `unknown_node` for a node that
   * the graph lacks.
   */
  lineageBody: {
    input: RunOf & { readonly nodeId: string | null };
    output: Uint8Array | 'unknown_node' | null;
  };
  /** The bundle of a stored proof: its text where it is small, else its plan. */
  bundle: {
    input: {
      readonly projectId: string;
      readonly proofId: string;
      readonly events: 'none' | BundleLists['events'];
      /** The index leaf and the entries that show that nothing is missing, where the bundle includes them. */
      readonly completeness: { readonly leafIndex: number; readonly entries: readonly MapEntry[] } | null;
      /** The attestation of this proof, where the bundle includes one. */
      readonly dsse: DsseEnvelope | null;
    };
    output: Uint8Array | BundlePlan;
  };
  /** Writes the next items of a list, about `limits.bundlePartBytes`. Returns where the next part starts; null after the last. */
  bundlePart: {
    input: {
      readonly projectId: string;
      readonly lists: BundleLists;
      readonly list: 'events' | 'edges' | 'nodes';
      readonly from: number;
    };
    output: { readonly next: number | null };
  };
  /** The impact of a proposed version on recorded evaluations, newest first. */
  policyHistory: { input: HistoryInput; output: PolicyHistory };
  /** Extends the map of the log. Null where the map is far behind, or its leaves were pruned before it was saved. */
  index: { input: IndexInput; output: IndexAnswer | null };
  /** The terms of one block of the log, under the key of terms. */
  searchBlock: {
    input: { readonly projectId: string; readonly block: number; readonly key: Uint8Array };
    output: readonly TermBlock[];
  };
  /** Compares the sources of a run. `underPolicy`: without calls and gaps of times at which no policy was in force. */
  coverage: { input: RunOf & { readonly underPolicy?: boolean }; output: RunCoverage };
  /** Replays a run: its decisions, its graph, or its steps compared with those of another run. */
  replay: { input: ReplayInput; output: ReplayedRun };
  /** A picture as PNG, with nothing but its pixels. VALIDATION_ERROR for a damaged one. */
  logo: { input: { readonly projectId: string; readonly bytes: Uint8Array }; output: Uint8Array };
  /** Builds a report and writes its artifacts, each after `file`. */
  report: { input: ReportTaskInput; output: ReportOutput };
  /** Writes the artifact of an export. */
  export: { input: ExportInput; output: ExportOutput };
  /** Refuses edges to nodes that neither the run nor the request has. `graph`: canonical text, which is sent at once. */
  knownEdges: { input: RunOf & { readonly graph: string }; output: null };
  /** Checks a declaration against the run and returns the text to store. */
  declaration: { input: RunOf & { readonly graph: string; readonly salt: string }; output: string };
}

export type TaskName = keyof Tasks;

export type Task<Name extends TaskName> = (
  context: TaskContext,
  input: Tasks[Name]['input'],
) => Promise<Tasks[Name]['output']>;

export interface TaskContext {
  readonly reader: StoreReader;
  readonly host: TaskHost;
  /** What the thread itself has; absent in tests that run a task in place. */
  readonly local?: LocalParts;
  /** Gives other tasks of the thread a turn. Call it between chunks. */
  readonly breathe: () => Promise<void>;
}

export interface TaskOptions {
  /** How many events the task reads. Large tasks run one at a time, which bounds memory. */
  readonly events: number;
  readonly host?: Partial<TaskHost>;
  /** Stops the task at its next chunk; it then rejects with the reason, a `GovError`. */
  readonly signal?: AbortSignal;
}

export interface TaskRunner {
  /**
   * Runs a task. OVERLOADED where too many wait, SHUTTING_DOWN after `close`, INTERNAL where the thread died
   * (the next task gets a new one), and errors of the task itself.
   */
  run<Name extends TaskName>(
    name: Name,
    input: Tasks[Name]['input'],
    options: TaskOptions,
  ): Promise<Tasks[Name]['output']>;
  close(): Promise<void>;
}
