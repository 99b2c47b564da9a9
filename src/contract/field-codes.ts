/**
 * The rules that `code` of a member of `errors` can name (contract C2), and what each says: a closed list, like the codes
 * of problems. Reports and attestations of data planes that do not verify have one of `telemetryFaults` instead. Proven by `test/contract/problems.test.ts`.
 */
export const fieldCodes = {
  MISSING_FIELD: 'A required member is missing',
  UNKNOWN_FIELD: 'The interface does not know the member',
  READ_ONLY_FIELD: 'Only the service sets the member',
  WRONG_TYPE: 'The value has another JSON type',
  NOT_ALLOWED: 'The value is not one of the allowed values, or not allowed here',
  BAD_FORMAT: 'The text does not have the expected form',
  TOO_SHORT: 'The text has too few characters',
  TOO_LONG: 'The text has too many characters',
  TOO_FEW: 'There are too few items or members',
  TOO_MANY: 'There are too many items or members',
  TOO_SMALL: 'The number or time is below the least one',
  TOO_LARGE: 'The number or time is above the greatest one, or the value has too many bytes',
  TOO_DEEP: 'The value nests too deep',
  DUPLICATE_ITEM: 'The item or parameter repeats',
  TIMESTAMP_IN_FUTURE: 'The event is more than a day ahead of the server',
  EVENT_TOO_LARGE: 'The event has too many bytes',
  UNSAFE_JSON: 'The event is not in the JSON profile (I-JSON, RFC 7493)',
  TOO_COMPLEX: 'The event nests too deep or holds too many values',
  CLIENT_EVENT_ID_CONFLICT: 'An event with other content has this clientEventId',
  UNKNOWN_OPERATOR: 'The condition has an operator that the language does not have',
  AMBIGUOUS: 'The condition can be read in two ways',
  UNKNOWN_NODE: 'The edge names a node that the graph does not have',
  UNKNOWN_POLICY: 'The project has no policy of this id',
  NEVER_PUBLISHED: 'The version of the policy was never active',
  NOT_USABLE: 'The approval is of another call, or was used, denied or expired',
  EXPORT_NOT_READY: 'The export is not completed yet',
  EXPORT_FAILED: 'The export failed',
  EXPORT_EXPIRED: 'The artifact of the export has expired',
} as const satisfies Readonly<Record<string, string>>;

export type FieldCode = keyof typeof fieldCodes;
