/**
 * Comparison of one run with another, as in "trial 2 against trial 1". The steps of the expected run are aligned with
 * those of the actual run by (eventType, action), and each pair is compared member by member. A step without a partner is
 * missing or extra (high); a different member is medium, a member on one side only is low.
 *
 * Runs are read twice: first their words into `StepWords` (4 bytes a step), then both in full, in lockstep. Memory does
 * not grow with their bodies. Proven by `test/core/replay/run-compare.test.ts`.
 */
import type { JsonObject } from '../json/parse.ts';
import type { Alignment } from './align.ts';
import { Differences, type Severities } from './fields.ts';
import { match, notReplayable, type StepOutcome, type StepSource } from './steps.ts';

/** A recorded step with its compared members, such as actor, resource and metadata. */
export interface RunStep extends StepSource {
  readonly members: JsonObject;
  /** Whether values of the step were erased, so that its members are incomplete. */
  readonly erased?: boolean;
}

export interface ComparedStep {
  /** The step of the actual run; for a missing step that of the expected run. */
  readonly source: StepSource;
  readonly outcome: StepOutcome;
}

/** Numbers for the words of steps; aligned runs share one instance. */
export class StepWords {
  readonly #numbers = new Map<string, number>();

  number({ eventType, action }: Pick<StepSource, 'eventType' | 'action'>): number {
    // Event types contain no space, so the key is unambiguous.
    const key = `${eventType} ${action}`;
    const known = this.#numbers.get(key);
    if (known !== undefined) return known;
    this.#numbers.set(key, this.#numbers.size);
    return this.#numbers.size - 1;
  }
}

const ofSteps: Severities = { differs: 'high', absent: 'high' };
const ofMembers: Severities = { differs: 'medium', absent: 'low' };

/**
 * Yields the steps of both runs in the order of the alignment; missing steps precede extra ones in a gap. Both runs must
 * be read in full and in the aligned order; throws for another number of steps, a bug.
 */
export async function* compareRuns(
  { partners }: Alignment,
  expected: AsyncIterable<RunStep>,
  actual: AsyncIterable<RunStep>,
): AsyncGenerator<ComparedStep, void, undefined> {
  const others = actual[Symbol.asyncIterator]();
  let taken = 0;
  let position = 0;
  for await (const step of expected) {
    const partner = partners[position++];
    if (partner === undefined) throw new Error(`expected ${partners.length} steps, got more`);
    if (partner < 0) {
      yield { source: step, outcome: missing(step) };
      continue;
    }
    for (; taken < partner; taken++) yield extra(await next(others, taken));
    const other = await next(others, taken++);
    yield { source: other, outcome: compareSteps(step, other) };
  }
  if (position < partners.length) throw new Error(`expected ${partners.length} steps, got ${position}`);
  for (let rest = await others.next(); rest.done !== true; rest = await others.next()) {
    yield extra(rest.value);
  }
}

/** Compares two aligned steps. */
function compareSteps(expected: RunStep, actual: RunStep): StepOutcome {
  if (expected.erased === true || actual.erased === true) return lost;
  const differences = new Differences(ofMembers);
  differences.values('', expected.members, actual.members);
  return differences.count === 0 ? match : { status: 'mismatch', differences };
}

async function next(steps: AsyncIterator<RunStep>, taken: number): Promise<RunStep> {
  const step = await steps.next();
  if (step.done === true) throw new Error(`expected a step at ${taken} of the actual run, got none`);
  return step.value;
}

const words = ({ eventType, action }: StepSource): string => `${eventType} ${action}`;

const lost = notReplayable('inputs_erased');

/** An erased step may have matched a partner, so it is not reported as missing. */
function missing(step: RunStep): StepOutcome {
  if (step.erased === true) return lost;
  const differences = new Differences(ofSteps);
  differences.add('', words(step), '');
  return { status: 'missing', differences };
}

function extra(step: RunStep): ComparedStep {
  if (step.erased === true) return { source: step, outcome: lost };
  const differences = new Differences(ofSteps);
  differences.add('', '', words(step));
  return { source: step, outcome: { status: 'extra', differences } };
}
