/** The state of `gov top`. Tested by `test/cli/screens/top.test.ts`. */
import { common, reduceCommon, type Common, type CommonEvent } from '../model.ts';
import type { TopSample } from './sample.ts';

export interface TopState extends Common {
  readonly target: string;
  readonly sample: TopSample | null;
  /** When the newest sample was taken; 0: never. */
  readonly sampledMs: number;
  /** Why the newest attempt failed; null after a success. */
  readonly failure: string | null;
  /** Leaves a second, the newest last. */
  readonly rates: readonly number[];
  readonly isPaused: boolean;
  readonly isErrorsOnly: boolean;
}

export type TopEvent =
  | CommonEvent
  | { readonly kind: 'sample'; readonly sample: TopSample; readonly atMs: number }
  | { readonly kind: 'failed'; readonly why: string };

/** Two minutes at 1 Hz. */
const ratesKept = 120;

export const topState = (target: string, nowMs: number): TopState => ({
  ...common,
  nowMs,
  target,
  sample: null,
  sampledMs: 0,
  failure: null,
  rates: [],
  isPaused: false,
  isErrorsOnly: false,
});

export function reduceTop(state: TopState, event: TopEvent): TopState {
  switch (event.kind) {
    case 'sample': {
      const { sample, atMs } = event;
      const rate = sample.ingest.leavesPerSecond;
      const rates = rate === null ? state.rates : [...state.rates, rate].slice(-ratesKept);
      return { ...state, sample, sampledMs: atMs, nowMs: atMs, failure: null, rates };
    }
    case 'failed':
      return { ...state, failure: event.why };
    default:
      return reduceCommon(state, event) ?? reduceKey(state, event);
  }
}

function reduceKey(state: TopState, event: CommonEvent): TopState {
  if (event.kind !== 'key') return state;
  if (event.action === 'pause') return { ...state, isPaused: !state.isPaused };
  if (event.action === 'errors only') return { ...state, isErrorsOnly: !state.isErrorsOnly };
  return state;
}
