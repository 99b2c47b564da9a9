/**
 * Every limit of the interface, named once, with its unit in the name. Each is tested at n and n + 1
 * (`test/contract/limits.test.ts`). Sources: contract decisions A7, D2, D6, E1-E10, F1-F16, H1-H5.
 */
const KiB = 1024;
const MiB = 1024 * KiB;

export const limits = {
  bodyBytes: 1 * MiB,
  batchBodyBytes: 16 * MiB,
  graphBodyBytes: 8 * MiB,
  jsonDepth: 32,
  jsonValues: 20_000,
  jsonValuesLarge: 200_000,
  memberNameChars: 256,
  stringBytes: 256 * KiB,
  urlBytes: 8 * KiB,
  headerBytes: 16 * KiB,
  headerCount: 100,

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
  batchReasonChars: 500,

  pageDefault: 50,
  pageMax: 200,
  eventPageDefault: 100,
  eventPageMax: 1000,
  cursorChars: 512,
  idempotencyKeyChars: 255,
  idempotencyHours: 24,
  fieldErrors: 50,
  echoChars: 64,

  layers: 16,
  syncProofEvents: 10_000,
  graphNodesAnswered: 50_000,
  graphEdgesAnswered: 200_000,
  graphNodesDeclared: 50_000,
  graphTypeChars: 64,

  jobAttempts: 3,
  jobLeaseSeconds: 60,
  jobLeaseRenewSeconds: 15,
  jobErrorChars: 1000,
  jobRequestDays: 30,

  committedFields: 256,
  recordBytes: 65_535,
  commitRequests: 500,
  commitBytes: 8 * MiB,
  writeQueue: 10_000,
  diskReserveBytes: 64 * MiB,
} as const;
