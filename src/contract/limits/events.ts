/** Limits: events. */
import { KiB, MiB } from './units.ts';

export const events = {
  identifierChars: 128,
  eventTypeChars: 128,
  actionChars: 256,
  partyChars: 256,
  partyMembers: 32,
  partyIdChars: 128,
  partyNameChars: 256,
  partyRoleChars: 128,
  partyTypeChars: 64,
  partyBytes: 4 * KiB,
  metadataKeys: 100,
  metadataKeyChars: 128,
  metadataDepth: 16,
  metadataBytes: 256 * KiB,
  eventBytes: 320 * KiB,
  causedBy: 32,
  batchEvents: 500,
  futureSkewSeconds: 24 * 3600,
  recordedSkewSeconds: 300,
  clockJumpSeconds: 60,
  batchReasonChars: 500,

  otlpBodyBytes: 16 * MiB,
  otlpRecords: 20_000,
  /** Levels of lists and maps in a value. Small enough for any stack, so that one record always has one answer. */
  otlpDepth: 128,
  otlpWaiting: 64,
  /** Runs whose calls of other sources a process remembers, and how many of each it reads. */
  otlpRunsKnown: 200,
  otlpCallsKnown: 5000,
  /** Spans of a trace that later requests are compared with. */
  otlpTraceSpans: 200,
  /** Spans of one call below each other: of the agent, its frameworks, an MCP client and servers. One more is another call. */
  otlpCallLevels: 8,
  /** Calls that a span of a model asked for, of which tools take their ids. Further ones stay without. */
  otlpAskedCalls: 64,
  /** Balances of telemetry by day and source that one request appends. */
  sourceDays: 1000,
  /** A source that has sent telemetry for this long is expected to send again within the same time. */
  sourceSilentHours: 24,
  sourcesWatched: 10_000,
  /** Days after its last use until a fact of received telemetry is deleted: runs of traces, reported calls, sources. */
  intakeFactDays: 30,
} as const;
