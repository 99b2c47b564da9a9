/**
 * Header of the answer that opens `GET /events/stream`: the sequence that the stream begins after.
 * Tested by `test/http/stream/events.engines.long.test.ts`.
 */
export const streamAfterHeader = 'gov-stream-after';
