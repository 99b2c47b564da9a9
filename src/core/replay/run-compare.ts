/**
 * One run against another, as in "trial 2 against trial 1": the steps of the run that is expected are aligned with
 * those of the actual one by (eventType, action), then every pair is compared member by member. A step without a
 * partner is missing or extra (high); a member that differs is medium, one that a side lacks low.
 *
 * Runs are read twice: first their words into `StepWords` (4 bytes a step), then whole, in lockstep. So memory does
 * not grow with their bodies. Proven by `test/core/replay/run-compare.test.ts`.
 */
import type { JsonObject } from '../json/parse.ts';
import type { Alignment } from './align.ts';
import { Differences, type Severities } from './fields.ts';
import { match, notReplayable, type StepOutcome, type StepSource } from './steps.ts';

/** A recorded step with what is compared of it, such as actor, resource and metadata. */
export interface RunStep extends StepSource {
  readonly members: JsonObject;
  /** Whether something of it was erased, so that what it says is not all that was recorded. */
  readonly erased?: boolean;
}

export interface ComparedStep {
  /** As it was recorded in the actual run; a missing one as in the expected run. */
  readonly source: StepSource;
  readonly outcome: StepOutcome;
}

/** Numbers for the words of steps; the runs that are aligned with each other share one. */
export class StepWords {
  private readonly numbers = new Map<string, number>();

  number({ eventType, action }: Pick<StepSource, 'eventType' | 'action'>): number {
    // event types hold no space
    const key = `${eventType} ${action}`;
    const known = this.numbers.get(key);
    if (known !== undefined) return known;
    this.numbers.set(key, this.numbers.size);
    return this.numbers.size - 1;
  }
}

const ofSteps: Severities = { differs: 'high', absent: 'high' };
const ofMembers: Severities = { differs: 'medium', absent: 'low' };

/**
 * The steps of both runs in the order of the alignment; at a gap what is missing comes before what is extra. Both
 * must be read in full and in the order in which they were aligned; another number of steps is a bug and throws.
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

/** Two steps that were aligned. */
export function compareSteps(expected: RunStep, actual: RunStep): StepOutcome {
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

/** What was erased may have been what its partner says. */
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
