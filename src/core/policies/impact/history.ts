/**
 * The impact of a proposed version on recorded policy inputs. A record can be replayed if its read-set covers the paths
 * that both versions read; other records are counted with the missing paths, never guessed.
 * Proven by `test/core/policies/impact/changes.test.ts`.
 */
import { limits } from '../../../contract/limits.ts';
import type { PolicyInput } from '../evaluate/compile.ts';
import type { Direction } from '../evaluate/decision.ts';
import {
  changeCounts,
  type ChangeCounts,
  compare,
  type Comparison,
  type Side,
  wilsonInterval,
} from './changes.ts';
import { readSet } from '../language/read-set.ts';

/** A recorded evaluation. */
export interface RecordedInput {
  readonly evaluationId: string;
  readonly runId: string;
  /** Null if the record names none; such records are in no group. */
  readonly agent: string | null;
  readonly tool: string | null;
  /** The retained values at `paths`. */
  readonly input: PolicyInput;
  /** The read-set as `readSet` spells it; `["$"]` for a whole policy input. */
  readonly paths: readonly string[];
}

interface Group {
  readonly key: string;
  /** Replayed records of the group. */
  readonly total: number;
  readonly tightened: number;
  readonly loosened: number;
}

export interface Example extends Comparison {
  readonly evaluationId: string;
  readonly runId: string;
  readonly input: PolicyInput;
}

/** `sampleCount` is the number of replayed records. */
export interface HistoryImpact extends ChangeCounts {
  readonly replayed: number;
  /** `paths`: read by one of the versions but not retained, sorted. */
  readonly notReplayable: { readonly count: number; readonly paths: readonly string[] };
  readonly tightened: number;
  readonly loosened: number;
  /** 95 % interval of the change rate. */
  readonly interval: { readonly low: number; readonly high: number };
  /** Groups with the most changes first, at most `impactGroups`. */
  readonly byAgent: readonly Group[];
  readonly byTool: readonly Group[];
  /** The first changes of different runs, at most `impactExamples` each. */
  readonly examples: { readonly tightened: readonly Example[]; readonly loosened: readonly Example[] };
}

/** Compares both versions over records, one at a time; stores only counts and examples. Cost: two evaluations a record, about 2 µs. */
export class HistoryTally {
  readonly #before: Side | null;
  readonly #after: Side;
  readonly #missing: (paths: readonly string[]) => readonly string[];
  readonly #notRetained = new Set<string>();
  readonly #examples: Record<Direction, Map<string, Example>> = {
    tightened: new Map(),
    loosened: new Map(),
    same: new Map(),
  };
  readonly #counts: Record<Direction, number> = { tightened: 0, loosened: 0, same: 0 };
  readonly #agents = new Groups();
  readonly #tools = new Groups();
  #notReplayable = 0;

  /** `before`: null without an active version. */
  constructor(before: Side | null, after: Side) {
    this.#before = before;
    this.#after = after;
    this.#missing = missingPaths(before === null ? [after] : [before, after]);
  }

  add(record: RecordedInput): void {
    const unknown = this.#missing(record.paths);
    if (unknown.length > 0) {
      this.#notReplayable++;
      for (const path of unknown) this.#notRetained.add(path);
      return;
    }
    const comparison = compare(record.input, this.#before, this.#after);
    this.#counts[comparison.direction]++;
    this.#agents.add(record.agent, comparison.direction);
    this.#tools.add(record.tool, comparison.direction);
    addExample(this.#examples[comparison.direction], record, comparison);
  }

  impact(): HistoryImpact {
    const { tightened, loosened, same } = this.#counts;
    const replayed = tightened + loosened + same;
    return {
      ...changeCounts(tightened + loosened, replayed),
      replayed,
      notReplayable: { count: this.#notReplayable, paths: [...this.#notRetained].sort() },
      tightened,
      loosened,
      interval: wilsonInterval(tightened + loosened, replayed),
      byAgent: this.#agents.list(),
      byTool: this.#tools.list(),
      examples: {
        tightened: [...this.#examples.tightened.values()],
        loosened: [...this.#examples.loosened.values()],
      },
    };
  }
}

function addExample(
  examples: Map<string, Example>,
  { evaluationId, runId, input }: RecordedInput,
  comparison: Comparison,
): void {
  if (!comparison.changed || examples.size >= limits.impactExamples || examples.has(runId)) return;
  examples.set(runId, { evaluationId, runId, input, ...comparison });
}

/** Returns the paths that the sides read and a record lacks. Records of one set share paths, so results are cached. */
function missingPaths(sides: readonly Side[]): (paths: readonly string[]) => readonly string[] {
  const known = new Map<string, readonly string[]>();
  return (paths) => {
    const key = paths.join('\n');
    let missing = known.get(key);
    if (missing === undefined) {
      const retained = readSet(paths);
      missing = sides.flatMap(({ condition }) => retained.missing(condition.node));
      known.set(key, missing);
    }
    return missing;
  };
}

class Groups {
  readonly #groups = new Map<string, Record<Direction, number>>();

  add(key: string | null, direction: Direction): void {
    if (key === null) return;
    const group = this.#groups.get(key) ?? { tightened: 0, loosened: 0, same: 0 };
    group[direction]++;
    this.#groups.set(key, group);
  }

  list(): Group[] {
    const groups = [...this.#groups].map(([key, { tightened, loosened, same }]) => {
      return { key, total: tightened + loosened + same, tightened, loosened };
    });
    const changes = ({ tightened, loosened }: Group): number => tightened + loosened;
    groups.sort((a, b) => changes(b) - changes(a) || b.total - a.total || (a.key < b.key ? -1 : 1));
    return groups.slice(0, limits.impactGroups);
  }
}
