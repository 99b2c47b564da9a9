/** Coverage of runs (extension, contract P5): whether the sources of a run agree that nothing ran ungoverned. */
import { Type } from 'typebox';
import type { Static } from 'typebox';
import { endings } from './endings.ts';
import { limits } from './limits.ts';
import { operation } from './operation.ts';
import { nullable, oneOf, runIdParams } from './shapes.ts';

/** The worst first. */
export const coverageVerdicts = [
  'denied_but_ran',
  'mismatch',
  'ungoverned',
  'gap',
  'unknown',
  'single_source',
  'failed',
  'user_refused',
  'not_run',
  'denied',
  'governed',
] as const;
export type CoverageVerdict = (typeof coverageVerdicts)[number];

/** Verdicts that somebody has to look at. `unknown` is amber, and all others are green. */
export const redVerdicts = [
  'denied_but_ran',
  'mismatch',
  'ungoverned',
  'gap',
] as const satisfies readonly CoverageVerdict[];

/** Programs that ask for decisions, then reports from elsewhere. */
const reportSources = ['direct', 'hook', 'kernel', 'mcp', 'otlp', 'transcript'] as const;
export type ReportSource = (typeof reportSources)[number];

const count = Type.Integer({ minimum: 0 });

const CoveredCall = Type.Object({
  callId: nullable(Type.String({ description: 'The id that the client gave the call' })),
  eventId: Type.String({ description: 'The first event of the call' }),
  tool: nullable(Type.String()),
  verdict: oneOf(coverageVerdicts),
  decision: nullable(oneOf(['allowed', 'denied'])),
  ending: nullable(oneOf(endings)),
  sources: Type.Array(oneOf(reportSources)),
  compared: nullable(oneOf(['action', 'tool'])),
  detail: nullable(
    Type.String({
      description: 'Why the verdict is what it is; for ungoverned, where no policy was in force',
    }),
  ),
});

export const RunCoverage = Type.Object({
  runId: Type.String(),
  events: count,
  covered: Type.Boolean({
    description:
      'false: a call is ungoverned, ran after a denial, is not the decided one, or a source has a gap',
  }),
  confirmed: Type.Integer({ minimum: 0, description: 'Calls that two sources or more report' }),
  counts: Type.Object(Object.fromEntries(coverageVerdicts.map((verdict) => [verdict, count]))),
  sources: Type.Array(Type.Object({ source: oneOf(reportSources), calls: count })),
  gaps: Type.Array(
    Type.Object({
      source: oneOf(reportSources),
      first: Type.Integer({ minimum: 0, description: 'First missing number of a log record' }),
      last: count,
    }),
  ),
  calls: Type.Array(CoveredCall, {
    description: `Calls, the worst verdicts first, then in log order; at most ${limits.coverageCallsAnswered}`,
  }),
  truncated: Type.Boolean({ description: 'Whether the run has more calls or gaps than the answer' }),
});
export type RunCoverage = Static<typeof RunCoverage>;

export const coverage = {
  getRunCoverage: operation({
    method: 'GET',
    path: '/runs/{runId}/coverage',
    tag: 'Compliance Proofs',
    stability: 'beta',
    origin: 'extension',
    scope: 'events:read',
    summary: 'Compare the sources of a run: what ran ungoverned, and what is missing',
    params: runIdParams,
    success: { 200: RunCoverage },
    statuses: [401, 404, 500],
  }),
} as const;
