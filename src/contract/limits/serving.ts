/** Limits: serving and streams. */
import { KiB, MiB } from './units.ts';

export const serving = {
  headersTimeoutSeconds: 10,
  requestTimeoutSeconds: 30,
  socketIdleSeconds: 60,
  keepAliveSeconds: 72,
  handlerTimeoutSeconds: 60,
  heavyTimeoutSeconds: 600,
  drainSeconds: 30,
  requestsPerSocket: 1000,
  connections: 10_000,
  ownOpenFiles: 128,
  fewestConnections: 32,
  metricsConnections: 16,
  connectionsPerAddress: 1000,
  keyPrefixChars: 13,
  credentialCacheSeconds: 5,
  credentialCacheKeys: 10_000,
  tokensHeld: 256,
  overloadDelayMs: 1000,
  overloadRetrySeconds: 5,
  /** Attempts of a change that others overtake, and the longest random pause between two: 2 s on average in all. */
  changeTries: 32,
  changePauseMs: 150,
  memoryBytes: 2048 * MiB,
  /** Answers from this size on are compressed for clients that accept gzip. */
  gzipBytes: 16 * KiB,
  unsentCountedBytes: 16 * KiB,
  unsentBytesPerCaller: 64 * MiB,
  unsentBytesPerOrganization: 256 * MiB,
  unsentBytes: 512 * MiB,
  unsentStallSeconds: 20,
  unsentBytesPerSecond: 16 * KiB,
  graphCacheBytes: 64 * MiB,
  /** Graphs of runs that were proved, and as much again for their decisions: kept for their next proofs. */
  keptRunBytes: 128 * MiB,
  tasksWaiting: 100,
  /** Reads of a SQLite database that go through many rows in steps. */
  scansWaiting: 100,
  taskThreadMiB: 512,
  streams: 1000,
  /** For a hosted service. */
  streamsPerOrganization: 250,
  streamsPerKey: 100,
  /** Minimum time between two wake-ups of the readers of one project. */
  streamWakeMs: 50,
  /** Newest events of a project that stay in memory for its readers. */
  streamHeldBytes: 128 * KiB,
  streamPageEvents: 200,
  streamPageBytes: 1 * MiB,
  streamBufferedBytes: 1 * MiB,
  streamStallSeconds: 10,
  streamCloseSeconds: 5,
  streamPingSeconds: 30,
} as const;
